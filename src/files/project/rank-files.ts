// Ranks files by a few letters: first names that start with them, then paths that contain them in one piece, then
// paths that contain them in order. Yields to the event loop every `sliceMs`.

const sliceMs = 4;

export async function rankFiles(files: readonly string[], query: string, limit: number): Promise<string[]> {
  const letters = query.toLowerCase();
  const best: { file: string; score: number }[] = [];
  let sliceStart = performance.now();
  for (const [index, file] of files.entries()) {
    if (index % 256 === 255 && performance.now() - sliceStart > sliceMs) {
      await Bun.sleep(0);
      sliceStart = performance.now();
    }
    const score = scoreOf(file, letters);
    if (score === null || (best.length === limit && score <= best[limit - 1]!.score)) continue;
    const position = best.findIndex((other) => score > other.score);
    best.splice(position < 0 ? best.length : position, 0, { file, score });
    if (best.length > limit) best.pop();
  }
  return best.map(({ file }) => file);
}

const rankStep = 10_000;

/** Null if the path does not contain the letters in order. Among equal matches shorter paths come first. */
function scoreOf(file: string, letters: string): number | null {
  const path = file.toLowerCase();
  const nameStart = path.lastIndexOf("/") + 1;
  if (letters === "") return -path.split("/").length * rankStep - path.length;
  const inName = path.indexOf(letters, nameStart);
  if (inName === nameStart) return 5 * rankStep - path.length;
  if (inName > nameStart) return 4 * rankStep - path.length;
  if (path.includes(letters)) return 3 * rankStep - path.length;
  const gaps = countGaps(path, letters);
  return gaps === null ? null : 2 * rankStep - gaps * 100 - path.length;
}

/** The number of gaps between the letters in the path; null if they are not in order. */
function countGaps(path: string, letters: string): number | null {
  let gaps = 0;
  let last = -1;
  for (const letter of letters) {
    const index = path.indexOf(letter, last + 1);
    if (index < 0) return null;
    if (index !== last + 1) gaps += 1;
    last = index;
  }
  return gaps;
}
