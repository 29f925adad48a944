// The operations of the command line on the fleet: send and follow runs, workers, schedules.
import type { Api, TurnStartParams } from "../../protocol/api/api.ts";
import type { CallerTrust } from "../../protocol/api/control.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { FleetCommands, FleetRunRequest, SentRun, WorkerOptions } from "../../protocol/fleet/fleet-commands.ts";
import { addSchedule, fireSchedules, listSchedules, removeSchedule } from "../queue/schedules.ts";
import { queueOf } from "../queue/queues.ts";
import { followRun } from "./follow-run.ts";
import { runOf, setCap, submitRun, withdrawRun } from "../queue/runs.ts";
import { takeRun } from "../worker/take-run.ts";
import { runsChannel, startWorker } from "../worker/worker.ts";
import type { Fleet } from "./open-fleet.ts";
import { projectState, pullFiles } from "./pull.ts";
import type { SharedStore, StoreParts } from "./fleet-store.ts";
import { drainWorker, fleetStatus } from "./status.ts";

export type FleetCommandDeps = {
  fleet: Fleet;
  shared: SharedStore;
  files: StoreParts;
  /** The Api on the shared store. */
  api: Api;
  /** Creates an Api with the configuration of a workspace. Only a worker has it. */
  openApi: (directory: string, options: { trust: CallerTrust }) => Promise<Api>;
  workspaceOf: (root: string) => string;
};

export function createFleetCommands(deps: FleetCommandDeps): FleetCommands {
  const { fleet, api, shared, files } = deps;
  const { db } = fleet;
  return {
    send: (request) => send(deps, request),
    follow: (session, afterSeq) => followRun({ db: fleet.db, watch: api.turn.watch }, { session, afterSeq, isOnlyRun: true }),
    async stop(session) {
      const run = await runOf(db, session);
      if (run !== null && (await withdrawRun(db, await fleet.boss(), run.id)))
        for (const { id } of await api.turn.pending({ session })) await api.turn.withdraw({ pending: id });
      else await api.turn.cancel({ session });
    },
    status: (options) => fleetStatus(db, options),
    drain: (worker) => drainWorker(db, worker),
    pull: (session, directory) => pullFiles(db, files, { session, project: directory }),
    async addSchedule({ name, cron, tz, run }) {
      const { session } = run;
      await storeFiles(deps, run);
      const pending = await shared.store.findPendingTurn((await api.turn.queue({ ...run.turn, session: session.id })).id);
      if (pending === null) throw new Fault("pending-unknown", "the turn of the schedule was withdrawn");
      await api.turn.withdraw({ pending: pending.id });
      const { kind, wakeAt, credential, caller, request, giveUpAt, attempt } = pending;
      const { project } = await projectState(files, run.directory);
      await addSchedule(db, await fleet.boss(), {
        name,
        cron,
        tz,
        owner: run.owner,
        project,
        session: session.id,
        queue: queueOf(run.needs),
        priority: run.priority,
        request: { kind, wakeAt, credential, caller, request, giveUpAt, attempt },
      });
    },
    removeSchedule: async (name) => removeSchedule(db, await fleet.boss(), name),
    schedules: async () =>
      (await listSchedules(db, await fleet.boss())).map(({ name, cron, tz, owner, project, next }) => ({
        name,
        cron,
        tz,
        owner,
        project,
        nextAt: next?.getTime() ?? null,
      })),
    setCap: (owner, most) => setCap(db, owner, most),
    work: (options) => work(deps, options),
  };
}

async function storeFiles({ files, shared }: FleetCommandDeps, { session, directory }: FleetRunRequest): Promise<string[]> {
  const { root, tree } = await projectState(files, directory);
  return shared.checkpoints.send(session.id, root, tree);
}

async function send(deps: FleetCommandDeps, request: FleetRunRequest): Promise<SentRun> {
  const { fleet, api, files } = deps;
  const { session, directory, turn, owner, needs, priority, startAfter } = request;
  queueOf(needs); // throws for a label that can't be one, before anything is stored
  const earlier = await runOf(fleet.db, session.id);
  const state = await projectState(files, directory);
  // The files of an earlier run are those of its last checkpoint, on whichever machine.
  const { project, head, leftOut } = earlier ?? { ...state, leftOut: await storeFiles(deps, request) };
  const afterSeq = (await fleet.db.row<{ seq: number }>("select seq from skein.sessions where id = $1::text", session.id))?.seq ?? 0;
  await api.turn.queue({ ...turn, session: session.id });
  const run = await submitRun(fleet.db, await fleet.boss(), {
    session: session.id,
    owner,
    title: turn.prompt ?? titleOf(turn) ?? session.task ?? "",
    project,
    head,
    leftOut,
    needs,
    priority,
    startAfter,
  });
  await fleet.db.raw(`notify ${runsChannel}`);
  return { run, leftOut: earlier === null ? leftOut : [], afterSeq, isContinued: earlier !== null };
}

/** The task of a turn without a prompt. */
function titleOf({ race, team }: TurnStartParams): string | null {
  if (race?.work === "run") return race.wish.task;
  return team?.work === "run" ? team.wish.objective : null;
}

async function work(deps: FleetCommandDeps, { slots, labels, onReady, onStop, log }: WorkerOptions): Promise<void> {
  const { fleet, shared } = deps;
  const boss = await fleet.boss();
  await fleet.listen();
  let isStopping = false;
  const { store, checkpoints } = shared;
  const running = new Set<string>();
  const turnDeps = { ...deps, db: fleet.db, boss, store, checkpoints, log, isStopping: () => isStopping };
  const worker = await startWorker({
    db: fleet.db,
    boss,
    id: fleet.store.worker,
    slots,
    labels,
    log,
    takeRun: async (claim) => {
      running.add(claim.run.session);
      await takeRun(turnDeps, claim);
      running.delete(claim.run.session);
    },
    fireSchedules: () => fireSchedules({ db: fleet.db, boss, store, log }),
  });
  fleet.whenReaped(() => worker.rescue());
  onStop(() => {
    isStopping = true;
    fleet.db.retryFor(10_000);
    for (const session of running) void deps.api.turn.cancel({ session, mayContinue: true }).catch(() => {}); // it may end at this moment
    void worker.drain();
  });
  onReady(fleet.store.worker);
  await worker.stopped;
}
