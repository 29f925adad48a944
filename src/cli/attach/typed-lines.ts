// Lines typed below what streams: as long as nothing is typed the output flows freely, then whole lines of it go above
// what is being typed. Knows keys and rows, not what is said.
import type { CommandContext, TextOutput } from "../parse/command.ts";
import { keyDecoder, type Key } from "../repl/keys.ts";
import { visiblePart, layOutText, type TextLayout } from "../../kit/text/text-layout.ts";
import { moveBelow, repaint, rewrapLayout } from "../repl/paint.ts";
import { freshPrompt, press, type Prompt } from "../repl/prompt.ts";
import type { RawTerminal } from "../terminal/raw-terminal.ts";

export type TypedLinesOptions = { label: string; onLine: (text: string) => void; onLeave: () => void };

const nothing: TextLayout = { rows: [""], cursor: { row: 0, column: 0 } };

export class TypedLines {
  readonly #out: TextOutput;
  readonly #options: TypedLinesOptions;
  readonly #decode = keyDecoder();
  readonly #entered: string[] = [];
  #terminal: RawTerminal | null = null;
  #prompt: Prompt = freshPrompt([]);
  #shown: TextLayout | null = null;
  #held = "";
  #midLine = false;

  static async open(ctx: CommandContext, options: TypedLinesOptions): Promise<TypedLines> {
    const typed = new TypedLines(ctx.out, options);
    typed.#terminal = await ctx.stdin.raw({
      onInput: (text) => typed.arrived(text),
      onResize: () => typed.#resized(),
      onEnd: options.onLeave,
    });
    return typed;
  }

  constructor(out: TextOutput, options: TypedLinesOptions) {
    this.#out = out;
    this.#options = options;
  }

  /** Whatever is shown goes through it. */
  get screen(): TextOutput {
    const { isTty, color } = this.#out;
    const columns = () => this.#out.columns;
    return {
      isTty,
      color,
      get columns() {
        return columns();
      },
      write: (text) => this.#write(text),
    };
  }

  close(): void {
    this.#prompt = freshPrompt(this.#entered);
    this.#paint();
    this.#terminal?.close();
  }

  arrived(text: string): void {
    for (const key of this.#decode(text)) this.#take(key);
    this.#paint();
  }

  #take(key: Key): void {
    if (key.name === "stop") return this.#options.onLeave();
    const { prompt, entered, action: wish } = press(this.#prompt, key);
    this.#prompt = prompt;
    if (wish === "leave") return this.#options.onLeave();
    if (wish === "suspend") this.#terminal?.suspend();
    if (entered === undefined || entered.trim() === "") return;
    this.#prompt = { ...prompt, line: { text: entered, cursor: entered.length } };
    this.#paint();
    if (this.#shown !== null) this.#out.write(moveBelow(this.#shown));
    this.#shown = null;
    this.#entered.push(entered);
    this.#prompt = freshPrompt(this.#entered);
    this.#release();
    this.#options.onLine(entered);
  }

  #write(text: string): void {
    if (this.#shown === null) return this.#flow(text);
    this.#held += text;
    const end = this.#held.lastIndexOf("\n") + 1;
    if (end === 0) return;
    this.#erase();
    this.#flow(this.#held.slice(0, end));
    this.#held = this.#held.slice(end);
    this.#paint();
  }

  #flow(text: string): void {
    if (text === "") return;
    this.#out.write(text);
    this.#midLine = !text.endsWith("\n");
  }

  #release(): void {
    const held = this.#held;
    this.#held = "";
    this.#flow(held);
  }

  #erase(): void {
    if (this.#shown !== null) this.#out.write(repaint(this.#shown, nothing));
    this.#shown = null;
  }

  #paint(): void {
    const { line } = this.#prompt;
    if (line.text === "") {
      this.#erase();
      this.#release();
      return;
    }
    if (this.#shown === null && this.#midLine) this.#flow("\n");
    const next = visiblePart(layOutText(this.#options.label, line, this.#out.columns), this.#terminal?.rows() ?? 24);
    this.#out.write(repaint(this.#shown, next));
    this.#shown = next;
  }

  #resized(): void {
    if (this.#shown === null) return;
    this.#shown = rewrapLayout(this.#shown, this.#out.columns);
    this.#paint();
  }
}
