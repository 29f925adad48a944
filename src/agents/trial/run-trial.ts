// The contract that another agent's command line must keep, tried offline with the real program on the real road:
// what counts is what reached the model, what is on disk and who is alive afterwards, never an exit code alone.
import type { Slots } from "../../kit/flow/slots.ts";
import { trialCheckNames, type TrialCheck, type TrialCheckName } from "../../protocol/api/agents.ts";
import { checkBranch, checkFailure, checkFork, checkKill, checkModel, checkResume, checkTools, type TrialEvidence } from "./checks.ts";
import { openTrialSession, type TrialSite, takeTrialTurn, type TrialAgent } from "./trial-site.ts";
import type { ScriptSource } from "../../scripted-model/model-server.ts";
import type { ServerFault } from "../../scripted-model/script.ts";
import { stopDuringCall } from "./stop-call.ts";
import { createMarkers, trialPrompts, trialScript, type TrialMarkers } from "./markers.ts";

export type TrialOptions = TrialAgent & {
  /** What its adapter says; nothing is tried that it does not claim. */
  canFork: boolean;
  openSeat: (script: ScriptSource, options: { marker: string; fault: ServerFault | null }) => Promise<TrialSite>;
  /** Bounds how many programs run at once. */
  slots: Slots;
  signal: AbortSignal;
  onCheck: (name: TrialCheckName) => void;
};

/** One row for each name; after a first turn that failed nothing else is tried. */
export async function runTrial(trial: TrialOptions): Promise<TrialCheck[]> {
  const words = createMarkers();
  const found = await withSite(trial, words, null, async (seat) => {
    const first = await firstTurn(trial, seat, words);
    if (first.checks.some(({ outcome }) => outcome !== "ok")) return first.checks;
    const others = [afterwards(trial, seat, words, first), failing(trial, "bad-key"), failing(trial, "rate-limit"), stopping(trial)];
    // Each cleans up behind itself, also when another one can't go on.
    await Promise.allSettled(others);
    return [...first.checks, ...(await Promise.all(others)).flat()];
  });
  return trialCheckNames.map(
    (name) => found.find((check) => check.name === name) ?? { name, outcome: "untried", detail: null, durationMs: 0 },
  );
}

type First = { checks: TrialCheck[]; session: string; node: string | null; nativeId: string | null };

async function firstTurn(trial: TrialOptions, site: TrialSite, markers: TrialMarkers): Promise<First> {
  const session = await openTrialSession(site, trial);
  const taken = await take(trial, site, "tools", session.id, trialPrompts.first(markers));
  const tools = outcomeOf("tools", checkTools(taken, markers), taken.durationMs);
  const model = tools.outcome === "ok" ? [outcomeOf("model", checkModel(taken, trial.model), 0)] : [];
  const { nodes, nativeId } = taken.ended;
  return { checks: [tools, ...model], session: session.id, node: nodes.at(-1)?.id ?? null, nativeId };
}

/** The fork comes first and speaks last: neither side may be told what was said on the other. */
async function afterwards(trial: TrialOptions, site: TrialSite, markers: TrialMarkers, first: First): Promise<TrialCheck[]> {
  const branch = trial.canFork ? await site.api.session.fork({ session: first.session, at: first.node, name: null }) : null;
  const forked = branch === null ? null : await take(trial, site, "fork", branch.id, trialPrompts.fork(markers));
  const trunk = await take(trial, site, "resume", first.session, trialPrompts.trunk(markers));
  const resume = outcomeOf("resume", checkResume(trunk, markers), trunk.durationMs);
  if (branch === null || forked === null) return [resume, { name: "fork", outcome: "none", detail: null, durationMs: 0 }];
  const problem = checkFork(forked, markers, first.nativeId);
  if (problem !== null) return [resume, outcomeOf("fork", problem, forked.durationMs)];
  const again = await take(trial, site, "fork", branch.id, trialPrompts.again(markers));
  return [resume, outcomeOf("fork", checkBranch(again, markers), forked.durationMs + again.durationMs)];
}

const failures = {
  "bad-key": { fault: { type: "status", status: 401, message: "invalid x-api-key" }, status: "auth" },
  "rate-limit": { fault: { type: "status", status: 429, retryAfter: "1", message: "Too many requests" }, status: "rate-limited" },
} as const;

function failing(trial: TrialOptions, name: keyof typeof failures): Promise<TrialCheck[]> {
  const words = createMarkers();
  const { fault, status } = failures[name];
  return withSite(trial, words, fault, async (seat) => {
    const session = await openTrialSession(seat, trial);
    const taken = await take(trial, seat, name, session.id, trialPrompts.first(words));
    return [outcomeOf(name, checkFailure(taken, status), taken.durationMs)];
  });
}

function stopping(trial: TrialOptions): Promise<TrialCheck[]> {
  const words = createMarkers();
  return withSite(trial, words, null, async (seat) => {
    const session = await openTrialSession(seat, trial);
    const { result, durationMs } = await inSlot(trial, "kill", () => stopDuringCall(seat, session.id, words, trial.limitMs));
    return [outcomeOf("kill", checkKill(result.ended, result.hadBegun, result.left), durationMs)];
  });
}

async function take(
  trial: TrialOptions,
  site: TrialSite,
  name: TrialCheckName,
  session: string,
  prompt: string,
): Promise<TrialEvidence & { durationMs: number }> {
  site.server.clear();
  const { result: ended, durationMs } = await inSlot(trial, name, () => takeTrialTurn(site, session, prompt, trial.limitMs));
  return { ended, requests: site.server.main(), project: site.project, durationMs };
}

async function withSite(
  trial: TrialOptions,
  markers: TrialMarkers,
  fault: ServerFault | null,
  act: (site: TrialSite) => Promise<TrialCheck[]>,
): Promise<TrialCheck[]> {
  const seat = await trial.openSeat(trialScript(markers), { marker: markers.mark, fault });
  try {
    return await act(seat);
  } finally {
    await seat.close();
  }
}

async function inSlot<Result>(
  trial: TrialOptions,
  name: TrialCheckName,
  act: () => Promise<Result>,
): Promise<{ result: Result; durationMs: number }> {
  const giveBack = await trial.slots.take(trial.signal);
  const startedAt = performance.now();
  try {
    trial.onCheck(name);
    return { result: await act(), durationMs: Math.round(performance.now() - startedAt) };
  } finally {
    giveBack();
  }
}

function outcomeOf(name: TrialCheckName, problem: string | null, durationMs: number): TrialCheck {
  return { name, outcome: problem === null ? "ok" : "failed", detail: problem, durationMs };
}
