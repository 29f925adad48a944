// Starts the executor process, sends tool calls to it and settles each call, also when that process ends.
// Runs no tool itself. `command` decides whether the process is sandboxed.
import { PauseGate, type PausableWork } from "../kit/flow/pause-gate.ts";
import { endFamily } from "../kit/process/processes.ts";
import { oneLine } from "../kit/text/cut-text.ts";
import { Excerpt } from "../kit/text/excerpt.ts";
import { Fault, messageOf } from "../protocol/api/error.ts";
import type { SandboxInfo } from "../protocol/api/policy.ts";
import type { Executor, ProgramOptions, ToolCallOptions, ToolOutcome } from "../protocol/api/ports.ts";
import { callTag, newExecutorTag } from "./call-tag.ts";
import { toolEnvironment } from "./environment.ts";
import { readOutcome } from "./read-outcome.ts";
import {
  type CallRequest,
  type CallResult,
  FrameReader,
  frameTypes,
  inputFrame,
  jsonFrame,
  maxFrameBytes,
  type PauseAnswer,
  readJsonFrame,
  readOutputFrame,
} from "./frames.ts";

export type ExecutorOptions = {
  /** A program that calls `serveExecutor`, usually started by the sandbox launcher. */
  command: string[];
  /** Variables for the launcher itself. */
  launchEnv?: Record<string, string>;
  /** The user's environment. Only the variables that tools may see are passed on. */
  env: Record<string, string | undefined>;
  cwd: string;
  /** The same value that `command` passes to the executor. It also limits the environment of the process itself. */
  sandbox?: SandboxInfo | null;
  /** The topmost session. Pausing it pauses every session of this executor. */
  root?: string;
  readyMs?: number;
  /** Called for each process that is started. Missing if the sandbox leaves no port open. */
  attachPort?: () => AttachedPort;
};

/** A port of the sandbox that leads to named hosts. */
export type AttachedPort = {
  /** Connects the port to skein; null if it is a port of the machine. */
  receiver: { childEnd: number; closeChildEnd: () => void } | null;
  /** Texts about refused connections, from the oldest on. */
  refusals: readonly string[];
  /** Called when the process has ended. */
  close: () => void;
};

type RunningExecutor = { connection: ExecutorConnection; tag: string; port: AttachedPort | null };

export type StartedExecutor = Executor & {
  ready: Promise<void>;
  /** Kills the process at once, with all that it started. Running calls end with `message`. No further call runs. */
  abort: (message: string) => void;
};

/** `ready` rejects with `sandbox-unavailable` if the process ends or sends nothing for `readyMs`. */
export function startExecutor(options: ExecutorOptions): StartedExecutor {
  const { command, cwd, readyMs = 10_000 } = options;
  const env = { ...toolEnvironment(options.env, options.sandbox ?? null), ...options.launchEnv };
  let isClosed = false;
  let callCount = 0;

  const open = (): RunningExecutor => {
    const tag = newExecutorTag();
    const port = options.attachPort?.() ?? null;
    const connection = new ExecutorConnection({ command, env, cwd, readyMs, tag, port });
    if (port !== null) void connection.ended.finally(port.close);
    return { connection, tag, port };
  };
  let current = open();

  const gates = createSessionGates((session, isPaused) => {
    const target = session === options.root ? null : session;
    return isPaused ? current.connection.pause(target) : current.connection.resume(target);
  });
  /** Waits while the session is paused, then for the process. Null if the call was cancelled meanwhile. */
  const beginCall = async (callOptions: ProgramOptions) => {
    const { session, cwd, signal } = callOptions;
    gates.register(callOptions);
    await gates.of(session).whenOpen();
    if (signal.aborted) return null;
    if (isClosed) throw new Fault("executor-gone", "the executor is closed");
    if (current.connection.hasEnded) current = open();
    const { connection, tag, port } = current;
    await connection.ready;
    const refusedBefore = port?.refusals.length ?? 0;
    const call = (callCount += 1);
    const { env, entry } = callTag(tag, call);
    const fields = { call, session, cwd, env: { ...callOptions.env, ...env }, envTag: entry };
    const explain = (outcome: ToolOutcome) => withRefusals(outcome, port?.refusals.slice(refusedBefore) ?? []);
    return { connection, fields, explain };
  };

  return {
    ready: current.connection.ready,
    async callTool(name, input, callOptions) {
      const begun = await beginCall(callOptions);
      if (begun === null) return cancelledBefore;
      const request = { ...begun.fields, name, input, separateStreams: callOptions.separateStreams === true };
      return begun.explain(await begun.connection.call(request, callOptions));
    },
    async openProgram(command, programOptions) {
      const begun = await beginCall(programOptions);
      if (begun === null) return { write: () => {}, ended: Promise.resolve(cancelledBefore) };
      const { connection, fields, explain } = begun;
      const request = { ...fields, name: "program", input: {}, program: command, separateStreams: true };
      return {
        ended: connection.call(request, programOptions).then(explain),
        write: (bytes) => connection.sendInput(fields.call, bytes),
      };
    },
    abort(message) {
      isClosed = true;
      current.connection.abort(message);
    },
    async close() {
      isClosed = true;
      await current.connection.close();
    },
  };
}

