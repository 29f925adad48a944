// Sessions and turns: the movable pointers, and the record of who took up a prompt and how it ended.
import type { TurnError, TurnStatus } from "../api/error.ts";
import type { CliRecord, Session } from "../schema/tree.ts";
import { shortId } from "./node.ts";
import type { Spent } from "./usage.ts";

export type { Plan } from "../schema/results.ts";
export type { CliRecord, Session, Source, Turn } from "../schema/tree.ts";

/** The session's name, or its short id if it has none. */
export function sessionLabel({ id, name }: Pick<Session, "id" | "name">): string {
  return name ?? shortId(id);
}

/** A plan is part of every request of the session that executes it. */
export const maxPlanBytes = 100_000;

/**
 * Where an agent that keeps sessions of its own goes on: in the one that ended at our node, or in a fork of it.
 * After a turn that ended early, what follows the node `since` (null is the beginning) may be missing there.
 */
export type NativeStart = { how: "resume" | "fork"; id: string; unsure?: { since: string | null } };

/**
 * How a turn ended, as the agent saw it. Without an `answer` it is the text of the last agent node; `rest` is what
 * was spent and stands on no node.
 */
export type TurnEnd = { status: TurnStatus; error?: TurnError; nativeId?: string; answer?: string; cli?: CliRecord; rest?: Spent };
