// Runs the hub: both listeners, until it is asked to stop. Running turns get some time to finish; then they are
// stopped and their end is recorded. The next hub continues those that were left to a hub.
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { wallClock } from "../kit/flow/clock.ts";
import { pollUntil } from "../kit/flow/sleep.ts";
import { processStartTime } from "../kit/process/processes.ts";
import type { Api, MethodName } from "../protocol/api/api.ts";
import { protocolVersion } from "../protocol/api/control.ts";
import { Fault, messageOf } from "../protocol/api/error.ts";
import { Callers } from "./callers.ts";
import type { AcceptConnection, Connection, FrameHandler } from "../protocol/connection/connection.ts";
import { listenPrivateSocket } from "./private-socket.ts";
import { hubPaths, readHubFile, removeHubFiles, takeHubLock, writePrivateFile, type HubFile } from "./hub-file.ts";
import { PendingRunner } from "./pending-runner.ts";
import { createSocketListener, type SocketListener } from "./socket-listener.ts";
import { serveApi, type Hello, type ServeOptions } from "./serve-api.ts";
import { listenWeb } from "./web-socket.ts";

export type HubDeps = {
  state: string;
  version: string;
  /** See `listenWeb`. */
  port: number | null;
  apiFor: (hello: Hello) => Promise<Api>;
  /** Creates the server of `skein web`, which listens only after a request. */
  createPage: (deps: PageDeps) => PageServer;
  /** Serves the Agent Client Protocol to one connection of the WebSocket at `/acp`. */
  serveAcp: (connection: Connection, apiFor: HubDeps["apiFor"]) => FrameHandler;
  /** The hub's own Api, to list running turns. */
  api: Api;
  /** A hub that is stopping does not count. */
  isOtherHubRunning: () => Promise<boolean>;
  /** Called once with the function that stops the hub, for signals. */
  onStop: (stop: () => void) => void;
  /** Called once, when the hub answers. */
  onReady: (file: HubFile) => void;
  /** The environment of the hub, for pending turns whose caller is not known. */
  env: Record<string, string | undefined>;
  log: (line: string) => void;
};

export type PageDeps = { sockets: SocketListener; state: string; version: string; log: (line: string) => void };

/** The server of `skein web`. It belongs to another module; the hub starts and stops it. */
export type PageServer = {
  /** Listens again if the page was open when the last hub ended. Never rejects. */
  reopen: () => Promise<void>;
  /** Methods over the unix socket, by their names in the protocol. */
  methods: Record<string, (params: Record<string, unknown>) => unknown>;
  close: () => void;
};

export const stopTimeouts = {
  /** How long turns may continue after the request to stop. */
  finishMs: 10_000,
  /** How long the cancellation of turns may take. */
  cancelMs: 20_000,
};

const checkEveryMs = 5_000;
/** Methods that start work. A hub that is stopping refuses them. */
const startingMethods = new Set<MethodName | "hub.hello">([
  "hub.hello",
  "turn.start",
  "turn.queue",
  "turn.startPending",
  "bash.execute",
  "doctor.tryAgents",
  "transcript.import",
  "session.describe",
]);

/** Resolves when this hub has stopped; with false if another hub runs. */
export async function runHub(deps: HubDeps): Promise<boolean> {
  const lock = await pollUntil(
    stopTimeouts.finishMs,
    async () => (await takeHubLock(deps.state)) ?? ((await deps.isOtherHubRunning()) ? "other hub" : null),
  );
  if (lock === null || lock === "other hub") return false;
  const stopping = Promise.withResolvers<number>();
  const hub = { isStopping: false };
  deps.onStop(() => stopping.resolve(stopTimeouts.finishMs));
  const { runner, apiFor } = createRunner(deps);
  const listeners = listen({ ...deps, apiFor }, hub, stopping.resolve);
  const abandonedCheck = setInterval(() => void isAbandoned(deps).then((abandoned) => abandoned && stopping.resolve(0)), checkEveryMs);
  try {
    void recoverTurns(deps).finally(() => runner.start());
    const finishMs = await stopping.promise;
    hub.isStopping = true;
    runner.stop();
    deps.log(`stopping; turns have ${finishMs} ms to finish`);
    await endTurns(deps.api, finishMs);
  } finally {
    clearInterval(abandonedCheck);
    listeners.close();
    if (isRegistered(deps.state)) removeHubFiles(deps.state);
    lock.release();
  }
  deps.log("stopped");
  return true;
}

/** A new hub waits this long for a caller before it starts pending turns with its own environment. */
const callerGraceMs = 5_000;

/** The runner of pending turns, and an `apiFor` that keeps the environments of callers for it. */
function createRunner({ api, apiFor, env, log }: HubDeps): { runner: PendingRunner; apiFor: HubDeps["apiFor"] } {
  const callers = new Callers();
  const startedAt = Date.now();
  // The program that starts a hub connects at once. Without its environment a turn could ask another server than before.
  const isReady = () => callers.version > 0 || Math.abs(Date.now() - startedAt) > callerGraceMs;
  const runner = new PendingRunner({
    pending: async () => (isReady() ? api.turn.pending({ session: null }) : []),
    apiFor: (turn) => apiFor(callers.find(turn, env)),
    callerVersion: () => callers.version,
    clock: wallClock,
    log,
  });
  return { runner, apiFor: async (hello) => callers.track(hello, await apiFor(hello), () => runner.wake()) };
}

