// The hub as others find it: where it runs, started if it is wanted, stopped if it is not. A hub that nobody asked for
// gets no credentials: whoever calls brings their own, over the socket.
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, statSync, truncateSync } from "node:fs";
import { wake } from "../kit/process/freeze.ts";
import { absolutePath } from "../kit/files/absolute-path.ts";
import { isStopped, processStartTime } from "../kit/process/processes.ts";
import type { Api } from "../protocol/api/api.ts";
import { Fault, messageOf } from "../protocol/api/error.ts";
import { connect, type ApiCaller, type RemoteApi } from "./api-client.ts";
import { hubPaths, readHubFile, type HubFile } from "./hub-file.ts";

export type HubLookup = {
  state: string;
  home: string;
  /** How this program starts itself again. */
  selfCommand: readonly string[];
  version: string;
  env: Record<string, string | undefined>;
};

const patience = { startMs: 15_000, lastWordsMs: 25_000 };

/** An Api whose turns outlive this process, with the environment of whoever seeks it. */
export async function connectHubApi(
  seeker: HubLookup,
  caller: Pick<ApiCaller, "directory" | "trust">,
  options: { start: boolean },
): Promise<Api> {
  return (await connectHub(seeker, caller, options)).api;
}

/** The same, and whom one talks to. */
export async function connectHub(
  seeker: HubLookup,
  caller: Pick<ApiCaller, "directory" | "trust">,
  options: { start: boolean },
): Promise<RemoteApi> {
  const file = options.start ? (await startHub(seeker, { port: null, credentials: "left out" })).file : hubOrFault(seeker);
  return connectToHubFile(seeker, file, { ...caller, env: withWholePaths(seeker) });
}

export function connectToHubFile({ version }: HubLookup, file: HubFile, caller: Omit<ApiCaller, "client"> = {}): Promise<RemoteApi> {
  refuseAsleep(file);
  return connect({ socket: file.socket }, { client: `skein ${version}`, ...caller });
}

/** Its socket takes connections, and nobody would answer. */
function refuseAsleep({ pid }: HubFile): void {
  if (!isStopped(pid)) return;
  throw new Fault("hub-unreachable", `the hub (process ${pid}) is stopped`, {
    hint: `kill -CONT ${pid} lets it go on, skein hub stop ends it`,
  });
}

function hubOrFault({ state }: HubLookup): HubFile {
  const file = readHubFile(state);
  if (file === null) throw new Fault("hub-unreachable", "no hub runs", { hint: "skein hub start" });
  return file;
}

export type StartHubOptions = { port: number | null; credentials: "kept" | "left out" };

/** The one that runs, or a new one once it answers. */
export async function startHub(seeker: HubLookup, start: StartHubOptions): Promise<{ file: HubFile; isNew: boolean }> {
  const running = await findRunningHub(seeker);
  if (running !== null) return { file: running, isNew: false };
  const started = await spawnHub(seeker, start);
  const giveUpAt = performance.now() + patience.startMs;
  for (let waitMs = 5; performance.now() < giveUpAt; waitMs = Math.min(waitMs * 2, 100)) {
    // Asked first: one that ends because another hub is there has seen it answer.
    const hasEnded = started.isGone();
    const file = await findRunningHub(seeker);
    if (file?.pid === started.pid) return { file, isNew: true };
    if (file !== null) {
      // It came too late, and must not be there when the other one has been stopped.
      await end(started);
      return { file, isNew: false };
    }
    if (hasEnded) throw silent(seeker, "it ended");
    await Bun.sleep(waitMs);
  }
  if (!started.isGone()) signal(started.pid, "SIGTERM");
  throw silent(seeker, "it does not answer");
}

async function end({ pid, isGone }: Started): Promise<void> {
  if (!isGone()) signal(pid, "SIGTERM");
  while (!isGone()) await Bun.sleep(5);
}

/** Null when there is none that takes work. One that is stopped or speaks another protocol is there, and whoever asks is told so. */
export async function findRunningHub(seeker: HubLookup): Promise<HubFile | null> {
  const file = readHubFile(seeker.state);
  if (file === null) return null;
  refuseAsleep(file);
  try {
    await (await connectToHubFile(seeker, file)).api.close();
    return file;
  } catch (error) {
    if (error instanceof Fault && ["connection-lost", "hub-unreachable"].includes(error.code)) return null;
    throw error;
  }
}

