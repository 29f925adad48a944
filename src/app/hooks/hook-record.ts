// Builds the record of a hook. Texts of a model, a tool or a vendor are redacted and cut. Pure.
import { cutText } from "../../kit/text/cut-text.ts";
import { redactDeep } from "../../kit/text/redact.ts";
import type { HookEvent } from "../../protocol/hooks/hook-event.ts";
import type { Session } from "../../protocol/tree/turn.ts";

const maxTextBytes = 2_000;
const maxOptions = 20;

export type RecordOptions = { now: number; redact: (text: string) => string };

/** See docs/JSON.md. Its size is bounded, so that a hook that does not read its input can't block skein. */
export function hookRecord(event: HookEvent, { now, redact }: RecordOptions): Record<string, unknown> {
  // A secret at the cut would no longer be recognised, so texts are redacted before.
  return cutTexts(redactDeep({ ...sharedFields(event, now), ...ownFields(event) }, redact)) as Record<string, unknown>;
}

function sharedFields(event: HookEvent, now: number): Record<string, unknown> {
  const { session } = event;
  const turn = event.type === "ask_opened" ? null : event.turn;
  return {
    type: event.type,
    at: new Date(now).toISOString(),
    session_id: session.id,
    session_name: nameOf(session),
    directory: session.directory,
    project: session.project,
    turn_id: event.type === "ask_opened" ? event.turnId : event.turn.id,
    agent: turn?.agent ?? session.agent,
    model: turn?.model ?? session.model,
  };
}

function ownFields(event: HookEvent): Record<string, unknown> {
  if (event.type === "ask_opened") {
    const { id, question, options } = event.ask;
    return { ask: { id, question, options: options.slice(0, maxOptions) } };
  }
  const { turn } = event;
  if (event.type === "turn_waiting")
    return { until: event.until === null ? null : new Date(event.until).toISOString(), error: errorOf(event.error) };
  const { input, output, cacheRead, cacheWrite } = turn.usage;
  return {
    status: turn.status,
    error: errorOf(turn.error),
    answer: event.answer,
    duration_ms: Math.max(0, (turn.endedAt ?? turn.startedAt) - turn.startedAt),
    usage: { input, output, cache_read: cacheRead, cache_write: cacheWrite },
    cost_usd: turn.costUsd,
  };
}

function errorOf(error: { kind: string; message: string; hint?: string | undefined } | null): Record<string, string> | null {
  if (error === null) return null;
  const { kind, message, hint } = error;
  return { kind, message, ...(hint === undefined ? {} : { hint }) };
}

function nameOf(session: Session): string | null {
  return session.name ?? null;
}

function cutTexts(value: unknown): unknown {
  if (typeof value === "string") return cutText(value, maxTextBytes, { keep: "both" }).text;
  if (Array.isArray(value)) return value.map(cutTexts);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, cutTexts(field)]));
}
