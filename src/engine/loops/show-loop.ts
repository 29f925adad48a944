// Describes a session's latest loop: its passes with their checks, and why it ended.
import { isAbsolute } from "node:path";
import { Fault } from "../../protocol/api/error.ts";
import type { HandlePart } from "../../protocol/tree/node.ts";
import type { Turn } from "../../protocol/tree/turn.ts";
import type { LoopPass, LoopView } from "../../protocol/schema/views/loop-views.ts";
import { addSpent, withSubSessions, zeroSpent } from "../../protocol/tree/usage.ts";
import type { Store } from "../../store/store.ts";
import type { EngineDeps } from "../engine.ts";
import { findCheckNode } from "../checks/check-turn.ts";
import { nextStep, readPasses, spentBy, type LoopSettings, type LoopStep, type Pass } from "./loop-state.ts";

const maxPaths = 20;

export async function showLoop(deps: EngineDeps, idOrName: string): Promise<LoopView> {
  const store = await deps.store();
  const session = await store.findSession(idOrName, null);
  const loop = (await store.turnsOf(session.id)).findLast((turn) => turn.loop !== undefined)?.loop;
  if (loop === undefined)
    throw new Fault("usage", "there is no loop in this session", { hint: 'start one: skein loop "task" --until "command"' });
  const passes = await readPasses(store, session.id, loop.id);
  const isRunning = deps.running.isRequested(session.id) || (await store.holder(session.id)) !== null;
  const described: LoopPass[] = [];
  for (const pass of passes) described.push(await describePass(deps, store, session.project, pass));
  const { task, until, maxRuns, fresh, agents } = loop;
  return {
    sessionId: session.id,
    loopId: loop.id,
    task,
    until,
    maxRuns,
    fresh,
    agents,
    ...stateOf(loop, passes, isRunning),
    passes: described,
    ...spentBy(passes),
    durationMs: passes.flatMap(({ turns }) => turns.map(durationOf)).reduce((sum, ms) => sum + ms, 0),
  };
}

/** A running loop may be in its last pass, which has no end yet. */
function stateOf(loop: LoopSettings, passes: Pass[], isRunning: boolean): Pick<LoopView, "state" | "reason" | "why"> {
  const step: LoopStep = nextStep(loop, passes, { resumes: false });
  const isOpen = passes.some(({ turns }) => turns.at(-1)?.endedAt === null);
  if (isRunning && (isOpen || step.do !== "stop")) return { state: "running", reason: null, why: null };
  if (step.do !== "stop" || isOpen) return { state: "interrupted", reason: null, why: null };
  return { state: "ended", reason: step.reason, why: step.why };
}

async function describePass({ snapshots }: EngineDeps, store: Store, project: string, pass: Pass): Promise<LoopPass> {
  const { number, turns, before, after } = pass;
  const last = turns.at(-1)!;
  // The files of a session of the fleet are on its worker.
  const isKnown = snapshots !== null && before !== null && after !== null && isAbsolute(project);
  const changes = !isKnown ? null : before === after ? [] : await snapshots.changes(project, before, after);
  return {
    pass: number,
    turnId: last.id,
    agent: last.agent,
    model: last.model,
    status: last.status,
    files: number === 0 ? 0 : (changes?.length ?? null),
    paths: (changes ?? []).slice(0, maxPaths).map(({ path }) => path),
    check: last.checked ?? null,
    output: await outputOf(store, last),
    ...turns.map(withSubSessions).reduce(addSpent, zeroSpent),
    durationMs: turns.map(durationOf).reduce((sum, ms) => sum + ms, 0),
  };
}

async function outputOf(store: Store, turn: Turn): Promise<string | null> {
  if (turn.checked === undefined) return null;
  const node = await findCheckNode(store, turn);
  const part = node?.parts.find((candidate): candidate is HandlePart => candidate.kind === "handle");
  return part === undefined ? null : `${part.handle.source}:${part.handle.identifier}`;
}

function durationOf({ startedAt, endedAt }: Turn): number {
  return (endedAt ?? Date.now()) - startedAt;
}