/** The pause gate of each session. `onChange` is called when a session is paused, and before it resumes. */
function createSessionGates(onChange: (session: string, isPaused: boolean) => void | Promise<void>) {
  const gates = new Map<string, PauseGate>();
  const gateOf = (session: string): PauseGate => {
    const gate = gates.get(session) ?? new PauseGate();
    gates.set(session, gate);
    return gate;
  };
  const pausableOf = (session: string): PausableWork => ({
    pause: () => {
      gateOf(session).pause();
      return onChange(session, true);
    },
    resume: () => {
      void onChange(session, false);
      gateOf(session).resume();
    },
  });
  // Once per turn, not per call: a turn also pauses the background processes of its finished calls.
  const registered = new WeakSet<NonNullable<ToolCallOptions["pausable"]>>();
  const register = ({ pausable, session }: ProgramOptions): void => {
    if (pausable === undefined || registered.has(pausable)) return;
    registered.add(pausable);
    pausable(pausableOf(session));
  };
  return { of: gateOf, register };
}

/** `tag` is the beginning of the environment entry of every process of its calls. */
type ConnectionOptions = {
  command: string[];
  env: Record<string, string>;
  cwd: string;
  readyMs: number;
  tag: string;
  port: AttachedPort | null;
};
type ExecutorProcess = Bun.Subprocess<"pipe", "pipe", "pipe">;

const cancelledBefore: ToolOutcome = { text: "cancelled before it ran", isError: true };
const notStopped: ToolOutcome = { text: "cancelled; the tool did not stop in time, so its executor was ended", isError: true };

type PendingCall = { settle: (outcome: ToolOutcome) => void; onOutput: ToolCallOptions["onOutput"] };

