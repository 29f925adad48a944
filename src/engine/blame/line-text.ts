// The content of a file as lines. A line ends with a line break; the last one gets one if it has none.
// Two versions of a file share most bytes, so equal bytes are compared as a whole and never split again.

export type LineText = {
  bytes: Buffer;
  /** The position of each line, and at the end the length of the text. */
  starts: Uint32Array;
  count: number;
};

const lineBreak = 10;

export const emptyText: LineText = { bytes: Buffer.alloc(0), starts: new Uint32Array(1), count: 0 };

/** Adds the line break that the last line lacks. */
export function endLastLine(bytes: Buffer): Buffer {
  return bytes.length === 0 || bytes[bytes.length - 1] === lineBreak ? bytes : Buffer.concat([bytes, Buffer.from("\n")]);
}

/** Whether git would call it binary: there is a zero in its first bytes. */
export function isBinary(bytes: Buffer): boolean {
  return bytes.subarray(0, 8_000).includes(0);
}

/** `bytes` is empty or ends with a line break. */
export function splitLines(bytes: Buffer): LineText {
  const lines = new LineStarts();
  for (let position = 0; position < bytes.length; position = bytes.indexOf(lineBreak, position) + 1) lines.add(position);
  return lines.toText(bytes);
}

/** A line without its line break, one character for each byte. */
export function lineAt({ bytes, starts }: LineText, index: number): string {
  return bytes.toString("latin1", starts[index], starts[index + 1]! - 1);
}

export function linesOf(text: LineText, from = 0, to = text.count): string[] {
  const lines: string[] = [];
  for (let index = from; index < to; index++) lines.push(lineAt(text, index));
  return lines;
}

/** Collects the positions of lines. */
export class LineStarts {
  #starts: Uint32Array;
  count = 0;

  /** `expected` is the probable number of lines. */
  constructor(expected = 1_000) {
    this.#starts = new Uint32Array(expected + (expected >> 3) + 64);
  }

  add(start: number): void {
    this.#reserve(1);
    this.#starts[this.count++] = start;
  }

  /** Adds the lines `from` to `to` of another text, which begin `shift` bytes later here. */
  addShifted(starts: Uint32Array, from: number, to: number, shift: number): void {
    this.#reserve(to - from);
    const own = this.#starts;
    let next = this.count;
    for (let index = from; index < to; index++) own[next++] = starts[index]! + shift;
    this.count = next;
  }

  toText(bytes: Buffer): LineText {
    const starts = this.#starts.slice(0, this.count + 1);
    starts[this.count] = bytes.length;
    return { bytes, starts, count: this.count };
  }

  #reserve(more: number): void {
    const needed = this.count + more + 1;
    if (needed <= this.#starts.length) return;
    const grown = new Uint32Array(Math.max(needed, this.#starts.length * 2));
    grown.set(this.#starts);
    this.#starts = grown;
  }
}

const maxCompared = 1 << 18;
const minCompared = 64;

/** The number of equal bytes from these positions on. Compares ever bigger pieces, and after a difference ever smaller ones. */
export function commonLength(a: Buffer, fromA: number, b: Buffer, fromB: number): number {
  const limit = Math.min(a.length - fromA, b.length - fromB);
  const isEqual = (length: number, step: number): boolean =>
    a.compare(b, fromB + length, fromB + length + step, fromA + length, fromA + length + step) === 0;
  let length = 0;
  for (let size = 256; length < limit; size = Math.min(size * 4, maxCompared)) {
    const step = Math.min(size, limit - length);
    if (!isEqual(length, step)) {
      for (let half = step >> 1; half >= minCompared; half >>= 1) if (isEqual(length, half)) length += half;
      while (a[fromA + length] === b[fromB + length]) length += 1;
      return length;
    }
    length += step;
  }
  return length;
}

/** The number of letters and digits. A block with few of them, such as a lone brace, can't be recognised. */
export function countWordCharacters(line: string): number {
  let count = 0;
  for (let index = 0; index < line.length; index++) {
    const code = line.charCodeAt(index);
    if ((code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code >= 128) count += 1;
  }
  return count;
}
