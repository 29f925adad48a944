// Keeps the last lines of a growing output, in bounded memory.
import { outputRow } from "./output-rows.ts";

const maxChars = 8_192;

export class OutputTail {
  #text = "";

  push(text: string): void {
    this.#text = (this.#text + text.slice(-maxChars)).slice(-maxChars);
  }

  /** The last lines that are not blank, the newest last. */
  rows(count: number, columns: number): string[] {
    const rows: string[] = [];
    for (let end = this.#text.length; end > 0 && rows.length < count;) {
      const start = this.#text.lastIndexOf("\n", end - 1) + 1;
      const row = outputRow(this.#text.slice(start, end), columns);
      if (row.trim() !== "") rows.unshift(row);
      end = start - 1;
    }
    return rows;
  }
}
