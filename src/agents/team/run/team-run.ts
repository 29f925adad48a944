// A team at work: what every step of it needs. Whatever happens is recorded first, then known, then told on disk.
import type { Slots } from "../../../kit/flow/slots.ts";
import { Fault, messageOf, turnStatuses, type TurnError } from "../../../protocol/api/error.ts";
import type { TransientEventBody } from "../../../protocol/tree/event.ts";
import type { NewNode } from "../../../protocol/tree/node.ts";
import type { TeamRepository, TurnContext, TurnInput, Worktrees } from "../../../protocol/api/ports.ts";
import type { Role } from "../../../protocol/api/role.ts";
import { applyTeamEvent, type Member, type MemberPlan, type TeamEvent, type TeamRecord } from "../../../protocol/team/team.ts";
import type { TurnEnd } from "../../../protocol/tree/turn.ts";
import { roleFromDescription } from "../../../roles/infer-role.ts";
import type { MemoryWatch } from "./memory-watch.ts";
import type { Mail, MailMember } from "../mail/mail.ts";
import { logEvent, writeRoster, type TeamPaths } from "../team-paths.ts";

export type TeamDeps = {
  roles: (project: string) => Promise<readonly Role[]>;
  workspaces: Worktrees;
  /** How this program is started, for its verbs inside the walls. */
  selfCommand: readonly string[];
  /** Where programs are found; members see their team's own first. */
  path: string;
};

export type TeamRun = {
  parts: TeamDeps;
  /** Those of the registry, as they were when the turn began. */
  roles: readonly Role[];
  input: TurnInput;
  context: TurnContext;
  record: TeamRecord;
  paths: TeamPaths;
  mail: Mail;
  repository: TeamRepository;
  add: (node: NewNode) => Promise<unknown>;
  emit: (event: TransientEventBody) => void;
  /** By megabytes; null without a limit. */
  memory: Slots | null;
  health: MemoryWatch;
  /** What stops the whole team: set once, looked at before anything begins. */
  halt: TurnEnd | null;
  /** Aborted with the turn, and when the team itself can't go on. */
  signal: AbortSignal;
  stopAll: () => void;
};

export const cancelledEnd: TurnEnd = { status: "cancelled", error: { kind: "cancelled", message: "the team was stopped" } };

export async function recordTeamEvent(
  run: Pick<TeamRun, "add" | "emit" | "record" | "paths">,
  happened: TeamEvent,
  text: string,
): Promise<void> {
  await run.add({ author: "note", note: { about: "team", happened }, parts: [{ kind: "text", text }] });
  applyTeamEvent(run.record, happened);
  logEvent(run.paths, run.record.id, happened);
  if (onRoster.has(happened.event)) tryWriteRoster(run);
}

/** What changes who is in the team, and how each stands. */
const onRoster: ReadonlySet<TeamEvent["event"]> = new Set(["agent_spawned", "agent_started", "agent_completed", "agent_failed"]);

/** Nothing is decided by it, and it lies where members can write: one that is in its way does not stop the others. */
export function tryWriteRoster({ emit: pass, paths: place, record }: Pick<TeamRun, "emit" | "paths" | "record">): void {
  try {
    writeRoster(place, record);
  } catch (error) {
    pass({ type: "warning.raised", message: `team.json can't be written: ${messageOf(error)}` });
  }
}

/** Why a sub-session could not even begin: a limit that was reached, or what its own kind of failure is. */
export function toTurnError(error: unknown): TurnError {
  const over = (error instanceof Fault ? error.cause : null) as TurnError | null | undefined;
  if (over && turnStatuses.includes(over.kind)) return over;
  const kind = turnStatuses.find((status) => error instanceof Fault && status === error.code) ?? "broken";
  return { kind, message: messageOf(error) };
}

/** As the mail knows it. */
export function toMailMember({ id, plan: { key, role, suffix }, instance, workspace }: Member): MailMember {
  return { id, key, role, suffix, instance, workspace: workspace.directory };
}

/** One that the registry does not know is what its plan says of it. */
export function memberRole(
  { roles }: Pick<TeamRun, "roles">,
  plan: Pick<MemberPlan, "role" | "description" | "timeoutMs" | "maxMemoryMb">,
): Role {
  const role = roles.find(({ name }) => name === plan.role) ?? roleFromDescription(plan.role, plan.description ?? "");
  return { ...role, timeoutMs: plan.timeoutMs ?? role.timeoutMs, maxMemoryMb: plan.maxMemoryMb ?? role.maxMemoryMb };
}

/** The commit that the work of a phase begins from: what the one before left. Null where there is no repository. */
export function phaseBase({ phases, base }: TeamRecord, at: number): string | null {
  return phases.slice(0, at).findLast(({ commit }) => commit !== null)?.commit ?? base;
}

/** Whether what someone in this role does in its workspace is part of the result. */
export function changesProject({ policy, writes }: Role): boolean {
  if (policy === "readonly" || policy === "plan") return false;
  return writes.length === 0 || writes.some((path) => path.startsWith("$SKEIN_WORKSPACE"));
}