// The optimising compiler costs the executor 5 MB and makes it no faster. Run from source, the executor would also
// write a transpiler cache to the user's home. Tools never see these variables.
const runtimeSettings = { BUN_JSC_useDFGJIT: "0", BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0" };
const cancelTimeoutMs = 10_000;
const closeTimeoutMs = 3_000;
const streamEndTimeoutMs = 200;
/** Garbage is collected after this many bytes of output. A collection takes about 5 ms. */
const collectAfterBytes = 32 << 20;

/** One executor process, from spawn until it and all its processes have ended, with its pending calls. */
class ExecutorConnection {
  readonly ready: Promise<void>;
  /** Resolves with a text that completes "the executor ...". */
  readonly ended: Promise<string>;
  hasEnded = false;
  readonly #process: ExecutorProcess | null;
  readonly #pending = new Map<number, PendingCall>();
  /** Pauses that the executor has not confirmed. */
  readonly #pauses = new Map<number, () => void>();
  #pauseCount = 0;
  readonly #stderr = new Excerpt(1024, 3072);
  readonly #tag: string;
  #abortMessage: string | null = null;

  constructor(options: ConnectionOptions) {
    this.#tag = options.tag;
    const readiness = Promise.withResolvers<void>();
    this.ready = readiness.promise;
    const child = spawnExecutor(options);
    this.#process = typeof child === "string" ? null : child;
    this.ended = typeof child === "string" ? Promise.resolve(child) : this.#follow(child, readiness.resolve);

    const timer = setTimeout(() => {
      readiness.reject(unavailable(`was not ready within ${options.readyMs} ms`, this.#stderr));
      void this.#kill();
    }, options.readyMs);
    // A failure is reported to the first call, so a rejection before it is not unhandled.
    void this.ready.catch(() => undefined).finally(() => clearTimeout(timer));
    void this.ended.then((how) => {
      readiness.reject(unavailable(how, this.#stderr));
      this.hasEnded = true;
      const outcome = this.#abortMessage === null ? interrupted(how) : { text: this.#abortMessage, isError: true };
      for (const { settle } of this.#pending.values()) settle(outcome);
    });
  }

  call(request: CallRequest, { signal, onOutput }: Pick<ToolCallOptions, "signal" | "onOutput">): Promise<ToolOutcome> {
    const frame = jsonFrame(frameTypes.call, request);
    if (frame.length > maxFrameBytes) return Promise.resolve({ text: "the arguments are too large", isError: true });
    if (this.hasEnded) return Promise.resolve(interrupted("ended before the call"));
    return new Promise((resolve) => {
      let timer: Timer | undefined;
      const cancel = (): void => {
        this.#send(jsonFrame(frameTypes.cancel, { call: request.call }));
        // An executor that does not answer may be stopped or traced by a command. A turn must not end before its processes.
        timer = setTimeout(() => void this.#kill().then(() => settle(notStopped)), cancelTimeoutMs);
      };
      const settle = (outcome: ToolOutcome): void => {
        this.#pending.delete(request.call);
        clearTimeout(timer);
        signal.removeEventListener("abort", cancel);
        resolve(outcome);
      };
      this.#pending.set(request.call, { settle, onOutput });
      signal.addEventListener("abort", cancel, { once: true });
      this.#send(frame);
      if (signal.aborted) cancel();
    });
  }

  /** Nothing is sent to a program that has ended. */
  sendInput(call: number, bytes: Uint8Array): void {
    if (this.#pending.has(call)) this.#send(inputFrame(call, bytes));
  }

  /** Null pauses every session. Resolves when no process of it can run. */
  async pause(session: string | null): Promise<void> {
    if (this.hasEnded) return;
    const pause = (this.#pauseCount += 1);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#pauses.set(pause, resolve);
    this.#send(jsonFrame(frameTypes.pause, { session, pause }));
    await Promise.race([promise, this.ended]);
    this.#pauses.delete(pause);
  }

  /** Null resumes every session. */
  resume(session: string | null): void {
    if (!this.hasEnded) this.#send(jsonFrame(frameTypes.resume, { session }));
  }

  /** Closes stdin. The executor then kills its processes and exits; after `closeTimeoutMs` it is killed. */
  async close(): Promise<void> {
    if (!this.#process) return;
    try {
      void this.#process.stdin.end();
    } catch {
      // The process has ended already.
    }
    const timer = setTimeout(() => void this.#kill(), closeTimeoutMs);
    await this.ended;
    clearTimeout(timer);
  }

  abort(message: string): void {
    this.#abortMessage = message;
    void this.#kill();
  }

  /** Resolves when the executor and every process that it started have ended, also those of its pid namespace. */
  async #kill(): Promise<void> {
    if (this.#process === null || this.hasEnded) return;
    const { pid, exitCode, signalCode } = this.#process;
    // The pid of an ended process may belong to another one by now.
    await endFamily({ root: exitCode === null && signalCode === null ? pid : null, envTag: this.#tag }, 0);
    this.#process.kill("SIGKILL");
    await this.ended;
  }

  async #follow(child: ExecutorProcess, onReady: () => void): Promise<string> {
    const frames = this.#readFrames(child, onReady).catch(() => void this.#kill());
    const stderr = this.#readStderr(child);
    await child.exited;
    const how = child.signalCode ? `was killed by ${child.signalCode}` : `ended with exit code ${child.exitCode}`;
    // Another process may have inherited the streams and keep them open.
    await Promise.race([Promise.all([frames, stderr]), Bun.sleep(streamEndTimeoutMs)]);
    // An executor that was killed can't end its processes, so they are found by their tag.
    if (child.exitCode !== 0) await endFamily({ root: null, envTag: this.#tag }, 0);
    return how;
  }

  async #readFrames(child: ExecutorProcess, onReady: () => void): Promise<void> {
    const frames = new FrameReader();
    let uncollectedBytes = 0;
    for await (const chunk of child.stdout) {
      // Bun collects late while a stream always has data, and the garbage of a flood is all buffers.
      uncollectedBytes += chunk.length;
      if (uncollectedBytes > collectAfterBytes) {
        uncollectedBytes = 0;
        Bun.gc(true);
      }
      for (const { type, payload } of frames.push(chunk)) {
        if (type === frameTypes.ready) onReady();
        else if (type === frameTypes.output || type === frameTypes.errorOutput) {
          const { call, bytes } = readOutputFrame(payload);
          // A slow reader of one call delays the others too, as they share the pipe. Only commands of the user have one.
          await this.#pending.get(call)?.onOutput(bytes, type === frameTypes.output ? "stdout" : "stderr");
        } else if (type === frameTypes.paused) {
          this.#pauses.get(readJsonFrame<PauseAnswer>(payload).pause)?.();
        } else if (type === frameTypes.result) {
          const { call, outcome } = readJsonFrame<CallResult>(payload);
          this.#pending.get(call)?.settle(readOutcome(outcome));
        }
      }
    }
  }

  async #readStderr(child: ExecutorProcess): Promise<void> {
    for await (const chunk of child.stderr) this.#stderr.push(chunk);
  }

  #send(frame: Uint8Array): void {
    try {
      void this.#process?.stdin.write(frame);
      void Promise.resolve(this.#process?.stdin.flush()).catch(() => undefined);
    } catch {
      // The end of the process settles the call.
    }
  }
}

/** The process, or the reason why it could not be started. */
function spawnExecutor({ command, env, cwd, port }: ConnectionOptions): ExecutorProcess | string {
  const receiver = port?.receiver ?? null;
  // The launcher expects its end of the socket pair as the fourth file.
  const stdio = ["pipe", "pipe", "pipe", ...(receiver === null ? [] : [receiver.childEnd])] as ["pipe", "pipe", "pipe"];
  try {
    return Bun.spawn(command, { cwd, env: { ...env, ...runtimeSettings }, stdio, detached: true });
  } catch (error) {
    return `could not be started: ${messageOf(error)}`;
  } finally {
    receiver?.closeChildEnd();
  }
}

const maxRefusals = 3;

/** Calls that run at the same time all get the refusal: the proxy can't tell which of them made the connection. */
function withRefusals(outcome: ToolOutcome, refusals: readonly string[]): ToolOutcome {
  const texts = [...new Set(refusals)].slice(0, maxRefusals).map((text) => oneLine(text, 300));
  if (texts.length === 0) return outcome;
  const denied = [...(outcome.denied ?? []), ...texts.map((text) => ({ what: "net" as const, text }))];
  return { ...outcome, text: [outcome.text, ...texts.map((text) => `[${text}]`)].join("\n"), denied };
}

function interrupted(how: string): ToolOutcome {
  return { text: `the executor ${how} while this call ran; whether it had an effect is unknown`, isError: true };
}

function unavailable(how: string, stderr: Excerpt): Fault {
  const reason = oneLine(stderr.text().text, 400);
  return new Fault("sandbox-unavailable", `the executor ${how}${reason ? `: ${reason}` : ""}`, {
    hint: "run skein doctor to see what this machine can enforce",
  });
}
