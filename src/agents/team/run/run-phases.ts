// A team's work from where it stands to its end: phase by phase, each planned only when the one before is over. All it
// knows is on the path, so it goes on from any point at which it was interrupted.
import type { TurnStatus } from "../../../protocol/api/error.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { membersOf, failureReason, type Conflict, type MemberRecord, type PhasePlan } from "../../../protocol/team/team.ts";
import type { TurnEnd } from "../../../protocol/tree/turn.ts";
import { takeAddedMembers } from "./added-members.ts";
import { cancelledEnd, recordTeamEvent, type TeamRun } from "./team-run.ts";
import { enrollMembers, runPhase } from "./phase.ts";
import { planNext } from "./planner.ts";

const mostPhases = 50;

export async function runPhases(run: TeamRun): Promise<TurnEnd> {
  const { record } = run;
  for (;;) {
    const open = record.phases.findIndex(({ isOver }) => !isOver);
    const at = open >= 0 ? open : await begin(run);
    if (typeof at !== "number") return at;
    const told = record.end?.event === "session_failed" ? record.end.reason : null;
    const { failed, conflicts, close } = await runPhase(run, at);
    if (run.halt !== null) return stop(run, run.halt);
    const asking = failed.filter(({ ended }) => ended?.status === "needs-input");
    if (asking.length > 0)
      return giveUp(
        run,
        failuresIn(asking),
        "needs-input",
        `skein asks shows what is asked; after the answers: skein team resume ${shortId(record.id)}`,
      );
    // A planner sees what went wrong and plans around it; without one there is nobody to decide.
    if (record.wish.phases !== null) {
      if (failed.length > 0) return giveUp(run, [failuresIn(failed), ...conflicts.map(conflictText)].join("; "));
      const reason = conflicts.map(conflictText).join("; ");
      // Who was told of it and has it go on goes on without that work.
      if (conflicts.length > 0 && reason !== told) return giveUp(run, reason, "broken", keptText(run, conflicts));
    }
    await close();
  }
}

function failuresIn(failed: readonly MemberRecord[]): string {
  return failed.map(({ id, ended }) => `${id} failed: ${ended === null ? "it did not begin" : failureReason(ended)}`).join("; ");
}

function conflictText({ agent, paths }: Conflict): string {
  return `the work of ${agent} conflicts in ${paths.join(", ")}`;
}

function keptText({ record, repository }: TeamRun, conflicts: readonly Conflict[]): string {
  const commits = membersOf(record).flatMap(({ id, ended }) => (conflicts.some(({ agent }) => agent === id) ? (ended?.commit ?? []) : []));
  return `skein team resume ${shortId(record.id)} goes on without it; it is kept as ${commits.join(", ")} in ${repository.repository}`;
}

/** The next phase is planned and recorded; its number, or how the team ends. */
async function begin(run: TeamRun): Promise<number | TurnEnd> {
  const { record } = run;
  const at = record.phases.length;
  const asked = takeAddedMembers(run);
  if (asked !== null) {
    await planned(run, asked.plan, record.ahead, "someone asked for it", { isAsked: true });
    asked.drop();
    return at;
  }
  if (record.wish.phases !== null) {
    const rest = record.wish.phases.slice(record.phases.filter(({ isAsked }) => !isAsked).length);
    if (rest.length === 0) return finish(run);
    // All of them are known, and may be written to, from the beginning.
    for (const plan of rest) await planned(run, plan, [], "as it was asked for");
    return at;
  }
  if (at === mostPhases) return giveUp(run, `${mostPhases} phases, and the planner sees no end`);
  const next = await planNext(run);
  if (run.context.signal.aborted) return stop(run, cancelledEnd);
  if ("error" in next) return giveUp(run, next.error.message, next.error.kind);
  const [plan, ...ahead] = next.phases;
  if (next.isDone || plan === undefined) return finish(run, next.reason);
  return planned(run, plan, ahead, next.reason);
}

async function planned(run: TeamRun, plan: PhasePlan, ahead: PhasePlan[], reason: string, by: { isAsked?: true } = {}): Promise<number> {
  const phase = run.record.phases.length;
  const who = plan.members.map(({ key, role, agent }) => `${key} (${role}${agent === null ? "" : `, ${agent}`})`).join(", ");
  await recordTeamEvent(run, { event: "phase_planned", phase, plan, ahead, reason, ...by }, `phase ${phase + 1}, ${plan.name}: ${who}`);
  await enrollMembers(run, phase);
  return phase;
}

async function finish(run: TeamRun, reason = ""): Promise<TurnEnd> {
  const { record } = run;
  const done = record.phases.flatMap(({ summary }) => (summary === null ? [] : [summary])).join("\n\n");
  const summary = [done, reason].filter((text) => text !== "").join("\n\n");
  await recordTeamEvent(run, { event: "session_completed", summary }, "the team has finished");
  const hasWork = record.phases.some(({ commit }) => commit !== null && commit !== record.base);
  const merge = hasWork
    ? `\n\nIts work is not in the project yet: \`skein team merge ${shortId(record.id)}\` shows it and brings it there.`
    : "";
  await run.add({ author: "agent", parts: [{ kind: "text", text: `${summary}${merge}` }] });
  return { status: "ok" };
}

async function giveUp(
  run: TeamRun,
  reason: string,
  status: TurnStatus = "broken",
  hint = `skein team resume ${shortId(run.record.id)} tries again what failed`,
): Promise<TurnEnd> {
  await recordTeamEvent(run, { event: "session_failed", reason }, `the team has stopped: ${reason}`);
  return {
    status,
    error: { kind: status, message: reason, hint },
  };
}

async function stop(run: TeamRun, end: TurnEnd): Promise<TurnEnd> {
  const reason = end.error?.message ?? end.status;
  await recordTeamEvent(run, { event: "session_failed", reason }, `the team has stopped: ${reason}`);
  const error = end.error === undefined ? {} : { error: { ...end.error, hint: resumeHint(run) } };
  return { ...end, answer: "", ...error };
}

function resumeHint({ record }: TeamRun): string {
  return `skein team resume ${shortId(record.id)} goes on`;
}
