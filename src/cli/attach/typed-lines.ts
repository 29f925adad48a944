// Lets the user type a line below streaming output. Output flows freely until the user types.
// Then only complete lines of output are written, above the typed text. It does not interpret the lines.
import type { CommandContext, TextOutput } from "../parse/command.ts";
import { keyDecoder, type TerminalKey } from "../line-editor/keys.ts";
import { PromptPainter } from "../line-editor/prompt-painter.ts";
import { freshPrompt, press, type Prompt } from "../line-editor/prompt.ts";
import type { RawTerminal } from "../terminal/raw-terminal.ts";

export type TypedLinesOptions = { label: string; onLine: (text: string) => void; onLeave: () => void };

export class TypedLines {
  readonly #out: TextOutput;
  readonly #options: TypedLinesOptions;
  readonly #decode = keyDecoder();
  readonly #painter: PromptPainter;
  readonly #entries: string[] = [];
  #terminal: RawTerminal | null = null;
  #prompt: Prompt = freshPrompt([]);
  /** Output that waits for the end of its line while a prompt is painted. */
  #pending = "";
  #isMidLine = false;

  static async open(ctx: CommandContext, options: TypedLinesOptions): Promise<TypedLines> {
    const typed = new TypedLines(ctx.out, options);
    typed.#terminal = await ctx.stdin.raw({
      onInput: (text) => typed.handleInput(text),
      onResize: () => typed.#onResize(),
      onEnd: options.onLeave,
    });
    return typed;
  }

  constructor(out: TextOutput, options: TypedLinesOptions) {
    this.#out = out;
    this.#options = options;
    this.#painter = new PromptPainter(out);
  }

  /** All output must be written here, so that it does not overwrite the prompt. */
  get output(): TextOutput {
    // The size of the terminal changes, so its properties are inherited and not copied.
    return Object.assign(Object.create(this.#out) as TextOutput, { write: (text: string) => this.#write(text) });
  }

  close(): void {
    this.#prompt = freshPrompt(this.#entries);
    this.#paint();
    this.#terminal?.close();
  }

  handleInput(text: string): void {
    for (const key of this.#decode(text)) this.#handleKey(key);
    this.#paint();
  }

  #handleKey(key: TerminalKey): void {
    if (key.name === "stop") return this.#options.onLeave();
    const { prompt, entered, action } = press(this.#prompt, key);
    this.#prompt = prompt;
    if (action === "leave") return this.#options.onLeave();
    if (action === "suspend") this.#terminal?.suspend();
    if (entered === undefined || entered.trim() === "") return;
    this.#prompt = { ...prompt, line: { text: entered, cursor: entered.length } };
    this.#paint();
    this.#painter.moveBelow();
    this.#entries.push(entered);
    this.#prompt = freshPrompt(this.#entries);
    this.#flushPending();
    this.#options.onLine(entered);
  }

  #write(text: string): void {
    if (!this.#painter.isPainted) return this.#writeOutput(text);
    this.#pending += text;
    const end = this.#pending.lastIndexOf("\n") + 1;
    if (end === 0) return;
    this.#painter.erase();
    this.#writeOutput(this.#pending.slice(0, end));
    this.#pending = this.#pending.slice(end);
    this.#paint();
  }

  #writeOutput(text: string): void {
    if (text === "") return;
    this.#out.write(text);
    this.#isMidLine = !text.endsWith("\n");
  }

  #flushPending(): void {
    const text = this.#pending;
    this.#pending = "";
    this.#writeOutput(text);
  }

  #paint(): void {
    const { line } = this.#prompt;
    if (line.text === "") {
      this.#painter.erase();
      this.#flushPending();
      return;
    }
    if (!this.#painter.isPainted && this.#isMidLine) this.#writeOutput("\n");
    this.#painter.paint(this.#options.label, line);
  }

  #onResize(): void {
    if (!this.#painter.isPainted) return;
    this.#painter.rewrap();
    this.#paint();
  }
}
