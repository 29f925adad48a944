// Everything that leaves the process as JSON: snake_case, ISO times. docs/JSON.md lists these records, and a test
// holds every printed one to the schemas beside. What a model or a user wrote (tool input, metadata) stays as it is.
import type { Ask, Health, QueuedInput, TurnInfo } from "../api/control.ts";
import type { TurnError, TurnStatus } from "../api/error.ts";
import type { Event, TurnOutcome } from "../tree/event.ts";
import type { StatementInfo } from "../team/group.ts";
import type { Handle } from "../tree/handle.ts";
import type { Node, Part } from "../tree/node.ts";
import type { EnforcedPolicy } from "../api/policy.ts";
import type { RemainingBudget } from "../api/ports.ts";
import type { ImportReport } from "../tree/import.ts";
import { promptTokens, type Role } from "../api/role.ts";
import type { CliRecord, Session, Turn } from "../tree/turn.ts";
import { addSpent, zeroSpent, type Usage } from "../tree/usage.ts";
import { toJsonCase } from "./json-case.ts";

export function isoTime(at: number): string {
  return new Date(at).toISOString();
}

export function usageRecord(usage: Usage) {
  return { input: usage.input, output: usage.output, cache_read: usage.cacheRead, cache_write: usage.cacheWrite };
}

export function handleRecord(handle: Handle) {
  return { source: handle.source, source_version: handle.sourceVersion, identifier: handle.identifier, metadata: handle.metadata };
}

export function partRecord(part: Part) {
  switch (part.kind) {
    case "text":
    case "thinking":
      return { kind: part.kind, text: part.text };
    case "call":
      return {
        kind: part.kind,
        id: part.id,
        name: part.name,
        input: part.input,
        ...(part.malformed === undefined ? {} : { malformed: part.malformed }),
      };
    case "result":
      return {
        kind: part.kind,
        call: part.call,
        name: part.name,
        text: part.text,
        is_error: part.isError,
        ...(part.images === undefined ? {} : { images: part.images }),
        ...(part.handle === undefined ? {} : { handle: handleRecord(part.handle) }),
        ...(part.display === undefined ? {} : { display: part.display }),
      };
    case "image":
      return { kind: part.kind, mime: part.mime, base64: part.base64 };
    case "handle":
      return { kind: part.kind, handle: handleRecord(part.handle), excerpt: part.excerpt };
  }
}

export function nodeRecord(node: Node) {
  return {
    id: node.id,
    parent_id: node.parent,
    tree_id: node.tree,
    session_id: node.session,
    turn_id: node.turn,
    author: node.author,
    at: isoTime(node.at),
    parts: node.parts.map(partRecord),
    ...(node.note === undefined ? {} : { note: node.note.about }),
    ...(node.note?.about === "graft" ? { grafted_from: { session_id: node.note.from.session, node_id: node.note.from.node } } : {}),
    ...(node.note?.about === "group" ? { said: statementRecord(node.note.said) } : {}),
    ...(node.note?.about === "team" ? { happened: toJsonCase(node.note.happened) } : {}),
    ...(node.model === undefined ? {} : { model: node.model }),
    ...(node.usage === undefined ? {} : { usage: usageRecord(node.usage), cost_usd: node.costUsd ?? null }),
  };
}

export function statementRecord({ sessionId, costUsd, ...said }: StatementInfo) {
  return { ...said, session_id: sessionId, cost_usd: costUsd };
}

export function sessionRecord(session: Session) {
  return {
    id: session.id,
    name: session.name,
    tree_id: session.tree,
    tip: session.tip,
    agent: session.agent,
    model: session.model,
    directory: session.directory,
    project: session.project,
    task: session.task,
    tool_level: session.toolLevel,
    parent_session_id: session.parentSession,
    transcript_path: session.transcript,
    created_at: isoTime(session.createdAt),
    updated_at: isoTime(session.updatedAt),
    archived_at: session.archivedAt === null ? null : isoTime(session.archivedAt),
    ...(session.source === undefined ? {} : { source: sourceRecord(session.source) }),
  };
}

function sourceRecord({ agent, nativeId, path, sha256 }: NonNullable<Session["source"]>) {
  return { agent, native_id: nativeId, path, sha256 };
}

export function importRecord(report: ImportReport) {
  const { format, nodes, turns, branches, unreadable, torn } = report;
  return { session: sessionRecord(report.session), format, nodes, turns, branches, unreadable, torn };
}

export function turnRecord(turn: Turn) {
  return {
    id: turn.id,
    session_id: turn.session,
    parent: turn.parent,
    tip: turn.tip,
    agent: turn.agent,
    model: turn.model,
    ...(turn.role === undefined ? {} : { role: turn.role }),
    usage: usageRecord(turn.usage),
    cost_usd: turn.costUsd,
    steps: turn.steps,
    started_at: isoTime(turn.startedAt),
    ended_at: turn.endedAt === null ? null : isoTime(turn.endedAt),
    status: turn.status,
    enforced: turn.enforced === null ? null : enforcedRecord(turn.enforced),
    ...(turn.error === null ? {} : { error: turn.error }),
    ...(turn.cli === undefined ? {} : { native_id: turn.nativeId, cli: cliRecord(turn.cli) }),
  };
}

