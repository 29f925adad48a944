// Pauses and resumes a turn with its agent, its processes and its time limits. With `force` the whole
// process that runs the turn is suspended, even if it does not answer.
import type { PauseGate } from "../../kit/flow/pause-gate.ts";
import { freeze, resumeIfStopped } from "../../kit/process/freeze.ts";
import { descendantsOf } from "../../kit/process/processes.ts";
import type { Api } from "../../protocol/api/api.ts";
import type { PauseReport } from "../../protocol/api/control.ts";
import { Fault } from "../../protocol/api/error.ts";
import { shortId } from "../../protocol/tree/node.ts";
import type { ActiveHolder } from "../../store/store.ts";
import type { EngineDeps } from "../engine.ts";
import { findOtherSessions, otherNamespaceFault } from "./kill.ts";
import type { RunningTurn } from "../turn/running-turns.ts";
import { callOwner, isHolderSuspended } from "./owner.ts";

export async function pauseTurn(deps: EngineDeps, session: string, { force }: { force: boolean }): Promise<PauseReport> {
  const holder = await otherHolder(deps, session);
  if (holder !== null && isHolderSuspended(holder)) return { session, state: "paused", isChanged: false, pid: holder.pid };
  if (holder !== null && force) return suspendProcess(deps, session, holder);
  return changePause(deps, session, { local: (gate) => gate.pause(), remote: (api) => api.turn.pause({ session, force: false }) });
}

export async function resumeTurn(deps: EngineDeps, session: string): Promise<PauseReport> {
  const holder = await otherHolder(deps, session);
  if (holder !== null && isHolderSuspended(holder)) {
    resumeIfStopped(holder.pid);
    if (!(await isPaused(deps, session))) return { session, state: "running", isChanged: true, pid: holder.pid };
  }
  return changePause(deps, session, { local: (gate) => gate.resume(), remote: (api) => api.turn.resume({ session }) });
}

/** `local` changes the gate of a turn of this process; `remote` asks the process that runs the turn. */
type PauseChange = { local: (gate: PauseGate) => void; remote: (api: Api) => Promise<PauseReport> };

function changePause(deps: EngineDeps, session: string, { local, remote }: PauseChange): Promise<PauseReport> {
  return callOwner<PauseReport>(deps, session, {
    local: async (turn) => {
      const wasPaused = turn.gate.isPaused;
      local(turn.gate);
      if (turn.gate.isPaused) await stopped(turn.gate);
      await publishStates(deps);
      return { ...reportOf(deps, turn), isChanged: turn.gate.isPaused !== wasPaused };
    },
    remote,
    idle: () => ({ session, state: "not-running", isChanged: false, pid: null }),
    mayRepeat: true,
  });
}

const maxStopMs = 10_000;

/** Waits until no process of the paused turn can run. */
async function stopped(gate: PauseGate): Promise<void> {
  const timeout = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    timeout.reject(
      new Fault("session-busy", `not every process of the turn has stopped within ${maxStopMs / 1000} seconds`, {
        hint: "`skein resume` lets them all run again; `skein kill` ends them",
      }),
    );
  }, maxStopMs);
  await Promise.race([gate.whenStopped(), timeout.promise]).finally(() => clearTimeout(timer));
}

/** Turns whose pause was published. */
const publishedPauses = new WeakSet<RunningTurn>();

/** Publishes and stores every changed state. A pause also changes the turns of sub-sessions. */
async function publishStates(deps: EngineDeps): Promise<void> {
  for (const turn of deps.running.all()) {
    const { gate, recorder, asking } = turn;
    if (gate.isPaused === publishedPauses.has(turn)) continue;
    if (gate.isPaused) publishedPauses.add(turn);
    else publishedPauses.delete(turn);
    recorder.publishTransient({ type: gate.isPaused ? "turn.paused" : "turn.resumed" });
    try {
      await recorder.setState(gate.isPaused ? "paused" : asking.size > 0 ? "asking" : "running");
    } catch (error) {
      if (!(error instanceof Fault && error.code === "lease-lost")) throw error; // the turn has just ended
    }
  }
}

/** The turn may have ended or been stopped meanwhile. */
function reportOf(deps: EngineDeps, { lease: { session }, gate, deadline }: RunningTurn): PauseReport {
  if (deps.running.get(session) === undefined || deadline.signal.aborted) return { session, state: "not-running", pid: null };
  return { session, state: gate.isPaused ? "paused" : "running", pid: process.pid };
}

/** The other process that holds the session; null if it is this one or none. */
async function otherHolder(deps: EngineDeps, session: string): Promise<ActiveHolder | null> {
  return deps.running.get(session) === undefined ? (await deps.store()).holder(session) : null;
}

async function isPaused(deps: EngineDeps, session: string): Promise<boolean> {
  const turns = await (await deps.store()).listTurns(null);
  return turns.some((turn) => turn.session.id === session && turn.state === "paused");
}

async function suspendProcess(deps: EngineDeps, session: string, holder: ActiveHolder): Promise<PauseReport> {
  const { pid, namedPid } = holder;
  if (pid === null) throw otherNamespaceFault(namedPid, `skein pause ${session} --force`);
  const others = await findOtherSessions(await deps.store(), holder, session);
  if (others.length > 0) {
    throw new Fault("session-busy", `process ${pid} also runs ${others.map(shortId).join(", ")}, which would be paused too`, {
      hint: "leave --force out, then only this session is paused",
    });
  }
  if (freeze(() => [pid, ...descendantsOf(pid)]).pids.includes(pid)) return { session, state: "paused", isChanged: true, pid };
  throw new Fault(
    "session-busy",
    `process ${pid}, which runs this session, can't be suspended: the process has ended, or belongs to another user`,
  );
}
