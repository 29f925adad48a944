// Cuts a byte stream into lines at LF and nothing else. A line over the bound is reported as cut: memory stays
// bounded whatever arrives. What follows the last LF comes out at the end, marked as torn.
import { decodeUtf8 } from "./cut-text.ts";

export type SplitLine = {
  text: string;
  /** Bytes of this line that were dropped because it was over the bound. */
  cutBytes: number;
  /** The stream ended before its LF. */
  torn: boolean;
};

export class LineSplitter {
  readonly #maxBytes: number;
  #kept: Uint8Array[] = [];
  #keptBytes = 0;
  #cutBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(chunk: Uint8Array): SplitLine[] {
    const lines: SplitLine[] = [];
    let from = 0;
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, from)) {
      this.#keep(chunk.subarray(from, at), "borrow");
      lines.push(this.#take(false));
      from = at + 1;
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from), "copy");
    return lines;
  }

  end(): SplitLine | null {
    return this.#keptBytes + this.#cutBytes > 0 ? this.#take(true) : null;
  }

  /** Bytes of the line that has not ended yet. */
  get pendingBytes(): number {
    return this.#keptBytes + this.#cutBytes;
  }

  /** A piece that outlives this push is copied, so that it does not hold on to the whole chunk. */
  #keep(piece: Uint8Array, how: "borrow" | "copy"): void {
    const room = Math.min(piece.length, this.#maxBytes - this.#keptBytes);
    this.#cutBytes += piece.length - room;
    if (room === 0) return;
    const kept = piece.subarray(0, room);
    // A Buffer's own `slice` would not copy.
    this.#kept.push(how === "copy" ? new Uint8Array(kept) : kept);
    this.#keptBytes += room;
  }

  #take(torn: boolean): SplitLine {
    let bytes = this.#kept.length === 1 ? this.#kept[0]! : Buffer.concat(this.#kept, this.#keptBytes);
    let cutBytes = this.#cutBytes;
    if (cutBytes > 0) {
      const whole = wholeCharacters(bytes);
      cutBytes += bytes.length - whole;
      bytes = bytes.subarray(0, whole);
    }
    this.#kept = [];
    this.#keptBytes = 0;
    this.#cutBytes = 0;
    return { text: decodeUtf8(bytes), cutBytes, torn };
  }
}

export async function* readLines(stream: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<SplitLine> {
  const splitter = new LineSplitter(maxBytes);
  for await (const chunk of stream) yield* splitter.push(chunk);
  const last = splitter.end();
  if (last) yield last;
}

/** How many bytes are left when a UTF-8 character torn at the end is dropped. */
function wholeCharacters(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back]!;
    if ((byte & 0xc0) === 0x80) continue;
    const needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needs > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}
