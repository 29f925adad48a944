// Works on one claimed run: restores its files, records what a killed worker left, and starts its turns one after another.
import type { PgBoss } from "pg-boss";
import type { Api } from "../../protocol/api/api.ts";
import type { CallerTrust, PendingTurn } from "../../protocol/api/control.ts";
import { Fault, messageOf, type TurnStatus } from "../../protocol/api/error.ts";
import type { PgDb } from "../../store/postgres/connection/connection.ts";
import type { Store } from "../../store/store.ts";
import type { Checkpoints } from "../files/checkpoints.ts";
import { finishRun, putBack, type Claim, type Run } from "../queue/runs.ts";

export type TakeRunDeps = {
  db: PgDb;
  boss: PgBoss;
  store: Store;
  checkpoints: Checkpoints;
  /** The directory of a session's files on this machine. */
  workspaceOf: (root: string) => string;
  /** Creates the Api with the configuration of a directory. */
  openApi: (directory: string, options: { trust: CallerTrust }) => Promise<Api>;
  /** Whether this process was asked to stop: turns that it stopped are continued elsewhere. */
  isStopping: () => boolean;
  log: (line: string) => void;
};

const busyRetryMs = 2_000;

/** Resolves when the run has ended here. A failure is recorded with the run. */
export async function takeRun(deps: TakeRunDeps, { run, isTakeOver }: Claim): Promise<void> {
  const { db, boss, store, log } = deps;
  try {
    const holder = await store.holder(run.session);
    if (holder !== null) return await putBack(db, boss, run, { why: `another process holds its session`, afterMs: busyRetryMs });
    log(`run ${run.id}: starts session ${run.session}${isTakeOver ? `, attempt ${run.attempts}` : ""}`);
    const outcome = await workOn(deps, run);
    if (outcome.kind === "later") return await putBack(db, boss, run, outcome);
    if (outcome.kind === "lost") return log(`run ${run.id}: another worker has taken it over`);
    log(`run ${run.id}: ended as ${outcome.status ?? "withdrawn"}`);
    await finishRun(db, boss, run, { state: "done", why: outcome.status === "ok" ? null : outcome.status });
  } catch (error) {
    await recordFailure(deps, run, error);
  }
}

async function recordFailure({ db, boss, log }: TakeRunDeps, run: Run, error: unknown): Promise<void> {
  log(`run ${run.id}: ${messageOf(error)}`);
  try {
    if (error instanceof Fault && error.code === "lease-lost") return;
    if (error instanceof Fault && error.code === "session-busy")
      return await putBack(db, boss, run, { why: error.message, afterMs: busyRetryMs });
    const hint = error instanceof Fault && error.hint !== undefined ? ` (${error.hint})` : "";
    await finishRun(db, boss, run, { state: "dead", why: `${messageOf(error)}${hint}` });
  } catch (failure) {
    // The database is away. The run has this worker's id, and is rescued when the worker is gone.
    log(`run ${run.id}: its end could not be recorded: ${messageOf(failure)}`);
  }
}

type Outcome = { kind: "ended"; status: TurnStatus | null } | { kind: "later"; why: string; afterMs: number } | { kind: "lost" };

async function workOn(deps: TakeRunDeps, run: Run): Promise<Outcome> {
  const { store, checkpoints, workspaceOf, openApi } = deps;
  const root = await rootSessionOf(store, run.session);
  const directory = await checkpoints.restore(root, workspaceOf(root));
  const trust = (await store.pendingTurns(run.session))[0]?.caller.trust ?? false;
  const api = await openApi(directory, { trust });
  try {
    // Taking the lease records the end of the killed worker's turn, and leaves a turn that continues it.
    if ((await store.openTurns(run.session)).length > 0) {
      await api.turn.kill({ session: run.session, force: false, mayContinue: true });
      if (await areFilesBehind(deps, run.session, root)) await queueForNextTurn(store, run.session, filesBehindText);
    }
    const outcome = await takeTurns(deps, run, api);
    if (outcome.kind === "ended") await storeFilesOfEnd(deps, { session: run.session, root, directory });
    return outcome;
  } finally {
    await api.close("finish");
  }
}

type RunFiles = { session: string; root: string; directory: string };

/** The adopted work of a race is in no record of a turn. */
async function storeFilesOfEnd({ store, checkpoints, log }: TakeRunDeps, { session, root, directory }: RunFiles): Promise<void> {
  const tree = await checkpoints.current(directory);
  if (tree === null || tree === checkpoints.recorded(root)) return;
  try {
    const lease = await store.acquire(session);
    try {
      await checkpoints.hooks().onEnd(lease, directory, tree);
    } finally {
      await store.release(lease);
    }
  } catch (error) {
    // The turn has ended, and its own changes are stored. The session may be archived or in use again.
    log(`the files after the end of session ${session} were not stored: ${messageOf(error)}`);
  }
}

const filesBehindText =
  "[skein: another machine continues here. The files are those of the last stored checkpoint. Changes of your latest calls are missing: look at the files before you go on.]";

/** The turn that continues gets the message at its first step. */
async function queueForNextTurn(store: Store, session: string, text: string): Promise<void> {
  const lease = await store.acquire(session);
  try {
    await store.queueInput(lease, text);
  } finally {
    await store.release(lease);
  }
}

/** Whether the conversation has calls whose changes the worker that was killed could not store any more. */
async function areFilesBehind({ store, checkpoints }: TakeRunDeps, session: string, root: string): Promise<boolean> {
  const turns = (await store.turnsOf(session)).map(({ id }) => id);
  const last = (await store.turnRecords(turns)).findLast(({ after }) => after !== null);
  return last !== undefined && last.after !== checkpoints.recorded(root);
}

async function takeTurns({ isStopping, store }: TakeRunDeps, run: Run, api: Api): Promise<Outcome> {
  let status: TurnStatus | null = null;
  for (;;) {
    const [next] = await api.turn.pending({ session: run.session });
    // A team that was killed has no turn to continue it: its last turn says how it ended.
    if (next === undefined) return { kind: "ended", status: status ?? (await store.turnsOf(run.session)).at(-1)?.status ?? null };
    if (isStopping()) return { kind: "later", why: "its worker stops", afterMs: 0 };
    const waitMs = waitOf(next);
    if (waitMs > 0) return { kind: "later", why: "it waits for the limit of its vendor", afterMs: waitMs };
    const end = await follow(api, next.id);
    if (end === "lost") return { kind: "lost" };
    status = end;
  }
}

function waitOf({ wakeAt }: PendingTurn): number {
  return wakeAt === null ? 0 : Math.max(0, wakeAt - Date.now());
}

async function follow(api: Api, pending: string): Promise<TurnStatus | null | "lost"> {
  let status: TurnStatus | null = null;
  try {
    for await (const event of api.turn.startPending({ pending })) if (event.type === "turn.ended") status = event.turn.status;
    return status;
  } catch (error) {
    if (error instanceof Fault && error.code === "lease-lost") return "lost";
    throw error;
  }
}

/** The topmost session above a sub-session. Its files are those of all below it. */
async function rootSessionOf(store: Store, id: string): Promise<string> {
  const { parentSession } = await store.requireSession(id);
  return parentSession === null ? id : rootSessionOf(store, parentSession);
}
