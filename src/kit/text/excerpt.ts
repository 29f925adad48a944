// Keeps the head and the tail of a byte stream of any length, in bounded memory, and returns them as text.
import { type Cut, cutText, decodeUtf8, joinWithLine, byteLength, omittedNote } from "./cut-text.ts";

/** Bytes beyond the limits, so that the text can be cut between characters. */
const slack = 1024;

export class Excerpt {
  bytes = 0;
  readonly #headBytes: number;
  readonly #tailBytes: number;
  #head: Uint8Array[] = [];
  #headFilled = 0;
  #tail: Buffer | null = null;
  #tailFilled = 0;

  constructor(headBytes: number, tailBytes: number) {
    this.#headBytes = headBytes;
    this.#tailBytes = tailBytes;
  }

  push(chunk: Uint8Array): void {
    this.bytes += chunk.length;
    const headPart = Math.min(chunk.length, this.#headBytes + slack - this.#headFilled);
    if (headPart > 0) {
      this.#head.push(new Uint8Array(chunk.subarray(0, headPart)));
      this.#headFilled += headPart;
    }
    if (headPart < chunk.length) this.#pushTail(chunk.subarray(headPart));
  }

  /** Head and tail in at most as many bytes as both limits together. A line between them counts the missing bytes. */
  text(note: (missingBytes: number) => string = omittedNote): Cut {
    const maxBytes = this.#headBytes + this.#tailBytes;
    const head = Buffer.concat(this.#head);
    const tail = this.#tail?.subarray(Math.max(0, this.#tailFilled - this.#tailCapacity), this.#tailFilled) ?? Buffer.alloc(0);
    if (head.length + tail.length === this.bytes) {
      const text = decodeUtf8(Buffer.concat([head, tail]));
      return cutText(text, maxBytes, { keep: "both", note, headShare: this.#headBytes / maxBytes });
    }
    let start = 0;
    while (start < 3 && (tail[start]! & 0xc0) === 0x80) start += 1;
    const noteBytes = byteLength(note(this.bytes)) + 2;
    const first = cutText(decodeUtf8(head), this.#headBytes, { keep: "head" }).text;
    const last = cutText(decodeUtf8(tail.subarray(start)), this.#tailBytes - noteBytes, { keep: "tail" }).text;
    const cutBytes = Math.max(this.bytes - head.length - tail.length, this.bytes - byteLength(first) - byteLength(last));
    return { text: joinWithLine(first, note(cutBytes), last), cutBytes };
  }

  get #tailCapacity(): number {
    return this.#tailBytes + slack;
  }

  /** The buffer has twice the capacity, so that its content is rarely moved to the front. */
  #pushTail(chunk: Uint8Array): void {
    const capacity = this.#tailCapacity;
    this.#tail ??= Buffer.allocUnsafe(capacity * 2);
    const piece = chunk.length > capacity ? chunk.subarray(chunk.length - capacity) : chunk;
    if (this.#tailFilled + piece.length > this.#tail.length) {
      const keptBytes = Math.min(this.#tailFilled, capacity);
      this.#tail.copyWithin(0, this.#tailFilled - keptBytes, this.#tailFilled);
      this.#tailFilled = keptBytes;
    }
    this.#tail.set(piece, this.#tailFilled);
    this.#tailFilled += piece.length;
  }
}
