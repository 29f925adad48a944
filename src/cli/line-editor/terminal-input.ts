// Reads entries from a terminal with a line editor. The terminal stays in raw mode from the first prompt to the last.
// Keys typed while a turn runs wait for the next prompt; only Ctrl-C acts at once. It does not interpret an entry.
import type { CommandContext } from "../parse/command.ts";
import type { RawTerminal } from "../terminal/raw-terminal.ts";
import { insertText, type EditLine } from "../../kit/text/line-edit.ts";
import type { History } from "./history.ts";
import type { AnswerInput, Input } from "./input.ts";
import { keyDecoder, type TerminalKey } from "./keys.ts";
import { inColumns, PromptPainter } from "./prompt-painter.ts";
import { freshPrompt, press, type Prompt } from "./prompt.ts";

/** The text to insert at the cursor, and the choices to list when several fit. */
export type Completion = { insertion: string; choices: string[] };

export type TerminalInputOptions = { history: History; complete: (line: EditLine) => Promise<Completion> };

/** A prompt that is waiting for an entry. */
type OpenPrompt = {
  prompt: Prompt;
  label: string;
  /** The next Ctrl-C on an empty line leaves. Always true for an answer; else true after the first Ctrl-C. */
  leavesOnStop: boolean;
  isAnswer: boolean;
  resolve: (entry: string | null) => void;
};

export class TerminalInput implements Input {
  readonly #out: CommandContext["out"];
  readonly #options: TerminalInputOptions;
  readonly #decode = keyDecoder();
  readonly #painter: PromptPainter;
  #terminal: RawTerminal | null = null;
  #pendingKeys: TerminalKey[] = [];
  #open: OpenPrompt | null = null;
  #isHandling = false;
  #isClosed = false;
  #stop = () => {};

  static async open(ctx: CommandContext, options: TerminalInputOptions): Promise<TerminalInput> {
    const input = new TerminalInput(ctx.out, options);
    input.#terminal = await ctx.stdin.raw({
      onInput: (text) => input.#onInput(text),
      onResize: () => input.#onResize(),
      onEnd: () => input.close(),
    });
    return input;
  }

  private constructor(out: CommandContext["out"], options: TerminalInputOptions) {
    this.#out = out;
    this.#options = options;
    this.#painter = new PromptPainter(out);
  }

  next(label: string): Promise<string | null> {
    return this.#read(label, false);
  }

  readonly answers: AnswerInput = {
    next: (label) => this.#read(label, true),
    withdraw: () => {
      if (this.#open?.isAnswer === true) this.#finish(this.#open, null);
    },
  };

  #read(label: string, isAnswer: boolean): Promise<string | null> {
    if (this.#isClosed) return Promise.resolve(null);
    const { promise, resolve } = Promise.withResolvers<string | null>();
    const prompt = freshPrompt(isAnswer ? [] : this.#options.history.entries);
    this.#open = { prompt, label, leavesOnStop: isAnswer, isAnswer, resolve };
    void this.#handleKeys();
    return promise;
  }

  onStop(stop: () => void): void {
    this.#stop = stop;
  }

  close(): void {
    this.#isClosed = true;
    if (this.#open !== null) this.#finish(this.#open, null);
    this.#terminal?.close();
  }

  #onInput(text: string): void {
    for (const key of this.#decode(text)) {
      this.#pendingKeys.push(key);
      if (key.name !== "stop" || this.#open !== null) continue;
      this.#pendingKeys = [];
      this.#stop();
    }
    void this.#handleKeys();
  }

  /** Handles one key after the other, and paints when no key is pending. */
  async #handleKeys(): Promise<void> {
    if (this.#isHandling) return;
    this.#isHandling = true;
    try {
      while (this.#open !== null) {
        const key = this.#pendingKeys.shift();
        if (key === undefined) break;
        await this.#handleKey(this.#open, key);
      }
    } finally {
      this.#isHandling = false;
    }
    this.#paint();
  }

  async #handleKey(open: OpenPrompt, key: TerminalKey): Promise<void> {
    const hadText = open.prompt.line.text !== "";
    const { prompt, entered, action } = press(open.prompt, key);
    if (entered !== undefined) return this.#finish(open, entered);
    if (action === "leave" || (action === "stop" && !hadText && open.leavesOnStop)) return this.#finish(open, null);
    open.leavesOnStop = open.isAnswer || (action === "stop" && !hadText);
    if (action === "stop") {
      this.#paintAndMoveBelow(open);
      if (open.leavesOnStop && !open.isAnswer) this.#out.write("(Ctrl-C again, Ctrl-D or /quit leaves)\n");
    }
    open.prompt = prompt;
    if (action === "clear") this.#painter.clearScreen();
    if (action === "suspend") {
      this.#paintAndMoveBelow(open);
      this.#terminal?.suspend();
    }
    if (action === "complete") await this.#complete(open);
  }

  async #complete(open: OpenPrompt): Promise<void> {
    const { line } = open.prompt;
    const { insertion, choices } = await this.#options.complete(line);
    if (insertion !== "") open.prompt = { ...open.prompt, line: insertText(line, insertion) };
    if (choices.length === 0) return;
    this.#paintAndMoveBelow(open);
    this.#out.write(`${inColumns(choices, this.#out.columns)}\n`);
  }

  #finish(open: OpenPrompt, entry: string | null): void {
    const { text } = open.prompt.line;
    open.prompt = { ...open.prompt, line: { text, cursor: text.length } };
    this.#paintAndMoveBelow(open);
    this.#open = null;
    open.resolve(entry);
  }

  #paintAndMoveBelow({ label, prompt }: OpenPrompt): void {
    this.#painter.paint(label, prompt.line);
    this.#painter.moveBelow();
  }

  #paint(): void {
    if (this.#open !== null) this.#painter.paint(this.#open.label, this.#open.prompt.line);
  }

  #onResize(): void {
    if (this.#isHandling) return;
    this.#painter.rewrap();
    this.#paint();
  }
}