function listen(deps: HubDeps, hub: { isStopping: boolean }, stop: (finishMs: number) => void): { close: () => void } {
  const { state, version } = deps;
  const paths = hubPaths(state);
  const startedAt = Date.now();
  const accept: AcceptFor =
    (transport, apiFor = deps.apiFor) =>
    (connection) =>
      serveApi(connection, {
        apiFor,
        version,
        startedAt,
        transport,
        refuse: (method) => (hub.isStopping && startingMethods.has(method) ? new Fault("hub-unreachable", "the hub is stopping") : null),
        extraMethods: transport === "private" ? { "hub.stop": (params) => stop(parseWaitMs(params)), ...pageMethods } : {},
      });
  const { page, methods: pageMethods } = createPage(deps, accept);
  const socket = join(state, "run", `${process.pid}-${randomBytes(4).toString("hex")}.sock`);
  const token = randomBytes(32).toString("base64url");
  const acceptWeb = accept("web");
  const acceptAt = (connection: Connection, path: string) =>
    path === "/acp" ? deps.serveAcp(connection, deps.apiFor) : acceptWeb(connection);
  const web = listenWeb({ port: deps.port, token, accept: acceptAt });
  const unix = listenPrivateSocket(socket, accept("private"));
  const file: HubFile = {
    url: web.url,
    socket,
    pid: process.pid,
    version,
    protocol: protocolVersion,
    started_at: new Date(startedAt).toISOString(),
    token_file: paths.token,
    process_start: processStartTime(process.pid) ?? "",
  };
  writePrivateFile(paths.token, token);
  writePrivateFile(paths.file, `${JSON.stringify(file, null, 2)}\n`);
  void page.reopen();
  deps.log(`skein ${version} serves ${web.url} and ${socket}, process ${process.pid}`);
  deps.onReady(file);
  return {
    close() {
      page.close();
      web.close();
      unix.close();
    },
  };
}

type AcceptFor = (transport: ServeOptions["transport"], apiFor?: HubDeps["apiFor"]) => AcceptConnection;

/**
 * The server of `skein web`. A browser sends no environment, so its turns get the one of the process that called `skein web`
 * last, or else that of the hub. It is held in memory only.
 */
function createPage({ createPage: create, apiFor, ...deps }: HubDeps, accept: AcceptFor): { page: PageServer; methods: ExtraMethods } {
  let env: Hello["env"] = null;
  const acceptBrowser = accept("web", (hello) => apiFor({ ...hello, env }));
  const page = create({ ...deps, sockets: createSocketListener(acceptBrowser, { idleSeconds: browserIdleSeconds }) });
  const methods = Object.entries(page.methods).map(([name, run]): [string, ExtraMethods[string]] => [
    name,
    (params, hello) => {
      env = hello.env ?? env;
      return run(params);
    },
  ]);
  return { page, methods: Object.fromEntries(methods) };
}

type ExtraMethods = NonNullable<ServeOptions["extraMethods"]>;

/** A browser answers pings also while its page is frozen. One that does not is asleep or gone, and connects again later. */
const browserIdleSeconds = 120;

function isRegistered(state: string): boolean {
  return readHubFile(state)?.pid === process.pid;
}

/** True if no client can find the hub and no turn runs, for example because its directory was removed. */
async function isAbandoned({ state, api }: HubDeps): Promise<boolean> {
  try {
    return !isRegistered(state) && (await api.health.check()).running === 0;
  } catch {
    return false; // The file may be unreadable for a moment, for example without free file handles. The next check reads it again.
  }
}

function parseWaitMs({ wait_ms, ...others }: Record<string, unknown>): number {
  const [unknownField] = Object.keys(others);
  if (unknownField !== undefined) throw new Fault("usage", `hub.stop takes no ${unknownField.slice(0, 100)}`);
  if (wait_ms === undefined) return stopTimeouts.finishMs;
  if (typeof wait_ms === "number" && wait_ms >= 0) return wait_ms;
  throw new Fault("usage", "wait_ms must be a number of milliseconds");
}

/** Records the end of turns whose process has exited, for example a killed hub. Turns that were left to a hub are continued. */
async function recoverTurns({ api, log }: HubDeps): Promise<void> {
  try {
    const interrupted = (await api.turn.list({ endedSince: null })).filter(({ state }) => state === "interrupted");
    for (const { session } of interrupted) {
      const { outcome } = await api.turn.kill({ session: session.id, force: false, mayContinue: true });
      const isContinued = (await api.turn.pending({ session: session.id })).some(({ kind }) => kind === "continued");
      log(`session ${session.id}: its process had exited; its turn ${isContinued ? "will be continued" : `is recorded as ${outcome}`}`);
    }
  } catch (error) {
    log(`interrupted turns could not be recorded: ${messageOf(error)}`);
  }
}

async function endTurns(api: Api, finishMs: number): Promise<void> {
  const isIdle = async () => (await api.health.check()).running === 0 || null;
  if (await pollUntil(finishMs, isIdle)) return;
  // Repeated, because a turn that was requested earlier may start only now.
  await pollUntil(stopTimeouts.cancelMs, async () => {
    const ownTurns = (await api.turn.list({ endedSince: null })).filter(({ pid }) => pid === process.pid);
    await Promise.allSettled(ownTurns.map(({ session }) => api.turn.cancel({ session: session.id, mayContinue: true })));
    return isIdle();
  });
}
