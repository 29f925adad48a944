// Paints rows below the output of a terminal, at most eight times a second, and removes them before other output is written.
// The cursor always stays at the end of the output, so a resize or an exit leaves nothing to repair. It sets no mode.
import { safeForTerminal } from "../../kit/text/terminal-text.ts";
import { cutToWidth } from "./table.ts";

export type LiveSize = { columns: number; rows: number };
/** Returns the rows to paint now, without line ends. */
export type PaintRows = (size: LiveSize) => readonly string[];

export type LiveTerminal = {
  size: () => LiveSize;
  /** Writes control sequences unchanged. */
  writeRaw: (text: string) => void;
  /** Calls `act` every `ms`. Returns the function that ends it. */
  every: (ms: number, act: () => void) => () => void;
};

const frameMs = 125;
const saveCursor = "\x1b7";
const restoreCursor = "\x1b8";
/** Moves the cursor down in its column. Scrolls at the bottom, unlike `\x1b[B`. */
const moveDown = "\x1bD";
const eraseLineEnd = "\x1b[K";
const eraseBelow = "\x1b[J";

export class LiveRegion {
  readonly #terminal: LiveTerminal;
  #rows: PaintRows | null = null;
  #stopTimer = (): void => {};
  #isPainted = false;
  #holds = 0;
  /** Width of the last line of the output, which may be wrapped. */
  #lineWidth = 0;

  constructor(terminal: LiveTerminal) {
    this.#terminal = terminal;
  }

  /** Paints `rows` until the returned function is called. A later start replaces an earlier one. */
  start(rows: PaintRows): () => void {
    this.#rows = rows;
    this.#stopTimer();
    this.#stopTimer = this.#terminal.every(frameMs, () => this.paint());
    return () => {
      if (this.#rows === rows) this.stop();
    };
  }

  stop(): void {
    this.#stopTimer();
    this.#rows = null;
    this.erase();
  }

  /** Paints nothing until `release`, because a prompt is below the output. */
  hold(): void {
    this.#holds += 1;
    this.erase();
  }

  release(): void {
    this.#holds = Math.max(0, this.#holds - 1);
  }

  /** Call it with every text that was written to the terminal. */
  afterWrite(text: string): void {
    const lineStart = Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\r")) + 1;
    const width = Bun.stringWidth(text.slice(lineStart));
    this.#lineWidth = lineStart > 0 ? width : this.#lineWidth + width;
  }

  erase(): void {
    if (this.#isPainted) this.#terminal.writeRaw(`${this.#lineStart()}${eraseBelow}`);
    this.#isPainted = false;
  }

  paint(): void {
    if (this.#rows === null || this.#holds > 0) return;
    const size = this.#terminal.size();
    // After a full row, moving the cursor would lose that the next character belongs to a new row.
    if (this.#lineWidth > 0 && this.#lineWidth % size.columns === 0) return;
    const rows = this.#rows(size).slice(0, Math.max(0, size.rows - 2));
    if (rows.length === 0) return this.erase();
    const isMidLine = this.#lineWidth > 0;
    const down = isMidLine ? rows.length : rows.length - 1;
    const makeRoom = down === 0 ? "" : `${moveDown.repeat(down)}\x1b[${down}A`;
    const painted = rows.map((row) => safeForTerminal(cutToWidth(row, size.columns - 1))).join(`${eraseLineEnd}\r\n`);
    this.#terminal.writeRaw(
      `${this.#lineStart()}${makeRoom}${saveCursor}${isMidLine ? "\r\n" : ""}${painted}${eraseBelow}${restoreCursor}`,
    );
    this.#isPainted = true;
  }

  /** Moves the cursor back from what the terminal echoed, such as ^C. */
  #lineStart(): string {
    return this.#lineWidth > 0 ? "" : "\r";
  }
}
