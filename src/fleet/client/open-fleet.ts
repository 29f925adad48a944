// Opens the fleet for one process: the shared store with its connections, and at their first use the queue and the line to
// other machines.
import type { AcceptConnection, Connection } from "../../protocol/connection/connection.ts";
import { checkLayout } from "../../store/postgres/schema/migrate.ts";
import { openPostgresStore, type PostgresStore } from "../../store/postgres/postgres-store.ts";
import { fleetMigrations } from "../migrations.ts";
import { startBoss } from "../queue/boss.ts";
import { openFrameLine, type FrameLine } from "../transport/frame-line.ts";
import type { WorkerRole } from "../../protocol/fleet/fleet-commands.ts";
import { heartbeatHooks, type FencedTurns } from "../worker/fenced-turns.ts";

export type OpenFleetOptions = {
  url: string;
  version: string;
  /** Null for a process that is no worker. */
  worker: WorkerRole | null;
  /** The socket on which this process serves its Api to others of this machine. */
  address: () => string | null;
  turns: FencedTurns;
  /** Serves this process's Api to other machines. */
  accept: AcceptConnection;
  warn: (message: string) => void;
};

export type Fleet = Awaited<ReturnType<typeof openFleet>>;

export async function openFleet({ url, version, worker, address, turns, accept, warn }: OpenFleetOptions) {
  let onReaped = (): void => {};
  const role = worker === null ? {} : { slots: worker.slots, labels: worker.labels };
  const store: PostgresStore = await openPostgresStore({
    url,
    max: worker === null ? 3 : 6,
    // The turns of a worker pause while the server is away, and continue when it is back.
    ...(worker === null ? {} : { retryMs: 3_600_000 }),
    worker: { ...role, version, address },
    heartbeat: { ...heartbeatHooks(turns), onReaped: () => onReaped() },
  });
  const { db } = store;
  try {
    await checkLayout(db, "fleet", fleetMigrations);
  } catch (error) {
    await store.close();
    throw error;
  }
  let boss: ReturnType<typeof startBoss> | null = null;
  let line: Promise<FrameLine> | null = null;
  /** Every process that may hold a lease must be reachable, so its address is that of its heartbeat. */
  const openLine = () => (line ??= openFrameLine({ db, address: store.worker, accept, warn }));
  return {
    db,
    store,
    isWorker: worker !== null,
    /** Calls the function when a heartbeat of this process has taken the sessions of a silent worker. */
    whenReaped: (call: () => void): void => void (onReaped = call),
    boss: () => (boss ??= startBoss(db, { maintain: worker !== null, warn })),
    listen: openLine,
    connect: async (id: string, acceptFrames: AcceptConnection): Promise<Connection> => (await openLine()).connect(id, acceptFrames),
    async close(): Promise<void> {
      await (await line)?.close();
      await (await boss)?.stop({ graceful: false });
      await store.close();
    },
  };
}
