// One phase: its members get their places, work as soon as those they wait for are done, and what they did is joined.
import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { oneLine } from "../../../kit/text/cut-text.ts";
import { messageOf } from "../../../protocol/api/error.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import type { JoinResult } from "../../../protocol/api/ports.ts";
import {
  membersOf,
  type Conflict,
  type MemberResult,
  type Member,
  type MemberPlan,
  type MemberRecord,
} from "../../../protocol/team/team.ts";
import { cancelledEnd, changesProject, recordTeamEvent, toMailMember, memberRole, phaseBase, type TeamRun } from "./team-run.ts";
import { runMember } from "./member.ts";
import { phaseSummary } from "./phase-summary.ts";

/** How it went. It is over only when it is closed: until then whoever goes on tries again what failed. */
export type PhaseResult = { failed: MemberRecord[]; conflicts: Conflict[]; close: () => Promise<void> };

export async function runPhase(run: TeamRun, at: number): Promise<PhaseResult> {
  const phase = run.record.phases[at]!;
  const from = phaseBase(run.record, at);
  await enrollMembers(run, at);
  await workAll(run, phase.members);
  const failed = phase.members.filter(({ state }) => state !== "completed");
  const { commit, conflicts } = await joinWork(run, phase.members, from, phase.plan.name);
  return { failed, conflicts, close: () => checkpoint(run, at, { from, commit, conflicts }) };
}

/** Its members get their names, so that others can write to them before they begin. */
export async function enrollMembers(run: TeamRun, at: number): Promise<void> {
  const { plan, members } = run.record.phases[at]!;
  for (const wanted of plan.members) if (!members.some((member) => member.plan.key === wanted.key)) await spawn(run, at, wanted);
}

/** Its id says what it is to people; nothing takes it apart. */
async function spawn(run: TeamRun, phase: number, plan: MemberPlan): Promise<void> {
  const { record, input, paths: place } = run;
  const role = memberRole(run, plan);
  const instance = membersOf(record).filter((other) => other.plan.role === plan.role).length + 1;
  const id = ["agent", plan.role, ...(plan.suffix === null ? [] : [plan.suffix]), instance, randomBytes(4).toString("hex")].join("_");
  const wanted = plan.workspace ?? record.wish.workspace;
  const kind = wanted === "worktree" && record.base === null ? "plain" : wanted;
  const member: Member = {
    id,
    plan,
    phase,
    instance,
    session: Bun.randomUUIDv7(),
    agent: plan.agent ?? role.agent,
    model: plan.model ?? role.model,
    workspace: {
      kind,
      directory: kind === "project" ? input.project : join(place.work, id),
      branch: kind === "worktree" ? `skein/${shortId(record.id)}/${id}` : null,
    },
  };
  await recordTeamEvent(run, { event: "agent_spawned", member }, `${id} joins as ${plan.key}: ${oneLine(plan.task, 300)}`);
  run.mail.add(toMailMember(member));
}

/** All at once but for those who wait for others, or for memory. */
async function workAll(run: TeamRun, members: readonly MemberRecord[]): Promise<void> {
  const begun = new Map<string, Promise<void>>();
  const begin = (member: MemberRecord): Promise<void> => {
    const known = begun.get(member.id);
    if (known !== undefined) return known;
    const awaited = members.filter(({ plan }) => member.plan.dependsOn.includes(plan.key));
    const done = work(run, member, awaited, Promise.all(awaited.map(begin)));
    begun.set(member.id, done);
    return done;
  };
  await Promise.all(members.filter(({ state }) => state !== "completed").map(begin));
}

async function work(run: TeamRun, member: MemberRecord, awaited: readonly MemberRecord[], ready: Promise<unknown>): Promise<void> {
  await ready;
  if (member.state === "completed" || run.halt !== null) return;
  const missing = awaited.filter(({ state }) => state !== "completed").map(({ id }) => id);
  if (missing.length > 0) return fail(run, member, `it depends on ${missing.join(", ")}, which did not complete`);
  // It rejects only when the team is stopped.
  const leave = await run.memory?.take(run.signal, memberRole(run, member.plan).maxMemoryMb).catch(() => null);
  try {
    if (run.signal.aborted) run.halt ??= cancelledEnd;
    if (run.halt !== null) return;
    const problem = await openPlace(run, member).then(() => null, messageOf);
    if (problem === null) await runMember(run, member);
    else await fail(run, member, problem);
  } catch (error) {
    // What happens can't be recorded any more: the others must not go on unseen.
    run.halt ??= { status: "broken", error: { kind: "broken", message: messageOf(error) } };
    run.stopAll();
  } finally {
    leave?.();
  }
}

async function openPlace({ parts, repository, record }: TeamRun, { phase, workspace: { kind, directory, branch } }: Member): Promise<void> {
  const from = phaseBase(record, phase);
  if (branch !== null && from !== null) return parts.workspaces.open(repository, { directory, branch, from });
  // With `.skein` in it, it is a project of its own: the one around it can't be written.
  if (kind === "plain") mkdirSync(join(directory, ".skein"), { recursive: true });
}

async function fail(run: TeamRun, member: MemberRecord, error: string): Promise<void> {
  const ended: MemberResult = { status: "broken", error, answer: "", commit: null, unmet: [], costUsd: 0 };
  await recordTeamEvent(
    run,
    { event: "agent_failed", agent: member.id, attempt: 0, restarts: false, ...ended },
    `${member.id} could not begin: ${error}`,
  );
}

/** Whoever only looks, or writes only for the others, has changed nothing that is to stay. */
function isKept(run: TeamRun, { state, plan }: MemberRecord): boolean {
  return state === "completed" && changesProject(memberRole(run, plan));
}

async function joinWork(
  run: TeamRun,
  members: readonly MemberRecord[],
  from: string | null,
  name: string,
): Promise<{ commit: string | null; conflicts: Conflict[] }> {
  const works = members.flatMap((member) => {
    const commit = member.ended?.commit ?? null;
    return commit !== null && isKept(run, member) ? [{ name: member.id, commit }] : [];
  });
  if (from === null || works.length === 0) return { commit: from, conflicts: [] };
  const joined: JoinResult = await run.parts.workspaces.join(
    run.repository,
    from,
    works,
    `${name}: ${oneLine(run.record.wish.objective, 60)}`,
  );
  return { commit: joined.commit, conflicts: joined.conflicts.map(({ name: agent, paths }) => ({ agent, paths })) };
}

type Joining = { from: string | null; commit: string | null; conflicts: Conflict[] };

async function checkpoint(run: TeamRun, at: number, { from, commit, conflicts }: Joining): Promise<void> {
  const { record, repository, parts } = run;
  const { plan, members } = record.phases[at]!;
  const names = new Set(members.map(({ id }) => id));
  const changedBy = async (member: MemberRecord): Promise<string[]> => {
    const { commit: own } = member.ended ?? { commit: null };
    return from === null || own === null ? [] : (await parts.workspaces.changes(repository, from, own)).map(({ path }) => path);
  };
  const told = await Promise.all(
    members.map(async (member) => ({ ...member, changed: await changedBy(member), isKept: isKept(run, member) })),
  );
  const messages = record.messages.filter((message) => names.has(message.from)).length;
  const summary = phaseSummary({ plan, members: told, conflicts, messages });
  await recordTeamEvent(run, { event: "checkpoint", phase: at, name: plan.name, commit, conflicts, summary }, summary);
}
