// The beginning and the end of a byte stream of any length, in bounded memory, as text.
import { type Cut, cutText, decodeUtf8, joinWithLine, byteLength, omittedNote } from "./cut-text.ts";

// Kept beyond the bounds, so that the cut can be made between characters.
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
    const room = Math.min(chunk.length, this.#headBytes + slack - this.#headFilled);
    if (room > 0) {
      this.#head.push(new Uint8Array(chunk.subarray(0, room)));
      this.#headFilled += room;
    }
    if (room < chunk.length) this.#pushTail(chunk.subarray(room));
  }

  /** At most as many bytes as the two bounds together, with a line in the middle for what is missing. */
  text(note: (missingBytes: number) => string = omittedNote): Cut {
    const most = this.#headBytes + this.#tailBytes;
    const head = Buffer.concat(this.#head);
    const tail = this.#tail?.subarray(Math.max(0, this.#tailFilled - this.#tailCapacity), this.#tailFilled) ?? Buffer.alloc(0);
    if (head.length + tail.length === this.bytes) {
      const whole = decodeUtf8(Buffer.concat([head, tail]));
      return cutText(whole, most, { keep: "both", note, headShare: this.#headBytes / most });
    }
    let from = 0;
    while (from < 3 && (tail[from]! & 0xc0) === 0x80) from += 1;
    const noteBytes = byteLength(note(this.bytes)) + 2;
    const first = cutText(decodeUtf8(head), this.#headBytes, { keep: "head" }).text;
    const last = cutText(decodeUtf8(tail.subarray(from)), this.#tailBytes - noteBytes, { keep: "tail" }).text;
    const cutBytes = Math.max(this.bytes - head.length - tail.length, this.bytes - byteLength(first) - byteLength(last));
    return { text: joinWithLine(first, note(cutBytes), last), cutBytes };
  }

  get #tailCapacity(): number {
    return this.#tailBytes + slack;
  }

  /** Twice the capacity is held, so that moving the end to the front is rare. */
  #pushTail(chunk: Uint8Array): void {
    const capacity = this.#tailCapacity;
    this.#tail ??= Buffer.allocUnsafe(capacity * 2);
    const piece = chunk.length > capacity ? chunk.subarray(chunk.length - capacity) : chunk;
    if (this.#tailFilled + piece.length > this.#tail.length) {
      const kept = Math.min(this.#tailFilled, capacity);
      this.#tail.copyWithin(0, this.#tailFilled - kept, this.#tailFilled);
      this.#tailFilled = kept;
    }
    this.#tail.set(piece, this.#tailFilled);
    this.#tailFilled += piece.length;
  }
}
