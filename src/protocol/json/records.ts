// Objects as the command line prints them. docs/JSON.md lists them, and tests check every printed one against its schema.
import type { Ask, Health, PendingTurn, TurnInfo } from "../api/control.ts";
import { promptTokens, type Role } from "../api/role.ts";
import type {
  AskJson,
  CostJson,
  EventJson,
  NodeJson,
  TurnResult,
  ResultRecord,
  RoleJson,
  SessionJson,
  TurnInfoJson,
  TurnJson,
} from "../schema/printed.ts";
import type { InterruptedTurn } from "../schema/results.ts";
import type { Event, TurnOutcome } from "../tree/event.ts";
import type { Node } from "../tree/node.ts";
import type { Session, Turn } from "../tree/turn.ts";
import { toCost, withSubSessions, type Cost } from "../tree/usage.ts";
import { toPrintedJson } from "./json-case.ts";

export type { CostJson, ResultRecord };

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

export const nodeRecord = (node: Node) => toPrintedJson(node) as NodeJson;
export const sessionRecord = (session: Session) => toPrintedJson(session) as SessionJson;
export const turnRecord = (turn: Turn) => toPrintedJson(turn) as TurnJson;
export const interruptedRecord = (turn: InterruptedTurn) => toPrintedJson(turn);
export const askRecord = (ask: Ask) => toPrintedJson(ask) as AskJson;
export const eventRecord = (event: Event) => toPrintedJson(event) as EventJson;
export const turnInfoRecord = (info: TurnInfo) => toPrintedJson(info) as TurnInfoJson;
export const roleRecord = (role: Role) => toPrintedJson({ ...role, promptTokens: promptTokens(role) }) as RoleJson;

export const costRecord = (cost: Cost) => toPrintedJson(toCost(cost)) as CostJson;

export function detachedRecord(turn: Turn, { pid, version }: Health) {
  return { session_id: turn.session, turn_id: turn.id, hub: { pid, version } };
}

export function queuedRecord({ session, id, place }: PendingTurn, { pid, version }: Health) {
  return { session_id: session, turn_id: id, place, hub: { pid, version } };
}

/** The result of a turn. Usage and cost include its sub-sessions. A stored turn has no outcome. */
export function resultRecord(turn: Turn, session: Session, { answer, left }: Partial<TurnOutcome>): ResultRecord {
  const budget = {
    ...(left === undefined || left.tokens === null ? {} : { tokensLeft: left.tokens }),
    ...(left === undefined || left.costUsd === null ? {} : { usdLeft: left.costUsd }),
    ...(left === undefined || left.children === null ? {} : { childrenLeft: left.children }),
  };
  const result: TurnResult = {
    type: "result",
    status: turn.status ?? "broken",
    result: answer ?? "",
    sessionId: session.id,
    turnId: turn.id,
    nodeId: turn.tip,
    parentSessionId: session.parentSession,
    agent: turn.agent,
    model: turn.model,
    ...withSubSessions(turn),
    steps: turn.steps,
    durationMs: (turn.endedAt ?? turn.startedAt) - turn.startedAt,
    transcriptPath: session.transcript,
    enforced: turn.enforced,
    ...(Object.keys(budget).length === 0 ? {} : { budget }),
    ...(turn.checked === undefined ? {} : { checked: turn.checked }),
    ...(turn.error === null ? {} : { error: turn.error }),
  };
  return toPrintedJson(result) as ResultRecord;
}
