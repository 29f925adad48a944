// The workers and runs of the fleet, and a worker's drain.
import type { FleetRun, FleetStatus, FleetWorker } from "../../protocol/fleet/fleet-commands.ts";
import type { PgDb } from "../../store/postgres/connection/connection.ts";
import { labelOf } from "../queue/queues.ts";
import { listRuns, type Run } from "../queue/runs.ts";

export async function fleetStatus(db: PgDb, { all }: { all: boolean }): Promise<FleetStatus> {
  const [workers, runs, caps] = await Promise.all([
    listWorkers(db),
    listRuns(db, { all }),
    db.rows<{ owner: string; most: number }>("select owner, most from skein.caps order by owner"),
  ]);
  const machines = new Map(workers.map(({ id, machine }) => [id, machine]));
  return { database: db.address, workers, runs: runs.map((run) => toFleetRun(run, machines)), caps };
}

type WorkerRow = Omit<FleetWorker, "labels" | "running" | "isDraining" | "seenMsAgo" | "startedAt"> & {
  labels: string;
  running: number;
  is_draining: boolean;
  seen_ms: number;
  started_ms: number;
};

/** Processes that only hold a lease are no workers. */
async function listWorkers(db: PgDb): Promise<FleetWorker[]> {
  const rows = await db.rows<WorkerRow>(`select id, machine, pid, version, slots, labels, is_draining,
    (select count(*)::int from skein.runs r where r.worker = w.id and r.state = 'running') as running,
    round(extract(epoch from clock_timestamp() - seen_at) * 1000)::int as seen_ms,
    round(extract(epoch from started_at) * 1000)::bigint as started_ms
    from skein.workers w where slots > 0 order by machine, started_at`);
  return rows.map(({ labels, is_draining, seen_ms, started_ms, ...row }) => ({
    ...row,
    labels: JSON.parse(labels) as string[],
    isDraining: is_draining,
    seenMsAgo: seen_ms,
    startedAt: started_ms,
  }));
}

function toFleetRun(
  { queue, job: _, maxAttempts: _max, head: _head, leftOut: _left, worker, ...run }: Run,
  machines: Map<string, string>,
): FleetRun {
  return { ...run, needs: labelOf(queue), machine: worker === null ? null : (machines.get(worker) ?? null) };
}

/** Searches by id, by the end of an id, or by the name of a machine with one worker. Null if there is not exactly one. */
export async function drainWorker(db: PgDb, wanted: string): Promise<string | null> {
  const matches = (await listWorkers(db)).filter(({ id, machine }) => id === wanted || id.endsWith(wanted) || machine === wanted);
  const [worker] = matches;
  if (worker === undefined || matches.length > 1) return null;
  await db.run("update skein.workers set is_draining = true where id = $1::text", worker.id);
  return worker.id;
}
