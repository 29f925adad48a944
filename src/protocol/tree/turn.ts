// Sessions and turns. A session is a movable pointer into a tree; a turn is the record of one prompt.
import type { TurnError, TurnStatus } from "../api/error.ts";
import type { CliRecord, Session } from "../schema/tree.ts";
import { shortId } from "./node.ts";
import type { Spent } from "./usage.ts";

export type { Plan } from "../schema/results.ts";
export type { CheckOutcome, CliRecord, Session, Source, Turn, TurnCheck, TurnLoop, UndoneTurn } from "../schema/tree.ts";

/** The session's name, or its short id if it has none. */
export function sessionLabel({ id, name }: Pick<Session, "id" | "name">): string {
  return name ?? shortId(id);
}

/** The project that a session is for: of a session in a worktree, the project that its work is merged into. */
export function homeProject({ project, worktree }: Pick<Session, "project" | "worktree">): string {
  return worktree?.project ?? project;
}

/** The identifier of a session in answers to other programs: its name, or its full id. A caller can pass it back. */
export function sessionIdentifier({ id, name }: Pick<Session, "id" | "name">): string {
  return name ?? id;
}

/** A plan is part of every request of the session that executes it. */
export const maxPlanBytes = 100_000;

/**
 * How an external agent continues its own session: the one that ended at our node, or a fork of it.
 * After a turn that ended early, that session may lack our nodes after `nodesAfter` (null: all of them). `unanswered` is the
 * prompt of that turn if no answer to it was recorded, for example because the vendor refused the first request.
 */
export type CliSessionStart = { how: "resume" | "fork"; id: string; mayLack?: { nodesAfter: string | null; unanswered?: string } };

/**
 * The end of a turn, as the agent reports it. The default `answer` is the text of the last agent node. `spentOutsideNodes`
 * is usage that belongs to no node.
 */
export type TurnEnd = {
  status: TurnStatus;
  error?: TurnError;
  nativeId?: string;
  answer?: string;
  cli?: CliRecord;
  /** The model that answered, of an agent that chose it itself. */
  model?: string;
  spentOutsideNodes?: Spent;
};
