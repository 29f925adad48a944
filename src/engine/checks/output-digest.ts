// A digest of a check's output that is the same for two runs with the same findings. Lines are normalised (times,
// durations, addresses and temporary names vary between runs) and may come in another order.
import { stripAnsi } from "../../kit/text/ansi.ts";

/** A longer line is digested in pieces, so that memory stays bounded. */
const maxLineChars = 64 << 10;

/** In this order: a time stamp contains a time of day, and a duration would match a part of it. */
const replacements: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, "<id>"],
  [/\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?(?:Z|[+-]\d{2}:?\d{2}))?)?/g, "<time>"],
  [/\b\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?(?: ?[AP]M)?\b/gi, "<time>"],
  [
    /\b\d+(?:[.,]\d+)? ?(?:ns|[µμ]s|us|ms|s|secs?|seconds?|m|mins?|minutes?|h|hours?)\b(?: ?\d+(?:[.,]\d+)? ?(?:ms|s|secs?|m|mins?)\b)*/gi,
    "<duration>",
  ],
  [/\b0x[0-9a-f]+\b/gi, "<address>"],
  [/(?:\/private)?(?:\/var)?\/tmp\/[^\s'"`:,;()]+/g, "<temporary>"],
  [/\b(pid|process|port|seed)([ :=#]+)\d+/gi, "$1$2<number>"],
];

export function normaliseLine(line: string): string {
  return replacements.reduce((text, [pattern, by]) => text.replace(pattern, by), stripAnsi(line)).trimEnd();
}

export class OutputDigest {
  readonly #decoder = new TextDecoder();
  #line = "";
  /** The sum of the hashes of all lines. A sum does not depend on their order. */
  #sum = 0n;

  push(chunk: Uint8Array): void {
    this.#add(this.#decoder.decode(chunk, { stream: true }));
  }

  digest(): string {
    this.#add(`${this.#decoder.decode()}\n`);
    return (this.#sum & ((1n << 128n) - 1n)).toString(16).padStart(32, "0");
  }

  #add(text: string): void {
    const lines = (this.#line + text).split("\n");
    this.#line = lines.pop() ?? "";
    for (const line of lines) this.#count(line);
    for (; this.#line.length > maxLineChars; this.#line = this.#line.slice(maxLineChars)) this.#count(this.#line.slice(0, maxLineChars));
  }

  #count(line: string): void {
    const normalised = normaliseLine(line);
    if (normalised === "") return;
    const hash = new Bun.CryptoHasher("sha256").update(normalised).digest("hex");
    this.#sum += BigInt(`0x${hash.slice(0, 32)}`);
  }
}
