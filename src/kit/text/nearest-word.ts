// Finds the word for a "did you mean" hint.

/**
 * Null if no word is close: more than a third of the letters, or more than three, would have to change. In a short word
 * another letter makes another word, so `ls` is not close to `ps`. The start of exactly one word is close to it.
 */
export function nearestWord(typed: string, candidates: Iterable<string>): string | null {
  const lower = typed.toLowerCase();
  const limit = Math.min(3, Math.max(1, Math.floor(lower.length / 3)));
  const words = [...candidates];
  let best: string | null = null;
  let bestDistance = limit + 1;
  for (const word of words) {
    if (Math.abs(word.length - lower.length) >= bestDistance) continue;
    const distance = editDistance(lower, word.toLowerCase());
    if (distance < bestDistance) {
      best = word;
      bestDistance = distance;
    }
  }
  const completed = lower.length < shortLength ? [] : words.filter((word) => word.toLowerCase().startsWith(lower));
  return best ?? (completed.length === 1 ? completed[0]! : null);
}

/** The longest word in which a changed letter counts twice. */
const shortLength = 3;

/** The number of insertions, deletions, changes and swaps of neighbours between two words. */
function editDistance(a: string, b: string): number {
  const changeCost = a.length <= shortLength ? 2 : 1;
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const change = a[row - 1] === b[column - 1] ? 0 : changeCost;
      let cost = Math.min(previous[column]! + 1, current[column - 1]! + 1, previous[column - 1]! + change);
      const isSwap = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (isSwap) cost = Math.min(cost, before[column - 2]! + 1);
      current.push(cost);
    }
    before = previous;
    previous = current;
  }
  return previous[b.length]!;
}
