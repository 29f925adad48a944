// Teams as they are shown: in a row, in full, and what bringing one's work in would change. Pure readings of what is stored.
import type { TurnInfo, TurnState } from "../api/control.ts";
import type { TurnError, TurnStatus } from "../api/error.ts";
import type { FileChange } from "../tree/file-changes.ts";
import type { MessageKind, Priority } from "./mail.ts";
import {
  membersOf,
  failureReason,
  joinedCommit,
  type MemberPlan,
  type MemberRecord,
  type Strategy,
  type TeamRecord,
  type TeamState,
} from "./team.ts";
import type { Session } from "../tree/turn.ts";
import type { Spent } from "../tree/usage.ts";

/** The rows of the Api. Teams are turns of the agent `team`: these look at one, and say something to it. */
export type TeamApi = {
  /** The latest first; null is all projects. */
  list: (params: { project: string | null; limit: number }) => Promise<TeamInfo[]>;
  show: (params: { session: string }) => Promise<TeamView>;
  /** What bringing its work into the project would change now. */
  diff: (params: { session: string }) => Promise<TeamDiff>;
  /** From the person to members; taken up at once while it is at work, else when it goes on. */
  message: (params: TeamMessageParams) => Promise<TeamMessageResult>;
  /** One more member, in a phase of its own after those that are planned; what rests takes it up when it is resumed. */
  add: (params: TeamAddParams) => Promise<TeamAddResult>;
  /** Takes directories away with all that is in them; conversations stay. */
  clean: (params: TeamCleanParams) => Promise<TeamCleanResult>;
};

/** Whether its work is in the project: there is none, it is not, it is. */
export type MergeState = "nothing" | "open" | "done";

export type TeamInfo = {
  session: Session;
  state: TeamState;
  objective: string;
  strategy: Strategy;
  phases: number;
  members: { total: number; running: number; completed: number; failed: number };
  messages: number;
  spent: Spent;
  /** When its latest turn began and ended. */
  startedAt: number;
  endedAt: number | null;
  merge: MergeState;
  /** False when its directory was cleaned away: it can't go on, and its work can't be brought in. */
  isKept: boolean;
};

export type TeamView = {
  session: Session;
  state: TeamState;
  team: TeamRecord;
  /** Its latest turn, which may have been one that only brought work in. */
  run: {
    state: TurnState;
    pid: number | null;
    startedAt: number;
    endedAt: number | null;
    status: TurnStatus | null;
    error: TurnError | null;
  };
  /** Of all its turns, and of every sub-session. */
  spent: Spent;
  /** What each member used, with all below it. */
  members: MemberStats[];
  merge: MergeState;
  isKept: boolean;
};

/** Times are of its own session: null before it begins, and while it has not ended. */
export type MemberStats = {
  id: string;
  spent: Spent;
  steps: number;
  startedAt: number | null;
  endedAt: number | null;
  asks: { id: string; question: string }[];
};

/** What bringing it into the project would change now; with conflicts nothing can be brought in. */
export type TeamDiff = { session: string; base: string; work: string; conflicts: string[]; changes: FileChange[]; patch: string };

export type TeamMessageParams = {
  session: string;
  to: string[];
  kind: MessageKind;
  priority: Priority;
  subject: string;
  body: string;
  replyTo: string | null;
  requiresResponse: boolean;
};

/** `when`: the team takes it up now, or once it is resumed. */
export type TeamMessageResult = { id: string; reaches: string[]; misses: { to: string; reason: string }[]; when: "now" | "resumed" };

export type TeamAddParams = { session: string; member: MemberPlan };

/** `when`: after the phases that are planned already, or once it is resumed. */
export type TeamAddResult = { key: string; when: "next" | "resumed" };

export type TeamCleanParams = { session: string | null; project: string | null; olderThanMs: number; dryRun: boolean; force: boolean };

export type TeamCleanResult = {
  dryRun: boolean;
  /** `isPurged`: its session is gone, and its id may be only the end of one. */
  teams: { id: string; name: string | null; directory: string; isPurged: boolean }[];
  skipped: { id: string; name: string | null; reason: string }[];
  problems: string[];
};

/** What it is at now. `row` is its latest turn. */
export function teamState(team: TeamRecord, row: Pick<TurnInfo, "state">): TeamState {
  if (team.end?.event === "session_completed") return "completed";
  if (row.state === "paused") return "paused";
  if (row.state === "ended") return team.end === null ? "interrupted" : "failed";
  if (row.state === "interrupted") return "interrupted";
  return team.phases.some(({ isOver }) => !isOver) ? "running" : "planning";
}

export function isActive(state: TurnState): boolean {
  return state === "running" || state === "paused" || state === "asking";
}

export function mergeState(team: TeamRecord): MergeState {
  const work = joinedCommit(team);
  if (work === null || work === team.base) return "nothing";
  return team.merged === work ? "done" : "open";
}

/** What would be lost with its directory, in words; null when nothing would. */
export function unmergedWork(team: TeamRecord): string | null {
  if (mergeState(team) === "open") return "its work is not in the project yet";
  const open = team.phases.flatMap(({ isOver, members }) => (isOver ? [] : members));
  const isKept = open.some(({ workspace, attempts, state, ended }) => {
    const mayHold = state === "running" || ended === null || ended.commit !== null;
    return workspace.branch !== null && attempts > 0 && mayHold;
  });
  return isKept ? "it stopped before its work was joined" : null;
}

export function countMembers(team: TeamRecord): TeamInfo["members"] {
  const all = membersOf(team);
  const count = (state: MemberRecord["state"]) => all.filter((member) => member.state === state).length;
  return { total: all.length, running: count("running"), completed: count("completed"), failed: count("failed") };
}

/** In a line: what it said last of itself, or how it ended. */
export function lastStatusLine(member: Pick<MemberRecord, "plan" | "state" | "attempts" | "ended" | "reports">): string {
  const { plan, state, attempts, ended, reports } = member;
  if (state === "waiting" && attempts > 0 && ended === null) return "was interrupted";
  if (state === "waiting" && ended === null) return plan.dependsOn.length === 0 ? "" : `waits for ${plan.dependsOn.join(", ")}`;
  if (state === "failed" || (state === "waiting" && ended !== null)) {
    return ended === null ? "" : failureReason(ended);
  }
  const last = reports.at(-1)?.report;
  if (state === "completed" && last?.type !== "complete") return ended?.answer ?? "";
  if (last === undefined) return "";
  if (last.type === "status") return `${last.progress === null ? "" : `${Math.round(last.progress * 100)} % `}${last.message}`;
  return last.type === "dependency" ? `waits for ${last.waitingFor}: ${last.reason}` : `${last.result}: ${last.summary}`;
}
