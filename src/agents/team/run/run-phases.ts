// Runs the phases of a team to the end. A planner plans a phase only when the phase before is over. All state is in nodes of the
// path, so that the team can continue after any interruption.
import type { TurnError } from "../../../protocol/api/error.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { membersOf, failureReason, type Conflict, type MemberRecord, type PhasePlan } from "../../../protocol/team/team.ts";
import type { TurnEnd } from "../../../protocol/tree/turn.ts";
import { takeAddedMembers } from "./added-members.ts";
import { cancelledError, recordTeamEvent, type TeamRun } from "./team-run.ts";
import { enrollMembers, runPhase } from "./phase.ts";
import { planNext, type SimplePlan } from "./planner.ts";

const maxPhases = 50;

export async function runPhases(run: TeamRun): Promise<TurnEnd> {
  const { record } = run;
  for (;;) {
    const openIndex = record.phases.findIndex(({ isOver }) => !isOver);
    const index = openIndex >= 0 ? openIndex : await planPhase(run);
    if (typeof index !== "number") return index;
    const lastFailure = record.end?.event === "session_failed" ? record.end.reason : null;
    const { failed, conflicts, close } = await runPhase(run, index);
    if (run.halt !== null) return endFailed(run, run.halt, `${resumeCommand(run)} continues`);
    const waiting = failed.filter(({ ended }) => ended?.status === "needs-input");
    if (waiting.length > 0) {
      const error = { kind: "needs-input", message: waiting.map(failureText).join("; ") } as const;
      return endFailed(run, error, `skein asks lists the questions; after answering: ${resumeCommand(run)}`);
    }
    // A planner sees the failure and plans around it. A fixed plan stops here, so that the user decides.
    if (record.wish.phases !== null) {
      const message = [...failed.map(failureText), ...conflicts.map(conflictText)].join("; ");
      if (failed.length > 0) return endFailed(run, { kind: "broken", message });
      // A user who resumes after the same conflicts continues without that work.
      if (conflicts.length > 0 && message !== lastFailure) return endFailed(run, { kind: "broken", message }, conflictHint(run, conflicts));
    }
    await close();
  }
}

function failureText({ id, ended }: MemberRecord): string {
  return `${id} failed: ${ended === null ? "it did not start" : failureReason(ended)}`;
}

function conflictText({ agent, paths }: Conflict): string {
  return `the work of ${agent} conflicts in ${paths.join(", ")}`;
}

function conflictHint(run: TeamRun, conflicts: readonly Conflict[]): string {
  const members = membersOf(run.record).filter(({ id }) => conflicts.some(({ agent }) => agent === id));
  const commits = members.flatMap(({ ended }) => ended?.commit ?? []);
  return `${resumeCommand(run)} continues without this work; it is stored as ${commits.join(", ")} in ${run.repository.gitDir}`;
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
  if (index === maxPhases) return endFailed(run, { kind: "broken", message: `${maxPhases} phases have run and the planner plans more` });
  const next = await planNext(run);
  if (run.context.signal.aborted) return endFailed(run, cancelledError, `${resumeCommand(run)} continues`);
  if ("error" in next) return endFailed(run, next.error);
  if ("simplePlan" in next) return replacePlan(run, next);
  const [plan, ...ahead] = next.phases;
  if (next.isDone || plan === undefined) return finish(run, next.reason);
  return recordPhase(run, { plan, ahead, reason: next.reason });
}

async function replacePlan(run: TeamRun, { simplePlan: phases, problems }: SimplePlan): Promise<number | TurnEnd> {
  const names = phases.map(({ name }) => name).join(", ");
  const reason = `the planner's plan can't be used (${problems.join("; ")}), so the team works by a simple plan: ${names}`;
  await recordTeamEvent(run, { event: "plan_replaced", phases, reason }, reason);
  run.emit({ type: "warning.raised", message: reason });
  return planPhase(run);
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
  const phaseSummaries = record.phases.flatMap(({ summary }) => summary ?? []).join("\n\n");
  const summary = [phaseSummaries, reason].filter((text) => text !== "").join("\n\n");
  await recordTeamEvent(run, { event: "session_completed", summary }, "the team has finished");
  const hasWork = record.phases.some(({ commit }) => commit !== null && commit !== record.base);
  const merge = hasWork ? `\n\nIts work is not in the project yet: \`skein team merge ${shortId(record.id)}\` shows and merges it.` : "";
  await run.add({ author: "agent", parts: [{ kind: "text", text: `${summary}${merge}` }] });
  return { status: "ok" };
}

/** `hint` replaces the hint of the error, which is about a turn without a team. */
async function endFailed(run: TeamRun, error: TurnError, hint = `${resumeCommand(run)} retries the failed members`): Promise<TurnEnd> {
  const { kind, message } = error;
  await recordTeamEvent(run, { event: "session_failed", reason: message }, `the team has stopped: ${message}`);
  return { status: kind, answer: "", error: { ...error, hint } };
}

function resumeCommand({ record }: TeamRun): string {
  return `skein team resume ${shortId(record.id)}`;
}
