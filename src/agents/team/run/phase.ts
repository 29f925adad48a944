// Runs one phase: creates workspaces, runs each member once its dependencies are done, and combines their work in one commit.
import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { oneLine } from "../../../kit/text/cut-text.ts";
import { messageOf } from "../../../protocol/api/error.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { membersOf } from "../../../protocol/team/team.ts";
import type { Conflict, MemberResult, Member, MemberPlan, MemberRecord, TeamRecord } from "../../../protocol/team/team.ts";
import {
  cancelledError,
  changesProject,
  recordTeamEvent,
  toMailMember,
  memberAgent,
  memberRole,
  phaseBase,
  type TeamRun,
} from "./team-run.ts";
import { runMember } from "./member.ts";
import { phaseSummary } from "./phase-summary.ts";

/** Call `close` to record that the phase is over. Without that, a resumed team retries the failed members. */
export type PhaseResult = { failed: MemberRecord[]; conflicts: Conflict[]; close: () => Promise<void> };

export async function runPhase(run: TeamRun, index: number): Promise<PhaseResult> {
  const phase = run.record.phases[index]!;
  await enrollMembers(run, index);
  await runMembers(run, phase.members);
  const failed = phase.members.filter(({ state }) => state !== "completed");
  const combined = await combineWork(run, phase, phaseBase(run.record, index));
  return { failed, conflicts: combined.conflicts, close: () => recordCheckpoint(run, index, combined) };
}

/** Assigns ids to the members of a phase, so that other members can send them mail before they start. */
export async function enrollMembers(run: TeamRun, index: number): Promise<void> {
  const { plan, members } = run.record.phases[index]!;
  for (const memberPlan of plan.members)
    if (!members.some((member) => member.plan.key === memberPlan.key)) await enrollMember(run, index, memberPlan);
}

/** The id is readable for users; no code parses it. */
async function enrollMember(run: TeamRun, phase: number, plan: MemberPlan): Promise<void> {
  const { record, input, paths } = run;
  const instance = membersOf(record).filter((other) => other.plan.role === plan.role).length + 1;
  const id = ["agent", plan.role, ...(plan.suffix === null ? [] : [plan.suffix]), instance, randomBytes(4).toString("hex")].join("_");
  const requestedKind = plan.workspace ?? record.wish.workspace;
  const kind = requestedKind === "worktree" && record.base === null ? "plain" : requestedKind;
  const member: Member = {
    id,
    plan,
    phase,
    instance,
    session: Bun.randomUUIDv7(),
    ...memberAgent(run, plan),
    workspace: {
      kind,
      directory: kind === "project" ? input.project : join(paths.work, id),
      branch: kind === "worktree" ? `skein/${shortId(record.id)}/${id}` : null,
    },
  };
  await recordTeamEvent(run, { event: "agent_spawned", member }, `${id} joins as ${plan.key}: ${oneLine(plan.task, 300)}`);
  run.mail.add(toMailMember(member));
}

/** Runs all members in parallel, except those that wait for dependencies or for memory. */
async function runMembers(run: TeamRun, members: readonly MemberRecord[]): Promise<void> {
  const runs = new Map<string, Promise<void>>();
  const start = (member: MemberRecord): Promise<void> => {
    const existing = runs.get(member.id);
    if (existing !== undefined) return existing;
    const dependencies = members.filter(({ plan }) => member.plan.dependsOn.includes(plan.key));
    const memberRun = Promise.all(dependencies.map(start)).then(() => runAfter(run, member, dependencies));
    runs.set(member.id, memberRun);
    return memberRun;
  };
  await Promise.all(members.filter(({ state }) => state !== "completed").map(start));
}

async function runAfter(run: TeamRun, member: MemberRecord, dependencies: readonly MemberRecord[]): Promise<void> {
  if (member.state === "completed" || run.halt !== null) return;
  const missing = dependencies.filter(({ state }) => state !== "completed").map(({ id }) => id);
  if (missing.length > 0) return recordFailure(run, member, `it depends on ${missing.join(", ")}, which did not complete`);
  // Rejects only when the team is stopped.
  const releaseMemory = await run.memory?.take(run.signal, memberRole(run, member.plan).maxMemoryMb).catch(() => null);
  try {
    if (run.signal.aborted) run.halt ??= cancelledError;
    if (run.halt !== null) return;
    const problem = await openWorkspace(run, member).then(() => null, messageOf);
    if (problem === null) await runMember(run, member);
    else await recordFailure(run, member, problem);
  } catch (error) {
    // Events can no longer be recorded, so the other members must stop too.
    run.halt ??= { kind: "broken", message: messageOf(error) };
    run.stopAll();
  } finally {
    releaseMemory?.();
  }
}

async function openWorkspace({ deps, repository, record }: TeamRun, { phase, workspace }: Member): Promise<void> {
  const { kind, directory, branch } = workspace;
  const from = phaseBase(record, phase);
  if (branch !== null && from !== null) return deps.workspaces.open(repository, { directory, branch, from });
  // A `.skein` directory makes the workspace a project of its own, so that the member can't write to the enclosing project.
  if (kind === "plain") mkdirSync(join(directory, ".skein"), { recursive: true });
}

async function recordFailure(run: TeamRun, member: MemberRecord, error: string): Promise<void> {
  const ended: MemberResult = { status: "broken", error, answer: "", commit: null, unmet: [], costUsd: 0 };
  const failed = { event: "agent_failed", agent: member.id, attempt: 0, restarts: false, ...ended } as const;
  await recordTeamEvent(run, failed, `${member.id} could not start: ${error}`);
}

/** Changes of members that only read, or write only to the shared directory, are not part of the result. */
function isInResult(run: TeamRun, { state, plan }: MemberRecord): boolean {
  return state === "completed" && changesProject(memberRole(run, plan));
}

type CombinedWork = { commit: string | null; conflicts: Conflict[] };

async function combineWork(run: TeamRun, { plan, members }: TeamRecord["phases"][number], from: string | null): Promise<CombinedWork> {
  const works = members.flatMap((member) => {
    const commit = member.ended?.commit ?? null;
    return commit !== null && isInResult(run, member) ? [{ name: member.id, commit }] : [];
  });
  if (from === null || works.length === 0) return { commit: from, conflicts: [] };
  const message = `${plan.name}: ${oneLine(run.record.wish.objective, 60)}`;
  const { commit, conflicts } = await run.deps.workspaces.combine(run.repository, from, works, message);
  return { commit, conflicts: conflicts.map(({ name: agent, paths }) => ({ agent, paths })) };
}

async function recordCheckpoint(run: TeamRun, index: number, { commit, conflicts }: CombinedWork): Promise<void> {
  const { record, repository, deps } = run;
  const { plan, members } = record.phases[index]!;
  const from = phaseBase(record, index);
  const outcomes = members.map(async (member) => {
    const memberCommit = member.ended?.commit ?? null;
    const changes = from === null || memberCommit === null ? [] : await deps.workspaces.changes(repository, from, memberCommit);
    return { ...member, changedPaths: changes.map(({ path }) => path), isInResult: isInResult(run, member) };
  });
  const messageCount = record.messages.filter(({ from: sender }) => members.some(({ id }) => id === sender)).length;
  const summary = phaseSummary({ plan, members: await Promise.all(outcomes), conflicts, messageCount });
  await recordTeamEvent(run, { event: "checkpoint", phase: index, name: plan.name, commit, conflicts, summary }, summary);
}
