// Which files somebody means by a few letters: those whose name begins with them first, then those that have them in
// one piece, then those that have them in order. Lets others work in between, however many files there are.

const sliceMs = 4;

export async function rankFiles(files: readonly string[], query: string, limit: number): Promise<string[]> {
  const wanted = query.toLowerCase();
  const best: { file: string; score: number }[] = [];
  let sliceBegan = performance.now();
  for (const [at, file] of files.entries()) {
    if (at % 256 === 255 && performance.now() - sliceBegan > sliceMs) {
      await Bun.sleep(0);
      sliceBegan = performance.now();
    }
    const score = scoreOf(file, wanted);
    if (score === null || (best.length === limit && score <= best[limit - 1]!.score)) continue;
    const place = best.findIndex((other) => score > other.score);
    best.splice(place < 0 ? best.length : place, 0, { file, score });
    if (best.length > limit) best.pop();
  }
  return best.map(({ file }) => file);
}

const piece = 10_000;

/** Null when the letters are not there in this order. Of files that fit as well, shorter paths come first. */
function scoreOf(file: string, wanted: string): number | null {
  const path = file.toLowerCase();
  const name = path.lastIndexOf("/") + 1;
  if (wanted === "") return -path.split("/").length * piece - path.length;
  const inName = path.indexOf(wanted, name);
  if (inName === name) return 5 * piece - path.length;
  if (inName > name) return 4 * piece - path.length;
  if (path.includes(wanted)) return 3 * piece - path.length;
  const gaps = gapsIn(path, wanted);
  return gaps === null ? null : 2 * piece - gaps * 100 - path.length;
}

/** How often the letters are interrupted. */
function gapsIn(path: string, wanted: string): number | null {
  let gaps = 0;
  let last = -1;
  for (const letter of wanted) {
    const at = path.indexOf(letter, last + 1);
    if (at < 0) return null;
    if (at !== last + 1) gaps += 1;
    last = at;
  }
  return gaps;
}
