// The state of a running team, and the only function that records its events. It adds a node, then updates the record, then
// writes the files.
import type { Slots } from "../../../kit/flow/slots.ts";
import { messageOf, type TurnError } from "../../../protocol/api/error.ts";
import type { TransientEventBody } from "../../../protocol/tree/event.ts";
import type { NewNode } from "../../../protocol/tree/node.ts";
import type { TurnContext, TurnInput } from "../../../protocol/api/ports.ts";
import type { WorktreeRepository, Worktrees } from "../../../protocol/worktree/ports.ts";
import { roleModel, type Role } from "../../../protocol/api/role.ts";
import { toAddressable } from "../../../protocol/team/address.ts";
import { applyTeamEvent, type Member, type MemberPlan, type TeamEvent, type TeamRecord } from "../../../protocol/team/team.ts";
import { roleFromDescription } from "../../../roles/infer-role.ts";
import type { MemoryWatch } from "./memory-watch.ts";
import type { Mail, MailMember } from "../mail/mail.ts";
import { logEvent, writeRoster, type TeamPaths } from "../team-paths.ts";

export type TeamDeps = {
  roles: (project: string) => Promise<readonly Role[]>;
  workspaces: Worktrees;
  /** The command that starts skein, for `skein msg` and `skein report` in the sandbox. */
  selfCommand: readonly string[];
  /** PATH of the members, after the team's bin directory. */
  path: string;
};

export type TeamRun = {
  deps: TeamDeps;
  /** The roles of the project when the turn started. */
  roles: readonly Role[];
  input: TurnInput;
  context: TurnContext;
  record: TeamRecord;
  paths: TeamPaths;
  mail: Mail;
  repository: WorktreeRepository;
  add: (node: NewNode) => Promise<unknown>;
  emit: (event: TransientEventBody) => void;
  /** Memory for all members, in slots of one megabyte; null without a limit. */
  memory: Slots | null;
  memoryWatch: MemoryWatch;
  /** The reason to stop the whole team; null while it runs. Set once, and checked before each attempt of a member. */
  halt: TurnError | null;
  /** Aborted when the turn is stopped, and by `stopAll`. */
  signal: AbortSignal;
  /** Stops all running members, because the team itself has failed. */
  stopAll: () => void;
};

type AgentChoice = TurnInput["sessionDefaults"];

export const cancelledError: TurnError = { kind: "cancelled", message: "the team was stopped" };

type Recording = Pick<TeamRun, "add" | "emit" | "record" | "paths">;

export async function recordTeamEvent(run: Recording, event: TeamEvent, text: string): Promise<void> {
  await run.add({ author: "note", note: { about: "team", happened: event }, parts: [{ kind: "text", text }] });
  applyTeamEvent(run.record, event);
  logEvent(run.paths, run.record.id, event);
  if (rosterEvents.has(event.event)) tryWriteRoster(run);
}

/** Events that change the list of members or a member's state. */
const rosterEvents: ReadonlySet<TeamEvent["event"]> = new Set(["agent_spawned", "agent_started", "agent_completed", "agent_failed"]);

/** Only warns if the file can't be written. A member can cause that, and no decision of skein depends on the file. */
export function tryWriteRoster({ emit, paths, record }: Pick<TeamRun, "emit" | "paths" | "record">): void {
  try {
    writeRoster(paths, record);
  } catch (error) {
    emit({ type: "warning.raised", message: `team.json can't be written: ${messageOf(error)}` });
  }
}

export function toMailMember(member: Member): MailMember {
  return { ...toAddressable(member), workspace: member.workspace.directory };
}

/** The role of a member, with the limits of its plan. An unknown role is created from the description in the plan. */
export function memberRole({ roles }: TeamRun, plan: Pick<MemberPlan, "role" | "description" | "timeoutMs" | "maxMemoryMb">): Role {
  const role = roles.find(({ name }) => name === plan.role) ?? roleFromDescription(plan.role, plan.description ?? "");
  return { ...role, timeoutMs: plan.timeoutMs ?? role.timeoutMs, maxMemoryMb: plan.maxMemoryMb ?? role.maxMemoryMb };
}

/** The agent and the model of a member: those of its plan, else of its role, else of the team's session. */
export function memberAgent(run: TeamRun, plan: Pick<MemberPlan, "role" | "description" | "agent" | "model">): AgentChoice {
  const { sessionDefaults } = run.input;
  const role = memberRole(run, plan);
  const agent = plan.agent ?? role.agent ?? sessionDefaults.agent;
  const model = plan.model ?? roleModel(role, plan.agent) ?? (agent === sessionDefaults.agent ? sessionDefaults.model : null);
  return { agent, model };
}

/** The commit that a phase starts from: the result of the last phase that has one. Null without a repository. */
export function phaseBase({ phases, base }: TeamRecord, index: number): string | null {
  return phases.slice(0, index).findLast(({ commit }) => commit !== null)?.commit ?? base;
}

/** True if changes of this role in its workspace are part of the result. */
export function changesProject({ policy, writes }: Role): boolean {
  if (policy === "readonly" || policy === "plan") return false;
  return writes.length === 0 || writes.some((path) => path.startsWith("$SKEIN_WORKSPACE"));
}
