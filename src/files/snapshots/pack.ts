// The process that turns many files into one stream for `git fast-import`, which writes them as one pack. It runs in
// git's sandbox, because it opens the files. Only an optimization: `git update-index` reads the files again afterwards
// and finds their content stored. Reads paths from stdin, separated by zero bytes.
import { closeSync, constants, fstatSync, openSync, readFileSync, writeSync } from "node:fs";
import { splitAtNul } from "../git.ts";

const chunkBytes = 256 << 10;
const newline = Buffer.from("\n");

export async function packFromStdin(): Promise<void> {
  let pieces: Buffer[] = [];
  let bytes = 0;
  const write = (): void => {
    const chunk = Buffer.concat(pieces);
    for (let done = 0; done < chunk.length;) done += writeSync(1, chunk, done);
    pieces = [];
    bytes = 0;
  };
  for (const path of splitAtNul(Buffer.from(await Bun.stdin.bytes()))) {
    const content = contentOf(Buffer.from(path, "latin1"));
    if (content === null) continue;
    pieces.push(Buffer.from(`blob\ndata ${content.length}\n`), content, newline);
    bytes += content.length;
    if (bytes >= chunkBytes) write();
  }
  write();
}

/** Null for a file that is no longer a regular file. */
function contentOf(path: Buffer): Buffer | null {
  try {
    const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      return fstatSync(file).isFile() ? readFileSync(file) : null;
    } finally {
      closeSync(file);
    }
  } catch {
    return null;
  }
}
