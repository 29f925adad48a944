// Paints a prompt and its text over their previous state on the terminal.
import { layOutText, visiblePart, type TextLayout } from "../../kit/text/text-layout.ts";
import type { EditLine } from "../../kit/text/line-edit.ts";
import type { TextOutput } from "../parse/command.ts";

const emptyLayout: TextLayout = { rows: [""], cursor: { row: 0, column: 0 } };

export class PromptPainter {
  readonly #out: TextOutput;
  #painted: TextLayout | null = null;

  constructor(out: TextOutput) {
    this.#out = out;
  }

  get isPainted(): boolean {
    return this.#painted !== null;
  }

  paint(label: string, line: EditLine): void {
    const next = visiblePart(layOutText(label, line, this.#out.columns), this.#out.rows ?? 24);
    if (this.#painted === null) this.#out.live?.hold();
    this.#out.write(repaint(this.#painted, next));
    this.#painted = next;
  }

  /** Leaves the text on the screen and moves the cursor to a new row below it. */
  moveBelow(): void {
    if (this.#painted === null) return;
    const down = this.#painted.rows.length - 1 - this.#painted.cursor.row;
    this.#out.write(`${down > 0 ? `\x1b[${down}B` : ""}\r\n`);
    this.#setUnpainted();
  }

  erase(): void {
    if (this.#painted === null) return;
    this.#out.write(repaint(this.#painted, emptyLayout));
    this.#setUnpainted();
  }

  clearScreen(): void {
    this.#out.write("\x1b[H\x1b[2J");
    this.#setUnpainted();
  }

  #setUnpainted(): void {
    if (this.#painted !== null) this.#out.live?.release();
    this.#painted = null;
  }

  /** Call it after the width changed, because the terminal then wraps each painted row. */
  rewrap(): void {
    if (this.#painted === null) return;
    const { rows, cursor } = this.#painted;
    const { columns } = this.#out;
    const rowsAbove = rows.slice(0, cursor.row).reduce((sum, row) => sum + Math.max(1, Math.ceil(Bun.stringWidth(row) / columns)), 0);
    this.#painted = { rows, cursor: { row: rowsAbove + Math.floor(cursor.column / columns), column: cursor.column % columns } };
  }
}

/** The bytes that replace the painted layout by the next one. `painted` is null if the cursor is on a new row. */
export function repaint(painted: TextLayout | null, next: TextLayout): string {
  const up = painted === null || painted.cursor.row === 0 ? "" : `\x1b[${painted.cursor.row}A`;
  const back = next.rows.length - 1 - next.cursor.row;
  return `${up}\r\x1b[J${next.rows.join("\r\n")}${back > 0 ? `\x1b[${back}A` : ""}\r${next.cursor.column > 0 ? `\x1b[${next.cursor.column}C` : ""}`;
}

export function inColumns(words: readonly string[], columns: number): string {
  const wordWidth = Math.max(...words.map((word) => Bun.stringWidth(word))) + 2;
  const perRow = Math.max(1, Math.floor(columns / wordWidth));
  const rows = Array.from({ length: Math.ceil(words.length / perRow) }, (_, index) => words.slice(index * perRow, (index + 1) * perRow));
  const pad = (word: string) => word + " ".repeat(wordWidth - Bun.stringWidth(word));
  return rows.map((row) => row.map(pad).join("").trimEnd()).join("\n");
}
