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
import type { AcceptConnection } from "./connection.ts";
import { listenPrivateSocket } from "./private-socket.ts";
import { hubPaths, readHubFile, removeHubFiles, takeHubLock, writePrivateFile, type HubFile } from "./hub-file.ts";
import { PendingRunner } from "./pending-runner.ts";
import { serveApi, type Hello, type ServeOptions } from "./serve-api.ts";
import { listenWeb } from "./web-socket.ts";

export type HubDeps = {
  state: string;
  version: string;
  /** See `listenWeb`. */
  port: number | null;
  apiFor: (hello: Hello) => Promise<Api>;
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

/** The runner of pending turns, and an `apiFor` that remembers the environments of callers for it. */
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
  const { state, version, apiFor } = deps;
  const paths = hubPaths(state);
  const startedAt = Date.now();
  const accept =
    (transport: ServeOptions["transport"]): AcceptConnection =>
    (connection) =>
      serveApi(connection, {
        apiFor,
        version,
        startedAt,
        transport,
        refuse: (method) => (hub.isStopping && startingMethods.has(method) ? new Fault("hub-unreachable", "the hub is stopping") : null),
        extraMethods: transport === "private" ? { "hub.stop": (params) => stop(parseWaitMs(params)) } : {},
      });
  const socket = join(state, "run", `${process.pid}-${randomBytes(4).toString("hex")}.sock`);
  const token = randomBytes(32).toString("base64url");
  const web = listenWeb({ port: deps.port, token, accept: accept("web") });
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
  deps.log(`skein ${version} serves ${web.url} and ${socket}, process ${process.pid}`);
  deps.onReady(file);
  return {
    close() {
      web.close();
      unix.close();
    },
  };
}

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
