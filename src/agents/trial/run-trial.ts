// Tries an agent's CLI offline, with the real program and the real code path. The checks look at the requests to the
// model, the files and the remaining processes, never at an exit code alone.
import type { Slots } from "../../kit/flow/slots.ts";
import { trialCheckNames, type TrialCheck, type TrialCheckName } from "../../protocol/api/agents.ts";
import { checkBranch, checkFailure, checkFork, checkKill, checkModel, checkResume, checkTools, type TrialEvidence } from "./checks.ts";
import { openTrialSession, type TrialSite, runTrialTurn, type TrialAgent } from "./trial-site.ts";
import type { ScriptSource } from "../../scripted-model/model-server.ts";
import type { ServerFault } from "../../scripted-model/script.ts";
import { stopDuringCall } from "./stop-call.ts";
import { createMarkers, trialPrompts, trialScript, type TrialMarkers } from "./markers.ts";

export type TrialOptions = TrialAgent & {
  /** Whether the agent can fork its own sessions. Forking is tried only if true. */
  canFork: boolean;
  openSite: (script: ScriptSource, options: { marker: string; fault: ServerFault | null }) => Promise<TrialSite>;
  /** Limits the number of programs that run at once. */
  slots: Slots;
  signal: AbortSignal;
  onCheck: (name: TrialCheckName) => void;
};

/** Returns one check for each name. If the first turn fails, the others are `untried`. */
export async function runTrial(trial: TrialOptions): Promise<TrialCheck[]> {
  const markers = createMarkers();
  const checks = await withSession(trial, markers, null, async (site, session) => {
    const first = await runFirstTurn(trial, site, markers, session);
    if (first.checks.some(({ outcome }) => outcome !== "ok")) return first.checks;
    const others = [
      tryResumeAndFork(trial, site, markers, first),
      tryFailure(trial, "bad-key"),
      tryFailure(trial, "rate-limit"),
      tryStop(trial),
    ];
    // Waits for all, so that each can clean up even if another one fails.
    await Promise.allSettled(others);
    return [...first.checks, ...(await Promise.all(others)).flat()];
  });
  return trialCheckNames.map(
    (name) => checks.find((check) => check.name === name) ?? { name, outcome: "untried", detail: null, durationMs: 0 },
  );
}

type FirstTurn = { checks: TrialCheck[]; session: string; node: string | null; nativeId: string | null };

async function runFirstTurn(trial: TrialOptions, site: TrialSite, markers: TrialMarkers, session: string): Promise<FirstTurn> {
  const evidence = await runTurn(trial, site, { name: "tools", session, prompt: trialPrompts.first(markers) });
  const tools = outcomeOf("tools", checkTools(evidence, markers), evidence.durationMs);
  const model = tools.outcome === "ok" ? [outcomeOf("model", checkModel(evidence, trial.model), 0)] : [];
  const { nodes, nativeId } = evidence.turn;
  return { checks: [tools, ...model], session, node: nodes.at(-1)?.id ?? null, nativeId };
}

/** Prompts the fork, the trunk, and the fork again: neither side may see the messages of the other. */
async function tryResumeAndFork(trial: TrialOptions, site: TrialSite, markers: TrialMarkers, first: FirstTurn): Promise<TrialCheck[]> {
  const branch = trial.canFork ? await site.api.session.fork({ session: first.session, at: first.node, name: null }) : null;
  const forked =
    branch === null ? null : await runTurn(trial, site, { name: "fork", session: branch.id, prompt: trialPrompts.fork(markers) });
  const trunk = await runTurn(trial, site, { name: "resume", session: first.session, prompt: trialPrompts.trunk(markers) });
  const resume = outcomeOf("resume", checkResume(trunk, markers), trunk.durationMs);
  if (branch === null || forked === null) return [resume, { name: "fork", outcome: "none", detail: null, durationMs: 0 }];
  const problem = checkFork(forked, markers, first.nativeId);
  if (problem !== null) return [resume, outcomeOf("fork", problem, forked.durationMs)];
  const again = await runTurn(trial, site, { name: "fork", session: branch.id, prompt: trialPrompts.again(markers) });
  return [resume, outcomeOf("fork", checkBranch(again, markers), forked.durationMs + again.durationMs)];
}

const failures = {
  "bad-key": { fault: { type: "status", status: 401, message: "invalid x-api-key" }, status: "auth" },
  "rate-limit": { fault: { type: "status", status: 429, retryAfter: "1", message: "Too many requests" }, status: "rate-limited" },
} as const;

function tryFailure(trial: TrialOptions, name: keyof typeof failures): Promise<TrialCheck[]> {
  const markers = createMarkers();
  const { fault, status } = failures[name];
  return withSession(trial, markers, fault, async (site, session) => {
    const evidence = await runTurn(trial, site, { name, session, prompt: trialPrompts.first(markers) });
    return [outcomeOf(name, checkFailure(evidence, status), evidence.durationMs)];
  });
}

function tryStop(trial: TrialOptions): Promise<TrialCheck[]> {
  const markers = createMarkers();
  return withSession(trial, markers, null, async (site, session) => {
    const { result, durationMs } = await inSlot(trial, "kill", () => stopDuringCall(site, session, markers, trial.limitMs));
    return [outcomeOf("kill", checkKill(result), durationMs)];
  });
}

async function runTurn(
  trial: TrialOptions,
  site: TrialSite,
  { name, session, prompt }: { name: TrialCheckName; session: string; prompt: string },
): Promise<TrialEvidence & { durationMs: number }> {
  site.server.clear();
  const { result: turn, durationMs } = await inSlot(trial, name, () => runTrialTurn(site, session, prompt, trial.limitMs));
  return { turn, requests: site.server.main(), project: site.project, durationMs };
}

/** Acts on a new session of a new site, and closes the site. */
async function withSession(
  trial: TrialOptions,
  markers: TrialMarkers,
  fault: ServerFault | null,
  act: (site: TrialSite, session: string) => Promise<TrialCheck[]>,
): Promise<TrialCheck[]> {
  const site = await trial.openSite(trialScript(markers), { marker: markers.mark, fault });
  try {
    return await act(site, (await openTrialSession(site, trial)).id);
  } finally {
    await site.close();
  }
}

async function inSlot<Result>(
  trial: TrialOptions,
  name: TrialCheckName,
  act: () => Promise<Result>,
): Promise<{ result: Result; durationMs: number }> {
  const release = await trial.slots.take(trial.signal);
  const startedAt = performance.now();
  try {
    trial.onCheck(name);
    return { result: await act(), durationMs: Math.round(performance.now() - startedAt) };
  } finally {
    release();
  }
}

function outcomeOf(name: TrialCheckName, problem: string | null, durationMs: number): TrialCheck {
  return { name, outcome: problem === null ? "ok" : "failed", detail: problem, durationMs };
}
