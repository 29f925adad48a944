// The process that counts: paths come in on stdin, one in JSON on each line; for each goes one line out, in their
// order: its tokens, or why it has none.
import { closeSync, constants, fstatSync, openSync, readSync, writeSync } from "node:fs";
import { Utf8Stream } from "../../kit/text/cut-text.ts";
import { countTextTokens } from "../../kit/text/count-tokens.ts";

export type SkipReason = "binary" | "unreadable";

const pieceBytes = 1 << 20;
const lookedAtBytes = 8_192;
const answersAtOnce = 500;

export async function countFromStdin(): Promise<void> {
  const paths = (await Bun.stdin.text()).split("\n").filter(Boolean);
  let answers: string[] = [];
  const piece = Buffer.allocUnsafe(pieceBytes);
  for (const line of paths) {
    answers.push(`${countFile(JSON.parse(line) as string, piece)}\n`);
    if (answers.length < answersAtOnce) continue;
    writeSync(1, answers.join(""));
    answers = [];
  }
  writeSync(1, answers.join(""));
}

/** Neither a link nor anything but a file is opened; what is no text is told by a zero byte near its beginning. */
export function countFile(path: string, piece: Buffer = Buffer.allocUnsafe(pieceBytes)): number | SkipReason {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return "unreadable";
  }
  try {
    return fstatSync(file).isFile() ? countOpen(file, piece) : "unreadable";
  } catch {
    return "unreadable";
  } finally {
    closeSync(file);
  }
}

/** In pieces that end with a line where there are lines. */
function countOpen(file: number, piece: Buffer): number | SkipReason {
  const decoder = new Utf8Stream();
  let waiting = "";
  let tokens = 0;
  for (let isFirst = true; ; isFirst = false) {
    const read = readSync(file, piece, 0, piece.length, null);
    const bytes = piece.subarray(0, read);
    if (isFirst && bytes.subarray(0, lookedAtBytes).includes(0)) return "binary";
    if (read === 0) return tokens + countTextTokens(waiting + decoder.end());
    const text = waiting + decoder.push(bytes);
    const end = text.lastIndexOf("\n") + 1 || text.length;
    tokens += countTextTokens(text.slice(0, end));
    waiting = text.slice(end);
  }
}
