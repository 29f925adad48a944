// Converts the output of a CLI, line by line, to nodes and events, and collects the evidence for the turn's end.
// Contains nothing about a particular CLI: the adapter's reader parses the lines.
import { cutText } from "../../../kit/text/cut-text.ts";
import { stripControls } from "../../../kit/text/terminal-text.ts";
import type { TurnError } from "../../../protocol/api/error.ts";
import { callsOf, maxResultBytes, type NewNode, type Part, textOf } from "../../../protocol/tree/node.ts";
import type { TurnContext } from "../../../protocol/api/ports.ts";
import { addSpent, subtractSpent, zeroSpent, type Spent } from "../../../protocol/tree/usage.ts";
import type { Emit } from "../../stream-turn.ts";
import type { Adapter, CliEvent, CliReader } from "../adapters/adapter.ts";
import { questionsIn, type CliQuestion } from "../adapters/questions.ts";
import type { VendorAccess } from "../credentials/vendor-access.ts";
import { contentParts, thinkingParts } from "../import/parts.ts";
import type { CliEvidence } from "./ending.ts";

export type OutputParserDeps = {
  adapter: Adapter;
  /** The adapter's reader, or the dialogue with the CLI. */
  reader: CliReader;
  context: TurnContext;
  emit: Emit;
  access: VendorAccess;
  /** Vendor of the CLI's models. */
  vendor: string;
  /** The model of the turn; null for the CLI's default. */
  model: string | null;
  /** The model that the CLI has recorded for its own session; null if it records none. */
  findModel: (cliSession: string) => string | null;
  /** Called when one answer is longer than any real one. The CLI must then be stopped. */
  onFlood: (error: TurnError) => void;
  /** Called for every answer in which the CLI asks the user. */
  onQuestions: (questions: CliQuestion[]) => void;
};

const maxAnswerChars = 16 << 20;
/** Deltas are collected for this long before they are shown. */
const deltaDelayMs = 20;
const maxDeltaChars = 64 << 10;
const quietMs = 100;
/** A stopped turn waits this long for a node to be stored. */
const storeTimeoutMs = 5_000;

/** Output that is no event is kept up to twice this length: its start and its end. */
const maxGarbageChars = 4 << 10;

type ParserEvidence = Pick<CliEvidence, "answer" | "done" | "failed" | "garbage" | "limitResetAt">;

export class OutputParser {
  answers = 0;
  version: string | null = null;
  readonly #deps: OutputParserDeps;
  /** The queue of lines: each is handled after the one before. */
  #queue: Promise<void> = Promise.resolve();
  #queued = 0;
  #quietTimer: Timer | undefined;
  #pendingDelta: Delta | null = null;
  #deltaTimer: Timer | undefined;
  readonly #evidence: ParserEvidence = { answer: "", done: null, failed: null, garbage: 0 };
  /** Text without an `answer` event yet. It is stored at the end if the CLI stops halfway. */
  #partial = { text: "", thinking: "" };
  #model: string | null;
  /** The model of the last answer. */
  #answeredBy: string | null = null;
  readonly #garbage = { head: "", tail: "" };
  #cliSession: string | null = null;
  /** Resolves some time after the turn was stopped. */
  readonly #stopped: Promise<void>;
  /** Usage that is already stored on nodes. */
  #recorded: Spent = zeroSpent;

  constructor(deps: OutputParserDeps) {
    this.#deps = deps;
    this.#model = deps.model;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#stopped = promise;
    deps.context.signal.addEventListener("abort", () => setTimeout(resolve, storeTimeoutMs), { once: true });
  }

