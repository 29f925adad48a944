// Finds, starts and stops the hub. A hub that skein starts by itself gets no credentials: each caller sends its own
// over the socket.
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, statSync, truncateSync } from "node:fs";
import { pollUntil } from "../kit/flow/sleep.ts";
import { resumeIfStopped } from "../kit/process/freeze.ts";
import { absolutePath } from "../kit/files/absolute-path.ts";
import { isStopped, processStartTime } from "../kit/process/processes.ts";
import { Fault, messageOf } from "../protocol/api/error.ts";
import { connect, type ApiCaller, type RemoteApi } from "./api-client.ts";
import { hubPaths, readHubFile, type HubFile } from "./hub-file.ts";

export type HubLookup = {
  state: string;
  home: string;
  /** The command that starts this program again. */
  selfCommand: readonly string[];
  version: string;
  env: Record<string, string | undefined>;
};

const limits = { startMs: 15_000, stopMs: 25_000 };

/** Connects to the hub with the environment of this process. Its turns outlive this process. */
export async function connectHub(
  lookup: HubLookup,
  caller: Pick<ApiCaller, "directory" | "trust">,
  options: { start: boolean },
): Promise<RemoteApi> {
  const file = options.start ? (await startHub(lookup, { port: null, credentials: "left out" })).file : requireHub(lookup);
  return connectToHubFile(lookup, file, { ...caller, env: withAbsolutePaths(lookup) });
}

export function connectToHubFile({ version }: HubLookup, file: HubFile, caller: Omit<ApiCaller, "client"> = {}): Promise<RemoteApi> {
  refuseSuspended(file);
  return connect({ socket: file.socket }, { client: `skein ${version}`, ...caller });
}

/** The socket of a suspended process accepts connections and never answers. */
function refuseSuspended({ pid }: HubFile): void {
  if (!isStopped(pid)) return;
  throw new Fault("hub-unreachable", `the hub (process ${pid}) is suspended`, {
    hint: `continue the hub with: kill -CONT ${pid}, or end it with: skein hub stop`,
  });
}

function requireHub({ state }: HubLookup): HubFile {
  const file = readHubFile(state);
  if (file === null) throw new Fault("hub-unreachable", "no hub runs", { hint: "skein hub start" });
  return file;
}

export type StartHubOptions = { port: number | null; credentials: "kept" | "left out" };

/** Returns the running hub, or starts one and waits until it answers. */
export async function startHub(lookup: HubLookup, start: StartHubOptions): Promise<{ file: HubFile; isNew: boolean }> {
  const running = await findRunningHub(lookup);
  if (running !== null) return { file: running, isNew: false };
  const started = await spawnHub(lookup, start);
  const found = await pollUntil(limits.startMs, async () => {
    // Read this first: a process that exits because of another hub has seen that hub answer.
    const hasEnded = started.isGone();
    return (await findRunningHub(lookup)) ?? (hasEnded ? "exited" : null);
  });
  if (found === "exited") throw startFault(lookup, "it exited");
  if (found?.pid === started.pid) return { file: found, isNew: true };
  if (!started.isGone()) sendSignal(started.pid, "SIGTERM");
  if (found === null) throw startFault(lookup, "it does not answer");
  // Another hub was faster. Ours must have exited, so that it does not take over when the other hub is stopped.
  while (!started.isGone()) await Bun.sleep(5);
  return { file: found, isNew: false };
}

/** Null if no hub accepts work. Throws for a hub that is suspended or has another protocol version. */
export async function findRunningHub(lookup: HubLookup): Promise<HubFile | null> {
  const file = readHubFile(lookup.state);
  if (file === null) return null;
  refuseSuspended(file);
  try {
    await (await connectToHubFile(lookup, file)).api.close();
    return file;
  } catch (error) {
    if (error instanceof Fault && ["connection-lost", "hub-unreachable"].includes(error.code)) return null;
    throw error;
  }
}

