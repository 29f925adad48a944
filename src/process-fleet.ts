// Connects this process to the fleet: its shared store, the line to processes of other machines, and the operations of
// `skein fleet`. Loads nothing of the fleet before one of them is used.
import { mkdirSync } from "node:fs";
import type { AppOptions } from "./app/app-context.ts";
import type { StoreParts } from "./app/fleet/store-parts.ts";
import type { RunningTurns } from "./engine/turn/running-turns.ts";
import type { Fleet, SharedStore } from "./fleet/fleet.ts";
import type { AppOverrides } from "./cli/parse/command.ts";
import type { Api } from "./protocol/api/api.ts";
import type { CallerTrust } from "./protocol/api/control.ts";
import { Fault } from "./protocol/api/error.ts";
import type { FleetCommands, WorkerRole } from "./protocol/fleet/fleet-commands.ts";
import type { FrameHandler, Connection } from "./protocol/connection/connection.ts";

export type ProcessFleetOptions = {
  version: string;
  startedAt: number;
  data: string;
  /** The socket of this process for others of its machine. */
  address: () => string | null;
  running: () => RunningTurns | null;
  openApi: (overrides: AppOverrides) => Promise<Api>;
  warn: (message: string) => void;
};

export type ProcessFleet = {
  openStore: NonNullable<AppOptions["openStore"]>;
  /** Connects to a worker by the address in its leases, `fleet:<id>`. */
  connect: (address: string) => Promise<Api>;
  /** With a role this process is a worker. */
  commands: (role: WorkerRole | null) => Promise<FleetCommands>;
  /** The Api on the shared store for front ends: a watcher stays while a run is taken over by another worker. */
  frontEndApi: (overrides: AppOverrides) => Promise<Api>;
  close: () => Promise<void>;
};

type Opened = { fleet: Fleet; shared: SharedStore; files: StoreParts };

export function createProcessFleet(options: ProcessFleetOptions): ProcessFleet {
  const { version, warn } = options;
  let role: WorkerRole | null = null;
  let fleet: Promise<Fleet> | null = null;
  let opened: Promise<Opened> | null = null;
  const workspaces = () => role?.workspaces ?? `${options.data}-workspaces`;
  const open = async (url: string): Promise<Fleet> => {
    const { openFleet } = await import("./fleet/fleet.ts");
    const turns = {
      gates: () => [...(options.running()?.all() ?? [])].map(({ gate }) => gate),
      stop: (session: string) => void options.running()?.stop(session),
    };
    return openFleet({ url, version, worker: role, address: options.address, turns, accept: createAccept(options), warn });
  };
  /** All apps of the process share it: the store knows the last checkpoint of each session. */
  const openParts = async (url: string, files: StoreParts): Promise<Opened> => {
    const { sharedStore } = await import("./fleet/fleet.ts");
    fleet = open(url);
    const shared = sharedStore(await fleet, files, { workspaces: role === null ? null : workspaces(), warn });
    return { fleet: await fleet, shared, files };
  };
  async function* followed(watch: Api["turn"]["watch"], { session, afterSeq }: { session: string; afterSeq: number }) {
    const { followRun } = await import("./fleet/fleet.ts");
    const parts = await opened;
    if (parts === null) return yield* watch({ session, afterSeq, until: "idle" });
    yield* followRun({ db: parts.fleet.db, watch }, { session, afterSeq, isOnlyRun: false });
  }
  return {
    async openStore(url, files) {
      opened ??= openParts(url, files);
      return (await opened).shared.store;
    },
    async connect(address) {
      if (opened === null) throw new Fault("connection-lost", `${address} is a worker of a fleet, and no fleet is open here`);
      const { connectOver } = await import("./hub/api-client.ts");
      const { fleet: line } = await opened;
      const worker = address.slice("fleet:".length);
      return (await connectOver((accept) => line.connect(worker, accept), { client: `skein ${version}` })).api;
    },
    async commands(wanted) {
      role = wanted;
      if (role !== null) mkdirSync(workspaces(), { recursive: true, mode: 0o700 });
      const api = await options.openApi({ store: "fleet", ...(role === null ? {} : { cwd: workspaces() }) });
      await api.turn.pending({ session: null }); // opens the store
      if (opened === null) throw new Fault("internal", "the fleet's store was not opened");
      const { createFleetCommands, workspaceOf } = await import("./fleet/fleet.ts");
      const openApi = (cwd: string, { trust }: { trust: CallerTrust }) =>
        options.openApi({ store: "fleet", cwd, trust, continuesTurns: true, lenient: false });
      return createFleetCommands({ ...(await opened), api, openApi, workspaceOf: (root) => workspaceOf(workspaces(), root) });
    },
    async frontEndApi(overrides) {
      const api = await options.openApi({ ...overrides, store: "fleet", continuesTurns: false });
      const watch: Api["turn"]["watch"] = (params) => (params.until === "idle" ? followed(api.turn.watch, params) : api.turn.watch(params));
      return { ...api, turn: { ...api.turn, watch } };
    },
    close: async () => (await fleet?.catch(() => null))?.close(),
  };
}

/** Serves the Api on the shared store to other machines. A caller's environment is not accepted from there. */
function createAccept({ version, startedAt, openApi }: ProcessFleetOptions): (connection: Connection) => FrameHandler {
  let api: Promise<Api> | null = null;
  const shared = async (): Promise<Api> => ({ ...(await (api ??= openApi({ store: "fleet", lenient: true }))), close: async () => {} });
  const loaded = import("./hub/serve-api.ts");
  return (connection) => {
    const handler = loaded.then(({ serveApi }) => serveApi(connection, { apiFor: shared, version, startedAt, transport: "web" }));
    handler.catch((error: unknown) => connection.close(`the server can't be loaded: ${String(error)}`));
    const pass = (call: (served: FrameHandler) => void): void => void handler.then(call, () => {});
    return { receive: (frame) => pass((served) => served.receive(frame)), closed: (why) => pass((served) => served.closed(why)) };
  };
}
