// Sessions and turns: the movable pointers, and the record of who took up a prompt and how it ended.
import type { TurnError, TurnStatus } from "../api/error.ts";
import type { EnforcedPolicy, Policy, ToolLevel } from "../api/policy.ts";
import { shortId } from "./node.ts";
import type { Spent, Usage } from "./usage.ts";

export type Session = {
  id: string;
  name: string | null;
  tree: string;
  /** The node this session points at; null before its first message. */
  tip: string | null;
  agent: string;
  model: string | null;
  /** Where its tools work, and the project that directory belongs to; both absolute. */
  directory: string;
  project: string;
  task: string | null;
  toolLevel: ToolLevel;
  parentSession: string | null;
  forkedFrom: { session: string; node: string } | null;
  transcript: string | null;
  /** The text of the plan that it executes: the end of its system prompt in every turn. */
  plan?: string;
  createdAt: number;
  updatedAt: number;
  archivedAt: number | null;
  /** Only of an imported session. */
  source?: Source;
};

/** The session's name, or its short id if it has none. */
export function sessionLabel({ id, name }: Pick<Session, "id" | "name">): string {
  return name ?? shortId(id);
}

/** A plan as it was when its execution began. The project's own leads back to the session that planned it. */
export type Plan = { file: string; text: string };

/** A plan is part of every request of the session that executes it. */
export const maxPlanBytes = 100_000;

/** Where something imported comes from: provenance, never a session to resume. */
export type Source = {
  /** Whose transcript it was. */
  agent: string;
  nativeId: string;
  /** Null when it was piped in. */
  path: string | null;
  sha256: string;
  /** Where the latest import left the session's tip. */
  tip: string | null;
};

export type Turn = {
  id: string;
  session: string;
  /** The tip before the prompt, and the last node of the turn so far. */
  parent: string | null;
  tip: string | null;
  agent: string;
  model: string | null;
  nativeId: string | null;
  policy: Policy;
  enforced: EnforcedPolicy | null;
  usage: Usage;
  /** Null when some request had no known price. */
  costUsd: number | null;
  steps: number;
  startedAt: number;
  endedAt: number | null;
  status: TurnStatus | null;
  error: TurnError | null;
  /** Only of an imported turn: its native id is provenance and never resumed. */
  source?: Source;
  /** Only of a turn in a role. */
  role?: string;
  /** Only of a turn that another agent's command line took. */
  cli?: CliRecord;
};

/**
 * Where an agent that keeps sessions of its own goes on: in the one that ended at our node, or in a fork of it.
 * After a turn that ended early, what follows the node `since` (null is the beginning) may be missing there.
 */
export type NativeStart = { how: "resume" | "fork"; id: string; unsure?: { since: string | null } };

/** What is known of the program that took a turn. The arguments are without prompt and credentials. */
export type CliRecord = {
  version: string | null;
  argv: string[];
  started: "new" | NativeStart["how"];
  exitCode: number | null;
  signal: string | null;
  bytes: number;
  firstEventMs: number | null;
};

/**
 * How a turn ended, as the agent saw it. Without an `answer` it is the text of the last agent node; `rest` is what
 * was spent and stands on no node.
 */
export type TurnEnd = { status: TurnStatus; error?: TurnError; nativeId?: string; answer?: string; cli?: CliRecord; rest?: Spent };
