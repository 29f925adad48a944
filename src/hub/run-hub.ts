// The hub itself: both listeners over one process' houses, from the moment it is found by others until it is told to
// stop. Turns that run then may finish for a while; the rest is stopped and recorded as that.
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { pollUntil } from "../kit/flow/sleep.ts";
import { processStartTime } from "../kit/process/processes.ts";
import type { MethodName } from "../protocol/api/api.ts";
import type { Api } from "../protocol/api/api.ts";
import { protocolVersion } from "../protocol/api/control.ts";
import { Fault, messageOf } from "../protocol/api/error.ts";
import type { AcceptConnection } from "./connection.ts";
import { listenPrivateSocket } from "./private-socket.ts";
import { hubPaths, readHubFile, removeHubFiles, takeHubLock, writePrivateFile, type HubFile } from "./hub-file.ts";
import { serveApi, type Hello, type ServeOptions } from "./serve-api.ts";
import { listenWeb } from "./web-socket.ts";

export type HubDeps = {
  state: string;
  version: string;
  /** Null: 4444, or the next one that is free. */
  port: number | null;
  apiFor: (hello: Hello) => Promise<Api>;
  /** The hub's own, to see what runs. */
  api: Api;
  /** Whether another hub takes work; one that is stopping is waited for. */
  isThere: () => Promise<boolean>;
  onStop: (stop: () => void) => void;
  /** Told once it answers. */
  onReady: (file: HubFile) => void;
  log: (line: string) => void;
};

/** How long turns may go on after the hub was told to stop, and what a stopped one needs to be recorded. */
export const stopTimeouts = { finishMs: 10_000, cancelMs: 20_000 };

const firstPort = 4444;
const lookEveryMs = 5_000;
const beginsWork = new Set<MethodName | "hub.hello">([
  "hub.hello",
  "turn.start",
  "bash.execute",
  "doctor.tryAgents",
  "transcript.import",
  "session.describe",
]);

/** False: another hub is there and stays. Otherwise it resolves when this one has been stopped. */
export async function runHub(deps: HubDeps): Promise<boolean> {
  const lock = await pollUntil(
    stopTimeouts.finishMs,
    async () => (await takeHubLock(deps.state)) ?? ((await deps.isThere()) ? "taken" : null),
  );
  if (lock === null || lock === "taken") return false;
  const stopping = Promise.withResolvers<number>();
  const hub = { isStopping: false };
  deps.onStop(() => stopping.resolve(stopTimeouts.finishMs));
  const listeners = listen(deps, hub, stopping.resolve);
  const looking = setInterval(() => void isAbandoned(deps).then((yes) => yes && stopping.resolve(0)), lookEveryMs);
  try {
    void recoverTurns(deps);
    const finishMs = await stopping.promise;
    hub.isStopping = true;
    deps.log(`stopping; turns have ${finishMs} ms to finish`);
    await endTurns(deps.api, finishMs);
  } finally {
    clearInterval(looking);
    listeners.close();
    if (isFound(deps.state)) removeHubFiles(deps.state);
    lock.release();
  }
  deps.log("stopped");
  return true;
}

function listen(deps: HubDeps, hub: { isStopping: boolean }, stop: (finishMs: number) => void): { close: () => void } {
  const { state, version, apiFor } = deps;
  const places = hubPaths(state);
  const startedAt = Date.now();
  const accept =
    (transport: ServeOptions["transport"]): AcceptConnection =>
    (connection) =>
      serveApi(connection, {
        apiFor,
        version,
        startedAt,
        transport,
        refuse: (row) => (hub.isStopping && beginsWork.has(row) ? new Fault("hub-unreachable", "the hub is stopping") : null),
        extraMethods: transport === "private" ? { "hub.stop": (params) => stop(waitIn(params)) } : {},
      });
  const socket = join(state, "run", `${process.pid}-${randomBytes(4).toString("hex")}.sock`);
  const token = randomBytes(32).toString("base64url");
  const ports = deps.port === null ? Array.from({ length: 100 }, (_, more) => firstPort + more) : [deps.port];
  const web = listenWeb({ ports, token, accept: accept("web") });
  const unix = listenPrivateSocket(socket, accept("private"));
  const file: HubFile = {
    url: web.url,
    socket,
    pid: process.pid,
    version,
    protocol: protocolVersion,
    started_at: new Date(startedAt).toISOString(),
    token_file: places.token,
    process_start: processStartTime(process.pid) ?? "",
  };
  writePrivateFile(places.token, token);
  writePrivateFile(places.file, `${JSON.stringify(file, null, 2)}\n`);
  deps.log(`skein ${version} serves ${web.url} and ${socket}, process ${process.pid}`);
  deps.onReady(file);
  return {
    close() {
      web.close();
      unix.close();
    },
  };
}

function isFound(state: string): boolean {
  return readHubFile(state)?.pid === process.pid;
}

/** A hub that nobody can find and that does nothing has no reason to stay: its directory was removed, for one. */
async function isAbandoned({ state, api }: HubDeps): Promise<boolean> {
  try {
    return !isFound(state) && (await api.health.check()).running === 0;
  } catch {
    return false; // A file that can't be read now, for want of handles perhaps, is looked for again.
  }
}

function waitIn({ wait_ms, ...rest }: Record<string, unknown>): number {
  const [stranger] = Object.keys(rest);
  if (stranger !== undefined) throw new Fault("usage", `hub.stop takes no ${stranger.slice(0, 100)}`);
  if (wait_ms === undefined) return stopTimeouts.finishMs;
  if (typeof wait_ms === "number" && wait_ms >= 0) return wait_ms;
  throw new Fault("usage", "wait_ms is a number of milliseconds");
}

/** Turns of processes that are gone: a hub that was killed, for one. */
async function recoverTurns({ api, log }: HubDeps): Promise<void> {
  try {
    const left = (await api.turn.list({ endedSince: null })).filter(({ state }) => state === "interrupted");
    for (const { session } of left) {
      const { outcome } = await api.turn.kill({ session: session.id, force: false });
      log(`session ${session.id}: its process was gone; its turn is recorded as ${outcome}`);
    }
  } catch (error) {
    log(`what others left could not be recorded: ${messageOf(error)}`);
  }
}

async function endTurns(api: Api, finishMs: number): Promise<void> {
  const isQuiet = async () => (await api.health.check()).running === 0 || null;
  if (await pollUntil(finishMs, isQuiet)) return;
  // Again and again: one that was asked for before may begin only now.
  await pollUntil(stopTimeouts.cancelMs, async () => {
    const ours = (await api.turn.list({ endedSince: null })).filter(({ pid }) => pid === process.pid);
    await Promise.allSettled(ours.map(({ session }) => api.turn.cancel({ session: session.id })));
    return isQuiet();
  });
}
