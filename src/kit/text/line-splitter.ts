// Splits a byte stream into lines at LF only. A line over the limit is cut, with the number of missing bytes, so that
// memory stays bounded. Bytes after the last LF are returned at the end, marked as incomplete.
import { decodeUtf8 } from "./cut-text.ts";

export type SplitLine = {
  text: string;
  /** Bytes of this line that were dropped because it was over the limit. */
  cutBytes: number;
  /** True if the stream ended before the LF of this line. */
  isIncomplete: boolean;
};

export class LineSplitter {
  readonly #maxBytes: number;
  #pieces: Uint8Array[] = [];
  #storedBytes = 0;
  #cutBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(chunk: Uint8Array): SplitLine[] {
    const lines: SplitLine[] = [];
    let start = 0;
    for (let newline = chunk.indexOf(10); newline !== -1; newline = chunk.indexOf(10, start)) {
      this.#store(chunk.subarray(start, newline), "borrow");
      lines.push(this.#finishLine(false));
      start = newline + 1;
    }
    if (start < chunk.length) this.#store(chunk.subarray(start), "copy");
    return lines;
  }

  end(): SplitLine | null {
    return this.#storedBytes + this.#cutBytes > 0 ? this.#finishLine(true) : null;
  }

  /** Bytes of the line that has not ended yet. */
  get pendingBytes(): number {
    return this.#storedBytes + this.#cutBytes;
  }

  /** A piece that is needed after this push is copied, so that it does not keep the whole chunk in memory. */
  #store(piece: Uint8Array, how: "borrow" | "copy"): void {
    const length = Math.min(piece.length, this.#maxBytes - this.#storedBytes);
    this.#cutBytes += piece.length - length;
    if (length === 0) return;
    const stored = piece.subarray(0, length);
    // `slice` of a Buffer would not copy.
    this.#pieces.push(how === "copy" ? new Uint8Array(stored) : stored);
    this.#storedBytes += length;
  }

  #finishLine(isIncomplete: boolean): SplitLine {
    let bytes = this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces, this.#storedBytes);
    let cutBytes = this.#cutBytes;
    if (cutBytes > 0) {
      const length = completeLength(bytes);
      cutBytes += bytes.length - length;
      bytes = bytes.subarray(0, length);
    }
    this.#pieces = [];
    this.#storedBytes = 0;
    this.#cutBytes = 0;
    return { text: decodeUtf8(bytes), cutBytes, isIncomplete };
  }
}

export async function* readLines(stream: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<SplitLine> {
  const splitter = new LineSplitter(maxBytes);
  for await (const chunk of stream) yield* splitter.push(chunk);
  const last = splitter.end();
  if (last) yield last;
}

/** The number of bytes without an incomplete UTF-8 character at the end. */
function completeLength(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back]!;
    if ((byte & 0xc0) === 0x80) continue;
    const needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needs > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}