  line(text: string, isCut: boolean): Promise<void> | void {
    const { reader } = this.#deps;
    if (text.trim() === "" && reader.readsBlankLines !== true) return;
    if (reader.quiet !== undefined) this.#startQuietTimer();
    const read = (): CliEvent[] => {
      const events: CliEvent[] = isCut ? [{ type: "garbage" }] : reader.line(text);
      if (events.some(({ type }) => type === "garbage")) this.#keepGarbage(text);
      return events;
    };
    if (this.#queued > 0) return this.#enqueue(read);
    // Without the queue: a flood of lines that store nothing must cost little.
    const events = read();
    if (!events.every(isTransient)) return this.#enqueue(() => events);
    for (const event of events) this.#showTransient(event);
  }

  async finish(): Promise<void> {
    clearTimeout(this.#quietTimer);
    await this.#enqueue(() => this.#deps.reader.end());
    this.#flushDelta();
    const { text, thinking } = this.#partial;
    if (text + thinking === "") return;
    if (text.trim() !== "") this.#evidence.answer = text;
    await this.#storeAnswer([...thinkingParts(thinking), ...contentParts(text)], this.#model);
  }

  evidence(): ParserEvidence & Pick<CliEvidence, "garbageText"> {
    const { head, tail } = this.#garbage;
    return { ...this.#evidence, garbageText: tail === "" ? head : `${head}\n...\n${tail}` };
  }

  /** The model that answered; null if neither the CLI nor the gateway names it. */
  answeredModel(): string | null {
    const { access, vendor } = this.#deps;
    const model = this.#answeredBy ?? access.requestStats()?.mainModel ?? this.#model;
    return model === null ? null : `${vendor}/${model}`;
  }

  #keepGarbage(text: string): void {
    const { head, tail } = this.#garbage;
    const line = stripControls(text.slice(0, maxGarbageChars));
    if (head.length + line.length < maxGarbageChars) this.#garbage.head = head === "" ? line : `${head}\n${line}`;
    else this.#garbage.tail = (tail === "" ? line : `${tail}\n${line}`).slice(-maxGarbageChars);
  }

  /** Usage of requests beside the conversation, such as titles. It is on no node. */
  unassignedUsage(): Spent {
    return subtractSpent(this.#deps.access.spent(), this.#recorded);
  }

  /** Joins deltas: a CLI may print thousands of lines, and a screen can't show each. */
  #showDelta({ type, text }: Delta): void {
    const joined = (this.#pendingDelta?.text ?? "") + text;
    this.#pendingDelta = { type, text: joined };
    if (joined.length > maxDeltaChars) return this.#flushDelta();
    this.#deltaTimer ??= setTimeout(() => this.#flushDelta(), deltaDelayMs);
  }

  #flushDelta(): void {
    clearTimeout(this.#deltaTimer);
    this.#deltaTimer = undefined;
    const event = this.#pendingDelta;
    this.#pendingDelta = null;
    if (event !== null) this.#deps.emit({ type: "transient", event });
  }

  /** Handles one line after the other. An error while storing rejects this promise and all later ones. */
  #enqueue(read: () => CliEvent[]): Promise<void> {
    this.#queued += 1;
    this.#queue = this.#queue
      .then(async () => {
        for (const event of read()) await this.#handle(event);
      })
      .finally(() => (this.#queued -= 1));
    return this.#queue;
  }

  #startQuietTimer(): void {
    clearTimeout(this.#quietTimer);
    this.#quietTimer = setTimeout(() => void this.#enqueue(() => this.#deps.reader.quiet?.() ?? []).catch(() => undefined), quietMs);
  }

  #showTransient(event: TransientCliEvent): void {
    if (event.type !== this.#pendingDelta?.type) this.#flushDelta();
    if (event.type === "garbage") {
      this.#evidence.garbage += 1;
      return;
    }
    this.#partial[event.type === "text.delta" ? "text" : "thinking"] += event.text;
    const { text, thinking } = this.#partial;
    if (text.length + thinking.length > maxAnswerChars) this.#deps.onFlood(floodError(this.#deps.adapter.name));
    else this.#showDelta(event);
  }

  async #handle(event: CliEvent): Promise<void> {
    if (isTransient(event)) return this.#showTransient(event);
    this.#flushDelta();
    const { emit, access } = this.#deps;
    switch (event.type) {
      case "session":
        this.version = event.version ?? this.version;
        this.#model = event.model ?? this.#model;
        this.#cliSession = event.id;
        await access.report(event, this.#model);
        return emit({ type: "cli-session", id: event.id });
      case "answer":
        return this.#handleAnswer(event);
      case "result":
        return this.#store(await this.#resultNode(event));
      case "sub-agent":
        return this.#handleSubAgent(event.call, event.event);
      case "usage":
        // A CLI's own total omits sub-agents or includes earlier turns. It counts only without a gateway.
        if (this.#cliSession !== null) this.#model ??= this.#deps.findModel(this.#cliSession);
        return access.report(event, this.#model);
      case "retry":
        this.#partial = { text: "", thinking: "" };
        return emit({
          type: "transient",
          event: { type: "model.retried", attempt: 1, waitMs: 0, error: { kind: "overloaded", message: event.message } },
        });
      case "limit":
        this.#evidence.limitResetAt = event.resetAt;
        return;
      case "failed":
        this.#evidence.failed = event;
        return;
      case "done":
        this.#evidence.done = event;
    }
  }

  async #handleAnswer(event: Extract<CliEvent, { type: "answer" }>): Promise<void> {
    const { access } = this.#deps;
    this.answers += 1;
    this.#evidence.failed = null;
    const text = textOf(event);
    if (text.trim() !== "") this.#evidence.answer = text;
    await access.report(event, this.#model);
    const model = event.model ?? this.#model ?? access.requestStats()?.mainModel ?? null;
    this.#answeredBy = substitutedModel(model, access) ?? model;
    await this.#storeAnswer(event.parts, this.#answeredBy);
  }

  async #storeAnswer(parts: Part[], model: string | null): Promise<void> {
    const { access, vendor, adapter, emit, onQuestions } = this.#deps;
    this.#partial = { text: "", thinking: "" };
    const spent = subtractSpent(access.spent(), this.#recorded);
    this.#recorded = addSpent(this.#recorded, spent);
    await this.#store({
      author: "agent",
      parts,
      ...(model === null ? {} : { model: `${vendor}/${model}` }),
      ...spent,
    });
    const calls = callsOf({ parts });
    for (const { id, name, input } of calls) emit({ type: "transient", event: { type: "tool.started", call: id, name, input } });
    const questions = calls.filter(({ name }) => name === adapter.questionTool).flatMap(questionsIn);
    if (questions.length > 0) onQuestions(questions);
  }

  /** Stores events of a sub-agent as notes, which are not part of the conversation. */
  async #handleSubAgent(call: string, event: CliEvent): Promise<void> {
    if (event.type === "text.delta") return this.#deps.emit({ type: "transient", event: { type: "tool.output", call, text: event.text } });
    if (event.type === "answer" && event.parts.length > 0)
      await this.#store({ author: "note", note: { about: "below", call }, parts: event.parts });
    if (event.type === "result") await this.#store({ ...(await this.#resultNode(event)), author: "note", note: { about: "below", call } });
  }

  async #resultNode({ call, name, text, isError, images }: Extract<CliEvent, { type: "result" }>): Promise<NewNode> {
    const part = { kind: "result" as const, call, name, isError, ...(images === undefined ? {} : { images }) };
    const cut = cutText(text, maxResultBytes, { keep: "both" });
    if (cut.cutBytes === 0) return { author: "tool", parts: [{ ...part, text }] };
    const sink = this.#deps.context.keepOutput(call, "bash");
    sink.write(Buffer.from(text));
    const handle = await sink.close({}, maxResultBytes);
    return { author: "tool", parts: [{ ...part, text: cut.text, ...(handle === null ? {} : { handle }) }] };
  }

  /** Resolves when the node is stored, or 5 s after the turn was stopped. */
  #store(node: NewNode): Promise<void> {
    const stored = new Promise<void>((resolve) => this.#deps.emit({ type: "node", node, recorded: () => resolve() }));
    return Promise.race([stored, this.#stopped]);
  }
}

/** The model that the CLI used although another was named; null if it used the named one, or no gateway counted. */
export function substitutedModel(named: string | null, access: Pick<VendorAccess, "requestStats">): string | null {
  const models = access.requestStats()?.models ?? [];
  return named === null || models.some((model) => model.includes(named)) ? null : (models.at(-1) ?? null);
}

type Delta = Extract<CliEvent, { type: "text.delta" | "thinking.delta" }>;
type TransientCliEvent = Delta | Extract<CliEvent, { type: "garbage" }>;

function isTransient(event: CliEvent): event is TransientCliEvent {
  return event.type === "text.delta" || event.type === "thinking.delta" || event.type === "garbage";
}

function floodError(agent: string): TurnError {
  const message = `${agent} printed more than ${maxAnswerChars >> 20} MB of one answer`;
  return { kind: "broken", message, hint: "its output is in the log beside the transcript" };
}
