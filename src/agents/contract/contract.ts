// The contract that another agent's command line must keep, tried offline with the real program on the real road:
// what counts is what reached the model, what is on disk and who is alive afterwards, never an exit code alone.
import type { Slots } from "../../kit/slots.ts";
import { contractNames, type ContractCheck, type ContractName } from "../../protocol/agents.ts";
import { checkBranch, checkFailure, checkFork, checkKill, checkModel, checkResume, checkTools, type Evidence } from "./checks.ts";
import { openSession, type Seat, takeTurn, type Taker } from "./seat.ts";
import type { ScriptSource } from "./server.ts";
import type { Fault } from "./server/script.ts";
import { stopInCall } from "./stop-call.ts";
import { newWords, prompts, scriptOf, type Words } from "./words.ts";

export type Trial = Taker & {
  /** What its adapter says; nothing is tried that it does not claim. */
  canFork: boolean;
  openSeat: (script: ScriptSource, options: { marker: string; fault: Fault | null }) => Promise<Seat>;
  /** Bounds how many programs run at once. */
  slots: Slots;
  signal: AbortSignal;
  onCheck: (name: ContractName) => void;
};

/** One row for each name; after a first turn that failed nothing else is tried. */
export async function tryAgent(trial: Trial): Promise<ContractCheck[]> {
  const words = newWords();
  const found = await inSeat(trial, words, null, async (seat) => {
    const first = await firstTurn(trial, seat, words);
    if (first.checks.some(({ outcome }) => outcome !== "ok")) return first.checks;
    const others = [afterwards(trial, seat, words, first), failing(trial, "bad-key"), failing(trial, "rate-limit"), stopping(trial)];
    // Each cleans up behind itself, also when another one can't go on.
    await Promise.allSettled(others);
    return [...first.checks, ...(await Promise.all(others)).flat()];
  });
  return contractNames.map(
    (name) => found.find((check) => check.name === name) ?? { name, outcome: "untried", detail: null, durationMs: 0 },
  );
}

type First = { checks: ContractCheck[]; session: string; node: string | null; nativeId: string | null };

async function firstTurn(trial: Trial, seat: Seat, words: Words): Promise<First> {
  const session = await openSession(seat, trial);
  const taken = await take(trial, seat, "tools", session.id, prompts.first(words));
  const tools = outcomeOf("tools", checkTools(taken, words), taken.durationMs);
  const model = tools.outcome === "ok" ? [outcomeOf("model", checkModel(taken, trial.model), 0)] : [];
  const { nodes, nativeId } = taken.ended;
  return { checks: [tools, ...model], session: session.id, node: nodes.at(-1)?.id ?? null, nativeId };
}

/** The fork comes first and speaks last: neither side may be told what was said on the other. */
async function afterwards(trial: Trial, seat: Seat, words: Words, first: First): Promise<ContractCheck[]> {
  const branch = trial.canFork ? await seat.api.session.fork({ session: first.session, at: first.node, name: null }) : null;
  const forked = branch === null ? null : await take(trial, seat, "fork", branch.id, prompts.fork(words));
  const trunk = await take(trial, seat, "resume", first.session, prompts.trunk(words));
  const resume = outcomeOf("resume", checkResume(trunk, words), trunk.durationMs);
  if (branch === null || forked === null) return [resume, { name: "fork", outcome: "none", detail: null, durationMs: 0 }];
  const problem = checkFork(forked, words, first.nativeId);
  if (problem !== null) return [resume, outcomeOf("fork", problem, forked.durationMs)];
  const again = await take(trial, seat, "fork", branch.id, prompts.again(words));
  return [resume, outcomeOf("fork", checkBranch(again, words), forked.durationMs + again.durationMs)];
}

const failures = {
  "bad-key": { fault: { type: "status", status: 401, message: "invalid x-api-key" }, status: "auth" },
  "rate-limit": { fault: { type: "status", status: 429, retryAfter: "1", message: "Too many requests" }, status: "rate-limited" },
} as const;

function failing(trial: Trial, name: keyof typeof failures): Promise<ContractCheck[]> {
  const words = newWords();
  const { fault, status } = failures[name];
  return inSeat(trial, words, fault, async (seat) => {
    const session = await openSession(seat, trial);
    const taken = await take(trial, seat, name, session.id, prompts.first(words));
    return [outcomeOf(name, checkFailure(taken, status), taken.durationMs)];
  });
}

function stopping(trial: Trial): Promise<ContractCheck[]> {
  const words = newWords();
  return inSeat(trial, words, null, async (seat) => {
    const session = await openSession(seat, trial);
    const { result, durationMs } = await inSlot(trial, "kill", () => stopInCall(seat, session.id, words, trial.limitMs));
    return [outcomeOf("kill", checkKill(result.ended, result.hadBegun, result.left), durationMs)];
  });
}

async function take(
  trial: Trial,
  seat: Seat,
  name: ContractName,
  session: string,
  prompt: string,
): Promise<Evidence & { durationMs: number }> {
  seat.server.clear();
  const { result: ended, durationMs } = await inSlot(trial, name, () => takeTurn(seat, session, prompt, trial.limitMs));
  return { ended, requests: seat.server.main(), project: seat.project, durationMs };
}

async function inSeat(
  trial: Trial,
  words: Words,
  fault: Fault | null,
  act: (seat: Seat) => Promise<ContractCheck[]>,
): Promise<ContractCheck[]> {
  const seat = await trial.openSeat(scriptOf(words), { marker: words.mark, fault });
  try {
    return await act(seat);
  } finally {
    await seat.close();
  }
}

async function inSlot<Result>(
  trial: Trial,
  name: ContractName,
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

function outcomeOf(name: ContractName, problem: string | null, durationMs: number): ContractCheck {
  return { name, outcome: problem === null ? "ok" : "failed", detail: problem, durationMs };
}
