// The process that counts tokens. Reads paths from stdin, one JSON string per line.
// Prints one line for each path, in order: its number of tokens, or the reason why the file was skipped.
import { closeSync, constants, fstatSync, openSync, readSync, writeSync } from "node:fs";
import { countTextTokens } from "../../kit/text/count-tokens.ts";

export type SkipReason = "binary" | "unreadable";

const chunkBytes = 1 << 20;
const binaryCheckBytes = 8_192;
const linesPerWrite = 500;

export async function countFromStdin(): Promise<void> {
  const jsonPaths = (await Bun.stdin.text()).split("\n").filter(Boolean);
  let lines: string[] = [];
  const chunk = Buffer.allocUnsafe(chunkBytes);
  for (const jsonPath of jsonPaths) {
    lines.push(`${countFile(JSON.parse(jsonPath) as string, chunk)}\n`);
    if (lines.length < linesPerWrite) continue;
    writeSync(1, lines.join(""));
    lines = [];
  }
  writeSync(1, lines.join(""));
}

/** Opens only plain files, no links. A zero byte near the start means a binary file. */
export function countFile(path: string, chunk: Buffer = Buffer.allocUnsafe(chunkBytes)): number | SkipReason {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return "unreadable";
  }
  try {
    return fstatSync(fd).isFile() ? countOpenFile(fd, chunk) : "unreadable";
  } catch {
    return "unreadable";
  } finally {
    closeSync(fd);
  }
}

/** Counts in chunks. A chunk ends at a line break, if it has one, so that no token is split. */
function countOpenFile(fd: number, chunk: Buffer): number | SkipReason {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let pending = "";
  let tokens = 0;
  for (let isFirst = true; ; isFirst = false) {
    const read = readSync(fd, chunk, 0, chunk.length, null);
    const bytes = chunk.subarray(0, read);
    if (isFirst && bytes.subarray(0, binaryCheckBytes).includes(0)) return "binary";
    if (read === 0) return tokens + countTextTokens(pending + decoder.decode());
    const text = pending + decoder.decode(bytes, { stream: true });
    const end = text.lastIndexOf("\n") + 1 || text.length;
    tokens += countTextTokens(text.slice(0, end));
    pending = text.slice(end);
  }
}