export function roleRecord(role: Role) {
  const { timeoutMs, idleMs, maxMemoryMb, ...rest } = role;
  return { ...rest, prompt_tokens: promptTokens(role), timeout_ms: timeoutMs, idle_ms: idleMs, max_memory_mb: maxMemoryMb };
}

function cliRecord({ version, argv, started, exitCode, signal, bytes, firstEventMs }: CliRecord) {
  return { version, argv, started, exit_code: exitCode, signal, bytes, first_event_ms: firstEventMs };
}

export function enforcedRecord(enforced: EnforcedPolicy) {
  const { policy, tier, fs, net, secrets, processes, missing } = enforced;
  return { policy, tier, fs, net, secrets, processes, missing };
}

export function eventRecord(event: Event) {
  const head = {
    type: event.type,
    seq: event.seq,
    ...("n" in event ? { n: event.n } : {}),
    session_id: event.sessionId,
    turn_id: event.turnId,
    at: isoTime(event.at),
  };
  switch (event.type) {
    case "turn.started":
    case "turn.ended":
      return { ...head, turn: turnRecord(event.turn), session: sessionRecord(event.session) };
    case "node.added":
      return { ...head, node: nodeRecord(event.node) };
    case "ask.opened":
    case "ask.closed":
      return { ...head, ask: askRecord(event.ask) };
    case "queue.changed":
      return { ...head, queue: event.queue.map(inputRecord) };
    case "turn.paused":
    case "turn.resumed":
      return head;
    case "session.spawned":
      return { ...head, call: event.call, spawned_session_id: event.session, agent: event.agent, task: event.task };
    case "draft.shown":
      return { ...head, key: event.key, text: event.text };
    case "text.delta":
    case "thinking.delta":
      return { ...head, text: event.text };
    case "call.started":
      return { ...head, call: event.call, name: event.name };
    case "tool.started":
      return { ...head, call: event.call, name: event.name, input: event.input };
    case "tool.output":
      return { ...head, call: event.call, text: event.text };
    case "tool.denied":
      return { ...head, call: event.call, what: event.what, text: event.text };
    case "model.retried":
      return { ...head, attempt: event.attempt, wait_ms: event.waitMs, error: event.error };
    case "warning.raised":
      return { ...head, message: event.message };
  }
}

export function askRecord(ask: Ask) {
  return {
    id: ask.id,
    session_id: ask.session,
    turn_id: ask.turn,
    call: ask.call,
    question: ask.question,
    options: ask.options,
    opened_at: isoTime(ask.openedAt),
    expires_at: ask.expiresAt === null ? null : isoTime(ask.expiresAt),
    closed_at: ask.closedAt === null ? null : isoTime(ask.closedAt),
    outcome: ask.outcome,
    answer: ask.answer,
  };
}

export function inputRecord(input: QueuedInput) {
  return { id: input.id, text: input.text, queued_at: isoTime(input.queuedAt) };
}

export function turnInfoRecord({ session, turn, state, pid }: TurnInfo) {
  return { state, pid, session: sessionRecord(session), turn: turnRecord(turn) };
}

export function detachedRecord(turn: Turn, hub: Health) {
  return { session_id: turn.session, turn_id: turn.id, hub: { pid: hub.pid, version: hub.version } };
}

export type ResultRecord = {
  type: "result";
  status: TurnStatus;
  result: string;
  session_id: string;
  turn_id: string;
  node_id: string | null;
  parent_session_id: string | null;
  agent: string;
  model: string | null;
  usage: ReturnType<typeof usageRecord>;
  cost_usd: number | null;
  steps: number;
  duration_ms: number;
  transcript_path: string | null;
  enforced: ReturnType<typeof enforcedRecord> | null;
  budget?: ReturnType<typeof budgetRecord>;
  error?: TurnError;
};

/** What is left, of what is limited. */
function budgetRecord({ tokens, costUsd, children }: RemainingBudget) {
  return {
    ...(tokens === null ? {} : { tokens_left: tokens }),
    ...(costUsd === null ? {} : { usd_left: costUsd }),
    ...(children === null ? {} : { children_left: children }),
  };
}

/** The result object of a turn; usage and cost include its sub-sessions. A stored turn has no outcome. */
export function resultRecord(turn: Turn, session: Session, outcome: Partial<TurnOutcome>): ResultRecord {
  const spent = addSpent(turn, outcome.below ?? zeroSpent);
  const budget = outcome.left === undefined ? {} : budgetRecord(outcome.left);
  return {
    type: "result",
    status: turn.status ?? "broken",
    result: outcome.answer ?? "",
    session_id: session.id,
    turn_id: turn.id,
    node_id: turn.tip,
    parent_session_id: session.parentSession,
    agent: turn.agent,
    model: turn.model,
    usage: usageRecord(spent.usage),
    cost_usd: spent.costUsd,
    steps: turn.steps,
    duration_ms: (turn.endedAt ?? turn.startedAt) - turn.startedAt,
    transcript_path: session.transcript,
    enforced: turn.enforced === null ? null : enforcedRecord(turn.enforced),
    ...(Object.keys(budget).length === 0 ? {} : { budget }),
    ...(turn.error === null ? {} : { error: turn.error }),
  };
}
