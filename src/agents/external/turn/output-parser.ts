// What a CLI prints, line by line, as nodes and events of ours; keeps what the ending needs to know. Knows no CLI:
// the adapter's reader does.
import { cutText } from "../../../kit/text/cut-text.ts";
import { parseModelName } from "../../../models/vendors.ts";
import type { TurnError } from "../../../protocol/api/error.ts";
import { callsOf, type NewNode, type Part, textOf } from "../../../protocol/tree/node.ts";
import type { TurnContext, TurnInput } from "../../../protocol/api/ports.ts";
import { addSpent, subtractSpent, zeroSpent, type Spent } from "../../../protocol/tree/usage.ts";
import type { Adapter, CliEvent, CliLaunch, CliReader } from "../adapters/adapter.ts";
import type { CliEvidence } from "./ending.ts";
import type { VendorAccess } from "../credentials/vendor-access.ts";
import type { Emit } from "../../stream-turn.ts";
import type { CliQuestion } from "../adapters/questions.ts";

export type OutputParserDeps = {
  adapter: Adapter;
  /** Of one that is talked to; else the adapter's. */
  reader?: CliReader | undefined;
  start: CliLaunch["start"];
  input: TurnInput;
  context: TurnContext;
  emit: Emit;
  gate: VendorAccess;
  /** Whose models it asks. */
  vendor: string;
  /** It prints without end: it is to be stopped. */
  onFlood: (error: TurnError) => void;
  /** It asks a person by its own means. */
  onQuestions: (questions: CliQuestion[]) => void;
};

/** An answer that does not end is no answer. */
const longestAnswer = 16 << 20;
const showMs = 20;
const shownAtOnce = 64 << 10;
/** After that much silence what a reader holds back is shown. */
const quietMs = 100;
/** As much of a tool's result as a node holds. */
const resultBytes = 32 * 1024;

export class OutputParser {
  answers = 0;
  version: string | null = null;
  readonly #parts: OutputParserDeps;
  readonly #emit: Emit;
  readonly #gate: VendorAccess;
  readonly #reader: ReturnType<Adapter["reader"]>;
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;
  #silence: Timer | undefined;
  #unshown: Delta | null = null;
  #showing: Timer | undefined;
  #answer = "";
  /** What was said and has not become a message: the half answer of one that is stopped or dies. */
  #said = { text: "", thinking: "" };
  #done: CliEvidence["done"] = null;
  #failed: CliEvidence["failed"] = null;
  #garbage = 0;
  #model: string | null = null;
  /** What nodes carry already. */
  #recorded: Spent = zeroSpent;

  constructor(deps: OutputParserDeps) {
    this.#parts = deps;
    this.#emit = deps.emit;
    this.#gate = deps.gate;
    this.#reader = deps.reader ?? deps.adapter.reader(deps.start);
    this.#model = deps.input.model === null ? null : parseModelName(deps.input.model).model;
  }

