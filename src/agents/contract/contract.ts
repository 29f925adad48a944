// The contract that another agent's command line must keep, tried offline with the real program on the real road:
// what counts is what reached the model, what is on disk and who is alive afterwards, never an exit code alone.
import type { Slots } from "../../kit/slots.ts";
import { contractNames, type ContractCheck, type ContractName } from "../../protocol/agents.ts";
import { bearsFailure, checkBranch, checkFork, checkKill, checkModel, checkResume, checkTools } from "./checks.ts";
import { openSession, type Seat, takeTurn, type Taker } from "./seat.ts";
import type { ScriptSource } from "./server.ts";
import type { Fault } from "./server/script.ts";
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
    const others = [afterwards(trial, seat, words, first), failing(trial, "bad-key"), failing(trial, "rate-limit"), killing(trial)];
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
  const { result, durationMs } = await inSlot(trial, "tools", () => takeTurn(seat, session.id, prompts.first(words), trial.limitMs));
  const tools = outcomeOf("tools", checkTools(result, seat, words), durationMs);
  const model = tools.outcome === "ok" ? [outcomeOf("model", checkModel(seat, trial.model), 0)] : [];
  return { checks: [tools, ...model], session: session.id, node: result.nodes.at(-1)?.id ?? null, nativeId: result.nativeId };
}

/** The fork comes first and speaks last: neither side may be told what was said on the other. */
async function afterwards(trial: Trial, seat: Seat, words: Words, first: First): Promise<ContractCheck[]> {
  const take = async (name: ContractName, session: string, prompt: string) => {
    seat.server.clear();
    return inSlot(trial, name, () => takeTurn(seat, session, prompt, trial.limitMs));
  };
  const branch = trial.canFork ? await seat.api.session.fork({ session: first.session, at: first.node, name: null }) : null;
  const forked = branch === null ? null : await take("fork", branch.id, prompts.fork(words));
  const forkProblem = forked === null ? null : checkFork(forked.result, seat, words, first.nativeId);
  const trunk = await take("resume", first.session, prompts.trunk(words));
  const resume = outcomeOf("resume", checkResume(trunk.result, seat, words), trunk.durationMs);
  if (branch === null || forked === null) return [resume, { name: "fork", outcome: "none", detail: null, durationMs: 0 }];
  if (forkProblem !== null) return [resume, outcomeOf("fork", forkProblem, forked.durationMs)];
  const again = await take("fork", branch.id, prompts.again(words));
  return [resume, outcomeOf("fork", checkBranch(again.result, seat, words), forked.durationMs + again.durationMs)];
}

const faults = {
  "bad-key": { fault: { type: "status", status: 401, message: "invalid x-api-key" }, status: "auth" },
  "rate-limit": { fault: { type: "status", status: 429, retryAfter: "1", message: "Too many requests" }, status: "rate-limited" },
} as const;

function failing(trial: Trial, name: keyof typeof faults): Promise<ContractCheck[]> {
  const words = newWords();
  const { fault, status } = faults[name];
  return inSeat(trial, words, fault, async (seat) => {
    const session = await openSession(seat, trial);
    const { result, durationMs } = await inSlot(trial, name, () => takeTurn(seat, session.id, prompts.first(words), trial.limitMs));
    return [outcomeOf(name, bearsFailure(result, seat, status), durationMs)];
  });
}

function killing(trial: Trial): Promise<ContractCheck[]> {
  const words = newWords();
  return inSeat(trial, words, null, async (seat) => {
    const session = await openSession(seat, trial);
    const { result, durationMs } = await inSlot(trial, "kill", () => checkKill(seat, session.id, words, trial.limitMs));
    return [outcomeOf("kill", result, durationMs)];
  });
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