type HubProcess = { pid: number; isGone: () => boolean };

/**
 * Starts the hub in its own process session, and not as a child of this process. So it survives the terminal and this process.
 * It also survives a program that kills all its descendants, as opencode does with its MCP servers.
 */
async function spawnHub(lookup: HubLookup, { port, credentials }: StartHubOptions): Promise<HubProcess> {
  const { state, home, selfCommand } = lookup;
  const absoluteEnv = withAbsolutePaths(lookup);
  const env = credentials === "kept" ? absoluteEnv : withoutCredentials(absoluteEnv);
  mkdirSync(state, { recursive: true, mode: 0o700 });
  const { log } = hubPaths(state);
  // Creates the log with its mode before the shell appends to it.
  closeSync(openSync(log, "a", 0o600));
  if (statSync(log).size > 1 << 20) truncateSync(log);
  const argv = [...selfCommand, "hub", "start", "--foreground", ...(port === null ? [] : ["--port", String(port)])];
  const starter = Bun.spawn(["/bin/sh", "-c", 'log=$1; shift; "$@" >>"$log" 2>&1 & echo $!', "sh", log, ...argv], {
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

function startFault({ state }: HubLookup, why: string): Fault {
  const { log } = hubPaths(state);
  let lastLines = "";
  try {
    lastLines = readFileSync(log, "utf8").trimEnd().split("\n").slice(-3).join("\n");
  } catch (error) {
    lastLines = messageOf(error);
  }
  return new Fault("hub-unreachable", `the hub did not start: ${why}`, { hint: `${lastLines === "" ? "" : `${lastLines}\n`}see ${log}` });
}

export type StopHubResult = { outcome: "not-running" | "stopped" | "killed"; pid: number | null };

export async function stopHub(lookup: HubLookup, waitMs: number): Promise<StopHubResult> {
  const file = readHubFile(lookup.state);
  if (file === null) return { outcome: "not-running", pid: null };
  const { pid } = file;
  const isGone = () => processStartTime(pid) !== file.process_start;
  resumeIfStopped(pid);
  await requestStop(lookup, file, waitMs);
  if (await pollUntil(waitMs + limits.stopMs, async () => isGone())) return { outcome: "stopped", pid };
  sendSignal(pid, "SIGKILL");
  return { outcome: "killed", pid };
}

async function requestStop(lookup: HubLookup, file: HubFile, waitMs: number): Promise<void> {
  try {
    const { api, call } = await connectToHubFile(lookup, file);
    await call("hub.stop", { wait_ms: waitMs });
    await api.close();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    // `hub-unreachable`: the hub is already stopping. A hub with another protocol, or one that does not answer, gets a signal.
    if (error.code !== "hub-unreachable" && processStartTime(file.pid) === file.process_start) sendSignal(file.pid, "SIGTERM");
  }
}

function sendSignal(pid: number, name: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error; // it has exited
  }
}

/** The hub runs in another directory, so relative paths are resolved here. */
function withAbsolutePaths({ env, home }: HubLookup): Record<string, string | undefined> {
  const resolve = (path: string) => absolutePath(path, { cwd: process.cwd(), home });
  return Object.fromEntries(
    Object.entries(env).map(([name, value]) => [name, value && /^(SKEIN_HOME|HOME|XDG_[A-Z]+_HOME)$/.test(name) ? resolve(value) : value]),
  );
}

/** Variables that a hub needs. All others may hold keys or tokens and are left out. */
const harmlessVariables =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_[A-Z]+|TZ|TMPDIR|XDG_[A-Z_]+|SKEIN_(HOME|OFFLINE|SANDBOX_BEST)|NODE_EXTRA_CA_CERTS|(HTTPS?|NO)_PROXY|(https?|no)_proxy|BUN_RUNTIME_TRANSPILER_CACHE_PATH)$/;

function withoutCredentials(env: Record<string, string | undefined>): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => harmlessVariables.test(name)));
}
