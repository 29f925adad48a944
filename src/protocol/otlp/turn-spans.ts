// Converts a stored turn to spans by OpenTelemetry's conventions for generative AI: `invoke_agent` for the turn, `chat` for each
// answer of a model, `execute_tool` for each call. Pure: the ids come from the stored ids, so a turn always has the same spans.
import { callsOf, type Node, type ResultPart, textOf } from "../tree/node.ts";
import type { Turn } from "../tree/turn.ts";
import type { Usage } from "../tree/usage.ts";
import { attributesOf, type OtlpSpan, spanKind, statusCode } from "./otlp.ts";

export type TracedTurn = {
  turn: Turn;
  /** The nodes of the turn, in the order of the path. */
  nodes: readonly Node[];
  parent: SpanParent | null;
};

export type SpanParent = { traceId: string; spanId: string };

export type SpanOptions = {
  /** Adds messages, arguments and results. They may contain secrets, so it is off unless the user asks for it. */
  withContents: boolean;
};

/** The span of a turn. Without a parent the turn's id, which has 128 bits, is the id of the trace. */
export function spanOfTurn(turn: string, parent: SpanParent | null): SpanParent {
  const hex = turn.replaceAll("-", "");
  return { traceId: parent?.traceId ?? hex, spanId: hex.slice(-16) };
}

export function spansOfTurn({ turn, nodes, parent }: TracedTurn, { withContents }: SpanOptions): OtlpSpan[] {
  const own = spanOfTurn(turn.id, parent);
  const endedAt = turn.endedAt ?? nodes.at(-1)?.at ?? turn.startedAt;
  const failed = turn.status !== "ok";
  const prompt = nodes.find((node) => node.author === "user");
  const answer = nodes.findLast((node) => node.author === "agent");
  const agent: OtlpSpan = {
    ...own,
    ...(parent === null ? {} : { parentSpanId: parent.spanId }),
    name: `invoke_agent ${turn.agent}`,
    kind: spanKind.internal,
    ...times(turn.startedAt, endedAt),
    attributes: attributesOf({
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": turn.agent,
      "gen_ai.conversation.id": turn.session,
      ...modelAttributes(turn.model),
      ...usageAttributes(turn.usage),
      "error.type": failed ? (turn.status ?? "running") : undefined,
      "skein.turn.id": turn.id,
      "skein.cost_usd": turn.costUsd,
      ...(withContents ? messages({ input: prompt, output: answer }) : {}),
    }),
    status: failed
      ? { code: statusCode.error, ...(turn.error === null ? {} : { message: turn.error.message }) }
      : { code: statusCode.unset },
  };
  return [agent, ...nodes.flatMap((_, index) => nodeSpans({ nodes, index, turn, own, withContents }))];
}

type NodeContext = SpanOptions & { nodes: readonly Node[]; index: number; turn: Turn; own: SpanParent };

/** The `chat` span of an answer starts with the node before it and ends with its own node. Calls last from there to their results. */
function nodeSpans({ nodes, index, turn, own, withContents }: NodeContext): OtlpSpan[] {
  const node = nodes[index]!;
  if (node.author !== "agent") return [];
  const model = node.model ?? turn.model;
  const chat: OtlpSpan = {
    traceId: own.traceId,
    spanId: spanIdOf(node.id),
    parentSpanId: own.spanId,
    name: model === null ? "chat" : `chat ${bareModel(model)}`,
    kind: spanKind.client,
    ...times(nodes[index - 1]?.at ?? turn.startedAt, node.at),
    attributes: attributesOf({
      "gen_ai.operation.name": "chat",
      "gen_ai.conversation.id": turn.session,
      ...modelAttributes(model),
      ...(node.usage === undefined ? {} : usageAttributes(node.usage)),
      ...(withContents ? messages({ output: node }) : {}),
    }),
    status: { code: statusCode.unset },
  };
  return [chat, ...callSpans({ nodes, index, turn, own, withContents })];
}

function callSpans({ nodes, index, turn, own, withContents }: NodeContext): OtlpSpan[] {
  const node = nodes[index]!;
  return callsOf(node).map((call): OtlpSpan => {
    const answered = resultOf(nodes, index, call.id);
    const failed = answered === null || answered.part.isError;
    return {
      traceId: own.traceId,
      spanId: spanIdOf(`${node.id} ${call.id}`),
      parentSpanId: own.spanId,
      name: `execute_tool ${call.name}`,
      kind: spanKind.internal,
      ...times(node.at, answered?.at ?? turn.endedAt ?? node.at),
      attributes: attributesOf({
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call.name,
        "gen_ai.tool.call.id": call.id,
        "gen_ai.tool.type": "function",
        "error.type": failed ? (answered === null ? "interrupted" : "tool_error") : undefined,
        "gen_ai.tool.call.arguments": withContents ? JSON.stringify(call.input) : undefined,
        "gen_ai.tool.call.result": withContents ? answered?.part.text : undefined,
      }),
      status: { code: failed ? statusCode.error : statusCode.unset },
    };
  });
}

function resultOf(nodes: readonly Node[], from: number, call: string): { part: ResultPart; at: number } | null {
  for (let index = from + 1; index < nodes.length; index += 1)
    for (const part of nodes[index]!.parts) if (part.kind === "result" && part.call === call) return { part, at: nodes[index]!.at };
  return null;
}

/** The end of a UUIDv7 is random. Other texts are hashed. */
function spanIdOf(text: string): string {
  if (/^[0-9a-f-]{36}$/.test(text)) return text.replaceAll("-", "").slice(-16);
  return (Bun.hash(text) | 1n).toString(16).padStart(16, "0");
}

function times(from: number, to: number): Pick<OtlpSpan, "startTimeUnixNano" | "endTimeUnixNano"> {
  const nanoseconds = (ms: number) => `${Math.round(ms)}000000`;
  return { startTimeUnixNano: nanoseconds(from), endTimeUnixNano: nanoseconds(Math.max(from, to)) };
}

/** Vendors that OpenTelemetry's conventions name differently. */
const providerNames: Readonly<Record<string, string>> = { gemini: "gcp.gemini", xai: "x_ai", mistral: "mistral_ai" };

function modelAttributes(model: string | null): Record<string, string | undefined> {
  if (model === null) return {};
  const vendor = model.includes("/") ? model.slice(0, model.indexOf("/")) : undefined;
  return {
    "gen_ai.provider.name": vendor === undefined ? undefined : (providerNames[vendor] ?? vendor),
    "gen_ai.request.model": bareModel(model),
  };
}

function bareModel(model: string): string {
  return model.slice(model.indexOf("/") + 1);
}

/** The conventions count cached tokens as input. */
function usageAttributes({ input, output, cacheRead, cacheWrite }: Usage): Record<string, number> {
  return {
    "gen_ai.usage.input_tokens": input + cacheRead + cacheWrite,
    "gen_ai.usage.output_tokens": output,
    "gen_ai.usage.cache_read.input_tokens": cacheRead,
    "gen_ai.usage.cache_creation.input_tokens": cacheWrite,
  };
}

function messages({ input, output }: { input?: Node | undefined; output?: Node | undefined }): Record<string, string | undefined> {
  const message = (role: string, node: Node) => JSON.stringify([{ role, parts: [{ type: "text", content: textOf(node) }] }]);
  return {
    "gen_ai.input.messages": input === undefined ? undefined : message("user", input),
    "gen_ai.output.messages": output === undefined ? undefined : message("assistant", output),
  };
}
