// Entries from a terminal: a small editor over raw keys. It is there from the first prompt to the last: what is typed
// while a turn runs waits for the next prompt, but for Ctrl-C. Knows keys and lines, not what they say.
import type { CommandContext } from "../parse/command.ts";
import type { RawTerminal } from "../terminal/raw-terminal.ts";
import type { Completion } from "./complete.ts";
import { insertText, type EditLine } from "../../kit/text/line-edit.ts";
import type { History } from "./history.ts";
import type { AnswerInput, Input } from "./input.ts";
import { keyDecoder, type Key } from "./keys.ts";
import { visiblePart, layOutText, type TextLayout } from "../../kit/text/text-layout.ts";
import { moveBelow, inColumns, repaint, rewrapLayout } from "./paint.ts";
import { freshPrompt, press, type Prompt } from "./prompt.ts";

export type TerminalInputOptions = { history: History; complete: (line: EditLine) => Promise<Completion> };

/** One prompt, until something is entered at it. */
type OpenPrompt = {
  prompt: Prompt;
  label: string;
  shown: TextLayout | null;
  /** One Ctrl-C on an empty line was pressed, and the next one leaves; an answer is left at once. */
  warned: boolean;
  isAnswer: boolean;
  done: (entered: string | null) => void;
};

export class TerminalInput implements Input {
  readonly #out: CommandContext["out"];
  readonly #options: TerminalInputOptions;
  readonly #decode = keyDecoder();
  #terminal: RawTerminal | null = null;
  #waiting: Key[] = [];
  #reading: OpenPrompt | null = null;
  #isBusy = false;
  #isOver = false;
  #stop = () => {};

  static async open(ctx: CommandContext, options: TerminalInputOptions): Promise<TerminalInput> {
    const input = new TerminalInput(ctx.out, options);
    input.#terminal = await ctx.stdin.raw({
      onInput: (text) => input.#arrived(text),
      onResize: () => input.#resized(),
      onEnd: () => input.close(),
    });
    return input;
  }

  private constructor(out: CommandContext["out"], options: TerminalInputOptions) {
    this.#out = out;
    this.#options = options;
  }

  next(label: string): Promise<string | null> {
    return this.#read(label, { isAnswer: false });
  }

  readonly answers: AnswerInput = {
    next: (label) => this.#read(label, { isAnswer: true }),
    withdraw: () => {
      if (this.#reading?.isAnswer === true) this.#finish(this.#reading, null);
    },
  };

  #read(label: string, { isAnswer }: Pick<OpenPrompt, "isAnswer">): Promise<string | null> {
    if (this.#isOver) return Promise.resolve(null);
    const { promise, resolve } = Promise.withResolvers<string | null>();
    const prompt = freshPrompt(isAnswer ? [] : this.#options.history.entries);
    this.#reading = { prompt, label, shown: null, warned: isAnswer, isAnswer, done: resolve };
    void this.#work();
    return promise;
  }

  onStop(stop: () => void): void {
    this.#stop = stop;
  }

  close(): void {
    this.#isOver = true;
    if (this.#reading !== null) this.#finish(this.#reading, null);
    this.#terminal?.close();
  }

  #arrived(text: string): void {
    for (const key of this.#decode(text)) {
      this.#waiting.push(key);
      if (key.name !== "stop" || this.#reading !== null) continue;
      this.#waiting = [];
      this.#stop();
    }
    void this.#work();
  }

  /** One key after the other; the line is painted when none waits. */
  async #work(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      while (this.#reading !== null) {
        const key = this.#waiting.shift();
        if (key === undefined) break;
        await this.#take(this.#reading, key);
      }
    } finally {
      this.#isBusy = false;
    }
    if (this.#reading !== null) this.#paint(this.#reading);
  }

  async #take(reading: OpenPrompt, key: Key): Promise<void> {
    const hadText = reading.prompt.line.text !== "";
    const { prompt, entered, action: wish } = press(reading.prompt, key);
    if (entered !== undefined) return this.#finish(reading, entered);
    if (wish === "leave" || (wish === "stop" && !hadText && reading.warned)) return this.#finish(reading, null);
    reading.warned = reading.isAnswer || (wish === "stop" && !hadText);
    if (wish === "stop") {
      this.#paint(reading);
      this.#leaveRow(reading);
      if (reading.warned && !reading.isAnswer) this.#out.write("(Ctrl-C again, Ctrl-D or /quit leaves)\n");
    }
    reading.prompt = prompt;
    if (wish === "clear") {
      this.#out.write("\x1b[H\x1b[2J");
      reading.shown = null;
    }
    if (wish === "suspend") {
      this.#paint(reading);
      this.#leaveRow(reading);
      this.#terminal?.suspend();
    }
    if (wish === "complete") await this.#complete(reading);
  }

  async #complete(reading: OpenPrompt): Promise<void> {
    const { line } = reading.prompt;
    const { insertion, choices } = await this.#options.complete(line);
    if (insertion !== "") reading.prompt = { ...reading.prompt, line: insertText(line, insertion) };
    if (choices.length === 0) return;
    this.#paint(reading);
    this.#leaveRow(reading);
    this.#out.write(`${inColumns(choices, this.#out.columns)}\n`);
  }

  #finish(reading: OpenPrompt, entered: string | null): void {
    const { text } = reading.prompt.line;
    reading.prompt = { ...reading.prompt, line: { text, cursor: text.length } };
    this.#paint(reading);
    this.#leaveRow(reading);
    this.#reading = null;
    reading.done(entered);
  }

  #paint(reading: OpenPrompt): void {
    const next = visiblePart(layOutText(reading.label, reading.prompt.line, this.#out.columns), this.#terminal?.rows() ?? 24);
    this.#out.write(repaint(reading.shown, next));
    reading.shown = next;
  }

  /** What was typed stays on the screen; what comes next is written below it. */
  #leaveRow(reading: OpenPrompt): void {
    if (reading.shown !== null) this.#out.write(moveBelow(reading.shown));
    reading.shown = null;
  }

  #resized(): void {
    const reading = this.#reading;
    if (reading === null || this.#isBusy) return;
    if (reading.shown !== null) reading.shown = rewrapLayout(reading.shown, this.#out.columns);
    this.#paint(reading);
  }
}
