// Writes many files into the shadow repository as one pack. Only an optimization: `git update-index` reads the files
// again afterwards and finds their content stored.
import { readFileSync, lstatSync } from "node:fs";
import { yieldToEventLoop } from "../../kit/flow/time-slice.ts";
import { absoluteBytes, runGit, type ShadowRepository } from "../git.ts";

export async function packFiles(shadow: ShadowRepository, paths: Iterable<string>, signal: AbortSignal): Promise<void> {
  const blobs = blobsOf(shadow, paths);
  const stdin = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await yieldToEventLoop();
      const { value, done } = blobs.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
  });
  // Fails if another process writes the same pack at the same time.
  await runGit(shadow, ["fast-import", "--quiet"], { stdin, signal }).catch(() => null);
}

const chunkBytes = 256 << 10;

function* blobsOf(shadow: ShadowRepository, paths: Iterable<string>): Generator<Buffer> {
  let pieces: Buffer[] = [];
  let bytes = 0;
  for (const path of paths) {
    const content = contentOf(absoluteBytes(shadow, path));
    if (content === null) continue;
    pieces.push(Buffer.from(`blob\ndata ${content.length}\n`), content, newline);
    bytes += content.length + 20;
    if (bytes < chunkBytes) continue;
    yield Buffer.concat(pieces);
    pieces = [];
    bytes = 0;
  }
  if (pieces.length > 0) yield Buffer.concat(pieces);
}

const newline = Buffer.from("\n");

function contentOf(path: Buffer): Buffer | null {
  try {
    return lstatSync(path).isFile() ? readFileSync(path) : null;
  } catch {
    return null;
  }
}
