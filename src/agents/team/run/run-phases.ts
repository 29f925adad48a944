// Runs the phases of a team to the end. Each is planned only when the one before is over. All state is on the path, so that
// it can continue after any interruption.
import type { TurnStatus } from "../../../protocol/api/error.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { membersOf, failureReason, type Conflict, type MemberRecord, type PhasePlan } from "../../../protocol/team/team.ts";
import type { TurnEnd } from "../../../protocol/tree/turn.ts";
import { takeAddedMembers } from "./added-members.ts";
import { cancelledEnd, recordTeamEvent, type TeamRun } from "./team-run.ts";
import { enrollMembers, runPhase } from "./phase.ts";
import { planNext } from "./planner.ts";

const maxPhases = 50;

export async function runPhases(run: TeamRun): Promise<TurnEnd> {
  const { record } = run;
  for (;;) {
    const openIndex = record.phases.findIndex(({ isOver }) => !isOver);
    const index = openIndex >= 0 ? openIndex : await planPhase(run);
    if (typeof index !== "number") return index;
    const lastFailure = record.end?.event === "session_failed" ? record.end.reason : null;
    const { failed, conflicts, close } = await runPhase(run, index);
    if (run.halt !== null) return endHalted(run, run.halt);
    const waiting = failed.filter(({ ended }) => ended?.status === "needs-input");
    if (waiting.length > 0)
      return endFailed(run, failuresText(waiting), {
        status: "needs-input",
        hint: `skein asks lists the questions; after answering: skein team resume ${shortId(record.id)}`,
      });
    // A planner sees the failure and plans around it. A fixed plan stops here, so that the user decides.
    if (record.wish.phases !== null) {
      if (failed.length > 0) return endFailed(run, [failuresText(failed), ...conflicts.map(conflictText)].join("; "));
      const reason = conflicts.map(conflictText).join("; ");
      // A user who resumes after the same conflicts continues without that work.
      if (conflicts.length > 0 && reason !== lastFailure) return endFailed(run, reason, { hint: conflictHint(run, conflicts) });
    }
    await close();
  }
}

function failuresText(failed: readonly MemberRecord[]): string {
  return failed.map(({ id, ended }) => `${id} failed: ${ended === null ? "it did not start" : failureReason(ended)}`).join("; ");
}

function conflictText({ agent, paths }: Conflict): string {
  return `the work of ${agent} conflicts in ${paths.join(", ")}`;
}

function conflictHint({ record, repository }: TeamRun, conflicts: readonly Conflict[]): string {
  const commits = membersOf(record).flatMap(({ id, ended }) => (conflicts.some(({ agent }) => agent === id) ? (ended?.commit ?? []) : []));
  return `skein team resume ${shortId(record.id)} continues without it; it is kept as ${commits.join(", ")} in ${repository.repository}`;
}

/** Plans and records the next phase. Returns its index, or the end of the team. */
async function planPhase(run: TeamRun): Promise<number | TurnEnd> {
  const { record } = run;
  const index = record.phases.length;
  const added = await takeAddedMembers(run);
  if (added !== null) {
    await recordPhase(run, { plan: added.plan, ahead: record.ahead, reason: "members were added", isAsked: true });
    added.drop();
    return index;
  }
  if (record.wish.phases !== null) {
    const remaining = record.wish.phases.slice(record.phases.filter(({ isAsked }) => !isAsked).length);
    if (remaining.length === 0) return finish(run);
    // Enrolls all members now, so that they can get mail before their phase starts.
    for (const plan of remaining) await recordPhase(run, { plan, ahead: [], reason: "as requested" });
    return index;
  }
  if (index === maxPhases) return endFailed(run, `${maxPhases} phases have run and the planner plans more`);
  const next = await planNext(run);
  if (run.context.signal.aborted) return endHalted(run, cancelledEnd);
  if ("error" in next) return endFailed(run, next.error.message, { status: next.error.kind });
  const [plan, ...ahead] = next.phases;
  if (next.isDone || plan === undefined) return finish(run, next.reason);
  return recordPhase(run, { plan, ahead, reason: next.reason });
}

type PlannedPhase = { plan: PhasePlan; ahead: PhasePlan[]; reason: string; isAsked?: true };

async function recordPhase(run: TeamRun, planned: PlannedPhase): Promise<number> {
  const { plan } = planned;
  const phase = run.record.phases.length;
  const members = plan.members.map(({ key, role, agent }) => `${key} (${role}${agent === null ? "" : `, ${agent}`})`).join(", ");
  await recordTeamEvent(run, { event: "phase_planned", phase, ...planned }, `phase ${phase + 1}, ${plan.name}: ${members}`);
  await enrollMembers(run, phase);
  return phase;
}

async function finish(run: TeamRun, reason = ""): Promise<TurnEnd> {
  const { record } = run;
  const phaseSummaries = record.phases.flatMap(({ summary }) => (summary === null ? [] : [summary])).join("\n\n");
  const summary = [phaseSummaries, reason].filter((text) => text !== "").join("\n\n");
  await recordTeamEvent(run, { event: "session_completed", summary }, "the team has finished");
  const hasWork = record.phases.some(({ commit }) => commit !== null && commit !== record.base);
  const merge = hasWork ? `\n\nIts work is not in the project yet: \`skein team merge ${shortId(record.id)}\` shows and merges it.` : "";
  await run.add({ author: "agent", parts: [{ kind: "text", text: `${summary}${merge}` }] });
  return { status: "ok" };
}

async function endFailed(
  run: TeamRun,
  reason: string,
  { status = "broken", hint }: { status?: TurnStatus; hint?: string } = {},
): Promise<TurnEnd> {
  await recordTeamEvent(run, { event: "session_failed", reason }, `the team has stopped: ${reason}`);
  const defaultHint = `skein team resume ${shortId(run.record.id)} retries the failed members`;
  return { status, error: { kind: status, message: reason, hint: hint ?? defaultHint } };
}

async function endHalted(run: TeamRun, end: TurnEnd): Promise<TurnEnd> {
  const reason = end.error?.message ?? end.status;
  await recordTeamEvent(run, { event: "session_failed", reason }, `the team has stopped: ${reason}`);
  const error = end.error === undefined ? {} : { error: { ...end.error, hint: `skein team resume ${shortId(run.record.id)} continues` } };
  return { ...end, answer: "", ...error };
}