type Started = { pid: number; isGone: () => boolean };

/**
 * In a session of its own and nobody's child: it ends neither with the terminal nor with us, nor with a program that
 * started us and ends all it finds below itself, as opencode does with its MCP servers.
 */
async function spawnHub(seeker: HubLookup, { port, credentials }: StartHubOptions): Promise<Started> {
  const { state, home, selfCommand: self } = seeker;
  const whole = withWholePaths(seeker);
  const env = credentials === "kept" ? whole : withoutCredentials(whole);
  mkdirSync(state, { recursive: true, mode: 0o700 });
  const { log } = hubPaths(state);
  closeSync(openSync(log, "a", 0o600));
  if (statSync(log).size > 1 << 20) truncateSync(log);
  const words = [...self, "hub", "start", "--foreground", ...(port === null ? [] : ["--port", String(port)])];
  const starter = Bun.spawn(["/bin/sh", "-c", 'log=$1; shift; "$@" >>"$log" 2>&1 & echo $!', "sh", log, ...words], {
    cwd: existsSync(home) ? home : state,
    env,
    detached: true,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
  });
  const pid = Number(await new Response(starter.stdout).text());
  const start = processStartTime(pid);
  return { pid, isGone: () => start === null || processStartTime(pid) !== start };
}

function silent({ state }: HubLookup, why: string): Fault {
  const { log } = hubPaths(state);
  let last = "";
  try {
    last = readFileSync(log, "utf8").trimEnd().split("\n").slice(-3).join("\n");
  } catch (error) {
    last = messageOf(error);
  }
  return new Fault("hub-unreachable", `the hub did not start: ${why}`, { hint: `${last === "" ? "" : `${last}\n`}${log} has all it said` });
}

export type StopHubResult = { outcome: "not-running" | "stopped" | "killed"; pid: number | null };

export async function stopHub(seeker: HubLookup, waitMs: number): Promise<StopHubResult> {
  const file = readHubFile(seeker.state);
  if (file === null) return { outcome: "not-running", pid: null };
  const { pid } = file;
  const isGone = () => processStartTime(pid) !== file.process_start;
  wake(pid);
  await tellToStop(seeker, file, waitMs);
  const giveUpAt = performance.now() + waitMs + patience.lastWordsMs;
  for (let pause = 5; performance.now() < giveUpAt; pause = Math.min(pause * 2, 100)) {
    if (isGone()) return { outcome: "stopped", pid };
    await Bun.sleep(pause);
  }
  signal(pid, "SIGKILL");
  return { outcome: "killed", pid };
}

async function tellToStop(seeker: HubLookup, file: HubFile, waitMs: number): Promise<void> {
  try {
    const { api, call } = await connectToHubFile(seeker, file);
    await call("hub.stop", { wait_ms: waitMs });
    await api.close();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    // It is stopping already. One that speaks another protocol, or does not answer, hears a signal.
    if (error.code !== "hub-unreachable" && processStartTime(file.pid) === file.process_start) signal(file.pid, "SIGTERM");
  }
}

function signal(pid: number, name: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error; // it has ended by itself
  }
}

/** The hub stands somewhere else: what is relative here counts from here. */
function withWholePaths({ env, home }: HubLookup): Record<string, string | undefined> {
  const whole = (path: string) => absolutePath(path, { cwd: process.cwd(), home });
  return Object.fromEntries(
    Object.entries(env).map(([name, value]) => [name, value && /^(SKEIN_HOME|HOME|XDG_[A-Z]+_HOME)$/.test(name) ? whole(value) : value]),
  );
}

/** What a process needs to live here. Keys, tokens and whatever else a name does not tell stay out. */
const kept =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_[A-Z]+|TZ|TMPDIR|XDG_[A-Z_]+|SKEIN_(HOME|OFFLINE|SANDBOX_BEST)|NODE_EXTRA_CA_CERTS|(HTTPS?|NO)_PROXY|(https?|no)_proxy|BUN_RUNTIME_TRANSPILER_CACHE_PATH)$/;

function withoutCredentials(env: Record<string, string | undefined>): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => kept.test(name)));
}
