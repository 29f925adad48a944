// A model that replays a script, for tests and demos. It uses no network and has no state: the number of answers in the
// request selects the step.
import { Fault, messageOf, type TurnError, turnStatuses } from "../protocol/api/error.ts";
import type { Part } from "../protocol/tree/node.ts";
import { zeroUsage, type Usage } from "../protocol/tree/usage.ts";
import type { ModelEvent, ModelRequest } from "./model.ts";
import { readRegularFile } from "../kit/files/safe-file.ts";
import { sleep } from "../kit/flow/sleep.ts";
import { isRecord, type Json } from "../kit/text/json.ts";

export type ReplayScript = { steps: ReplayStep[] };

export type ReplayStep = {
  thinking?: string;
  text?: string;
  calls?: { name: string; input?: Record<string, unknown> }[];
  /** Wait before the first word. */
  delayMs?: number;
  usage?: Partial<Usage>;
  /** The answer ends with this error. */
  error?: TurnError;
};

export async function* replayModel(
  script: ReplayScript,
  request: ModelRequest,
  options: { signal: AbortSignal },
): AsyncGenerator<ModelEvent, void> {
  const index = request.messages.filter((message) => message.role === "assistant").length;
  const step = script.steps[index];
  if (!step) return yield failed({ kind: "broken", message: `the script ends before step ${index + 1}`, hint: "add a step to the script" });
  const parts: Part[] = [];
  for (const event of await eventsOf(step, index, options.signal)) {
    await Promise.resolve();
    if (options.signal.aborted) break;
    addEvent(parts, event, step, index);
    yield event;
  }
  const usage = { ...zeroUsage, ...step.usage };
  if (options.signal.aborted)
    return yield failed({ kind: "cancelled", message: "stopped while the model was answering" }, parts, zeroUsage);
  if (step.error) return yield failed(step.error, parts, usage);
  yield { type: "done", parts, usage, stop: step.calls?.length ? "calls" : "end" };
}

type Delta = Extract<ModelEvent, { type: "text.delta" | "thinking.delta" | "call.started" }>;

async function eventsOf(step: ReplayStep, stepIndex: number, signal: AbortSignal): Promise<Delta[]> {
  if (step.delayMs) await sleep(step.delayMs, signal);
  return [
    ...wordsOf(step.thinking).map((text): Delta => ({ type: "thinking.delta", text })),
    ...wordsOf(step.text).map((text): Delta => ({ type: "text.delta", text })),
    ...(step.calls ?? []).map(({ name }, index): Delta => ({ type: "call.started", call: callId(stepIndex, index), name })),
  ];
}

function wordsOf(text: string = ""): string[] {
  return text.match(/\s*\S+\s*?(?=\s|$)|\s+$/g) ?? (text === "" ? [] : [text]);
}

function callId(stepIndex: number, index: number): string {
  return `replay_${stepIndex + 1}_${index + 1}`;
}

/** Adds a yielded event to the answer, so that an aborted answer has exactly the yielded events. */
function addEvent(parts: Part[], event: Delta, step: ReplayStep, stepIndex: number): void {
  if (event.type === "call.started") {
    const index = parts.filter((part) => part.kind === "call").length;
    parts.push({ kind: "call", id: callId(stepIndex, index), name: event.name, input: step.calls?.[index]?.input ?? {} });
    return;
  }
  const kind = event.type === "text.delta" ? "text" : "thinking";
  const last = parts.at(-1);
  if (last?.kind === kind) last.text += event.text;
  else parts.push({ kind, text: event.text });
}

function failed(error: TurnError, parts: Part[] = [], usage: Usage = zeroUsage): ModelEvent {
  return { type: "failed", error, parts, usage };
}

/** Reads and checks a script. Throws a Fault with the first problem. */
export function loadScript(path: string): ReplayScript {
  let value: unknown;
  try {
    const bytes = readRegularFile(path, { maxBytes: 64 << 20 });
    if (bytes === null) throw new Error("it does not exist");
    value = JSON.parse(bytes.toString("utf8"));
  } catch (error) {
    // The parser's message would quote the file. A tool could name any file as its script.
    if (error instanceof SyntaxError)
      throw new Fault("config", `the replay script ${path} is not JSON`, { hint: 'write {"steps": [{"text": "..."}, ...]}', cause: error });
    const options = { hint: messageOf(error), cause: error };
    throw new Fault("file-unreadable", `can't read the replay script ${path}`, options);
  }
  const problem = problemIn(value);
  if (problem) throw new Fault("config", `the replay script ${path}: ${problem}`, { hint: 'write {"steps": [{"text": "..."}, ...]}' });
  return value as ReplayScript;
}

function problemIn(value: unknown): string | null {
  if (!isRecord(value) || !Array.isArray(value.steps)) return "it has no list of steps";
  for (const [index, step] of (value.steps as unknown[]).entries()) {
    const problem = isRecord(step) ? problemInStep(step) : "is not an object";
    if (problem) return `step ${index + 1} ${problem}`;
  }
  return null;
}

const stepKeys = ["thinking", "text", "calls", "delayMs", "usage", "error"];

function problemInStep(step: Json): string | null {
  const unknown = Object.keys(step).find((key) => !stepKeys.includes(key));
  if (unknown) return `has an unknown key "${unknown}"`;
  for (const key of ["thinking", "text"]) if (key in step && typeof step[key] !== "string") return `has a ${key} that is not a string`;
  if ("delayMs" in step && typeof step.delayMs !== "number") return "has a delayMs that is not a number";
  if ("usage" in step && !isRecord(step.usage)) return "has a usage that is not an object";
  const calls = step.calls ?? [];
  const isCall = (call: unknown): boolean => isRecord(call) && typeof call.name === "string" && isRecord(call.input ?? {});
  if (!Array.isArray(calls) || !calls.every(isCall)) return "has calls without a name and an input";
  if (!("error" in step)) return null;
  const isError =
    isRecord(step.error) && typeof step.error.message === "string" && turnStatuses.some((kind) => kind === (step.error as Json).kind);
  return isError ? null : "has an error without a known kind and a message";
}

/** Binds a script as a model: it costs nothing and has no context window. */
export function bindReplay(path: string) {
  type UnboundRequest = Omit<ModelRequest, "model" | "effort">;
  const script = loadScript(path);
  return {
    name: `replay/${path}`,
    stream: (request: UnboundRequest, signal: AbortSignal) => replayModel(script, { ...request, model: path, effort: null }, { signal }),
    body: async (request: UnboundRequest) => JSON.stringify(request),
    price: async () => 0,
    window: async () => null,
  };
}