  line(text: string, isCut: boolean): Promise<void> | void {
    if (text.trim() === "" && this.#reader.wantsBlank !== true) return;
    if (this.#reader.quiet !== undefined) this.#awaitSilence();
    const read = (): CliEvent[] => (isCut ? [{ type: "garbage", text }] : this.#reader.line(text));
    if (this.#waiting > 0) return this.#inTurn(read);
    // Nothing to record and nobody before it: a flood of such lines must cost little.
    const events = read();
    if (!events.every(isPassing)) return this.#inTurn(() => events);
    for (const event of events) this.#pass(event);
  }

  async finish(): Promise<void> {
    clearTimeout(this.#silence);
    await this.#inTurn(() => this.#reader.end());
    this.#showRest();
    const { text, thinking } = this.#said;
    if (text + thinking === "") return;
    if (text.trim() !== "") this.#answer = text;
    const thought: Part[] = thinking === "" ? [] : [{ kind: "thinking", text: thinking }];
    await this.#addAnswer(text === "" ? thought : [...thought, { kind: "text", text }], this.#model);
  }

  seen(): Pick<CliEvidence, "answer" | "done" | "failed" | "garbage"> {
    return { answer: this.#answer, done: this.#done, failed: this.#failed, garbage: this.#garbage };
  }

  /** What was spent and stands on no node: titles and other requests beside the conversation. */
  rest(): Spent {
    return subtractSpent(this.#gate.spent(), this.#recorded);
  }

  /** A program may print a line per word, or thousands: watchers get what a screen can show. */
  #show({ type, text }: Delta): void {
    const unshown = (this.#unshown?.text ?? "") + text;
    this.#unshown = { type, text: unshown };
    if (unshown.length > shownAtOnce) return this.#showRest();
    this.#showing ??= setTimeout(() => this.#showRest(), showMs);
  }

  #showRest(): void {
    clearTimeout(this.#showing);
    this.#showing = undefined;
    const event = this.#unshown;
    this.#unshown = null;
    if (event !== null) this.#emit({ type: "passing", event });
  }

  /** One after the other; what could not be recorded is told to whoever brings the next line. */
  #inTurn(read: () => CliEvent[]): Promise<void> {
    this.#waiting += 1;
    this.#last = this.#last
      .then(async () => {
        for (const event of read()) await this.#take(event);
      })
      .finally(() => (this.#waiting -= 1));
    return this.#last;
  }

  #awaitSilence(): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => void this.#inTurn(() => this.#reader.quiet?.() ?? []).catch(() => undefined), quietMs);
  }

  #pass(event: Passing): void {
    if (event.type !== this.#unshown?.type) this.#showRest();
    if (event.type === "garbage") {
      this.#garbage += 1;
      return;
    }
    this.#said[event.type === "text.delta" ? "text" : "thinking"] += event.text;
    const { text, thinking } = this.#said;
    if (text.length + thinking.length > longestAnswer) this.#parts.onFlood(flood(this.#parts.adapter.name));
    else this.#show(event);
  }

  async #take(event: CliEvent): Promise<void> {
    if (isPassing(event)) return this.#pass(event);
    this.#showRest();
    switch (event.type) {
      case "session":
        this.version = event.version ?? this.version;
        this.#model = event.model ?? this.#model;
        await this.#gate.report(event, this.#model);
        return this.#emit({ type: "native", id: event.id });
      case "answer":
        return this.#takeAnswer(event);
      case "result":
        return this.#add(await this.#resultNode(event));
      case "below":
        return this.#takeBelow(event.call, event.event);
      case "usage":
        // What it says of itself leaves sub-agents out or counts earlier turns: it counts only where no gateway has.
        return this.#gate.report(event, this.#model);
      case "retry":
        this.#said = { text: "", thinking: "" };
        return this.#emit({
          type: "passing",
          event: { type: "model.retried", attempt: 1, waitMs: 0, error: { kind: "overloaded", message: event.message } },
        });
      case "failed":
        this.#failed = event;
        return;
      case "done":
        this.#done = event;
    }
  }

  async #takeAnswer(event: Extract<CliEvent, { type: "answer" }>): Promise<void> {
    this.answers += 1;
    this.#failed = null;
    const text = textOf(event);
    if (text.trim() !== "") this.#answer = text;
    await this.#gate.report(event, this.#model);
    await this.#addAnswer(event.parts, substitutedModel(event.model ?? this.#model, this.#gate) ?? event.model ?? this.#model);
  }

  async #addAnswer(parts: Part[], model: string | null): Promise<void> {
    this.#said = { text: "", thinking: "" };
    const spent = subtractSpent(this.#gate.spent(), this.#recorded);
    this.#recorded = addSpent(this.#recorded, spent);
    await this.#add({
      author: "agent",
      parts,
      ...(model === null ? {} : { model: `${this.#parts.vendor}/${model}` }),
      usage: spent.usage,
      costUsd: spent.costUsd,
    });
    const calls = callsOf({ parts });
    for (const { id, name, input } of calls) this.#emit({ type: "passing", event: { type: "tool.started", call: id, name, input } });
    const questions = calls.flatMap((call) => this.#parts.adapter.questionsIn?.(call) ?? []);
    if (questions.length > 0) this.#parts.onQuestions(questions);
  }

  /** Of a sub-agent: a block of its own, which is no part of the conversation. */
  async #takeBelow(call: string, event: CliEvent): Promise<void> {
    if (event.type === "text.delta") return this.#emit({ type: "passing", event: { type: "tool.output", call, text: event.text } });
    if (event.type === "answer" && event.parts.length > 0)
      await this.#add({ author: "note", note: { about: "below", call }, parts: event.parts });
    if (event.type === "result") await this.#add({ ...(await this.#resultNode(event)), author: "note", note: { about: "below", call } });
  }

  async #resultNode({ call, name, text, isError, images }: Extract<CliEvent, { type: "result" }>): Promise<NewNode> {
    const bytes = Buffer.from(text);
    const handle = bytes.length <= resultBytes ? null : await this.#kept(call, bytes);
    const cut = cutText(text, resultBytes, { keep: "both" });
    const part = { kind: "result" as const, call, name, text: cut.text, isError };
    return { author: "tool", parts: [{ ...part, ...(images === undefined ? {} : { images }), ...(handle === null ? {} : { handle }) }] };
  }

  #kept(call: string, bytes: Uint8Array) {
    const sink = this.#parts.context.keepOutput(call, "bash");
    sink.write(bytes);
    return sink.close({}, resultBytes);
  }

  /** Resolves when it is stored. */
  #add(node: NewNode): Promise<void> {
    const stopped = new Promise<void>((resolve) =>
      this.#parts.context.signal.addEventListener("abort", () => setTimeout(resolve, 5_000), { once: true }),
    );
    return Promise.race([new Promise<void>((recorded) => this.#emit({ type: "node", node, recorded: () => recorded() })), stopped]);
  }
}

/** The model that was asked where the one that was named never was: some CLIs know better. Null when it was, or nobody can tell. */
export function substitutedModel(named: string | null, access: Pick<VendorAccess, "requestStats">): string | null {
  const models = access.requestStats()?.models ?? [];
  return named === null || models.some((model) => model.includes(named)) ? null : (models.at(-1) ?? null);
}

type Delta = Extract<CliEvent, { type: "text.delta" | "thinking.delta" }>;
type Passing = Delta | Extract<CliEvent, { type: "garbage" }>;

function isPassing(event: CliEvent): event is Passing {
  return event.type === "text.delta" || event.type === "thinking.delta" || event.type === "garbage";
}

function flood(agent: string): TurnError {
  const message = `${agent} printed more than ${longestAnswer >> 20} MB of one answer`;
  return { kind: "broken", message, hint: "what it printed is in the log beside the transcript" };
}
