// Serves tool calls inside the executor process: reads requests from stdin, finds the tool, checks its input, waits for a
// free slot, writes output and results to stdout. A failed call becomes an outcome that the model can read.
// When stdin ends, the server kills every process that it has started.
import type { Pausable } from "../kit/flow/pause-gate.ts";
import { createSlots } from "../kit/flow/slots.ts";
import { loadLibc } from "../kit/process/libc.ts";
import type { OutputStream } from "../kit/process/output-reader.ts";
import type { PrivateMemory } from "../kit/process/memory-use.ts";
import { descendantsOf, killAll, killStrayChildren } from "../kit/process/processes.ts";
import { oneLine } from "../kit/text/cut-text.ts";
import { nearestWord } from "../kit/text/nearest-word.ts";
import { messageOf } from "../protocol/api/error.ts";
import type { SandboxInfo } from "../protocol/api/policy.ts";
import { executorNames } from "../sandbox/enclosing-session.ts";
import type { ToolOutcome } from "../protocol/api/ports.ts";
import { type ExecutorToolName, executorToolNames, executorTools, toolDefinition } from "../protocol/api/tool-table.ts";
import { programEnvironment, toolEnvironment } from "./environment.ts";
import {
  type CallRequest,
  type CancelRequest,
  type Frame,
  FrameReader,
  frameTypes,
  jsonFrame,
  outputHeader,
  type PauseAnswer,
  type PauseRequest,
  readJsonFrame,
  readOutputFrame,
} from "./frames.ts";
import { createResourceLimits } from "./limits.ts";
import { Suspension } from "./suspension.ts";
import type { toolFunctions } from "./tools/index.ts";
import { errorOutcome, type ToolContext } from "./tools/tool.ts";
import { validateInput } from "./validate.ts";

export type ServerOptions = {
  /** The environment of the tools' processes. Each call adds to it. */
  env: Record<string, string | undefined>;
  /** The sandbox of this process, to explain failures. */
  sandbox: SandboxInfo | null;
};

/** Resolves after stdin has ended or SIGTERM arrived, and every started process was killed. The caller should then exit. */
export async function serveExecutor(options: ServerOptions): Promise<void> {
  const reader = Bun.stdin.stream().getReader();
  const frames = new FrameReader();
  const stop = (): void => void reader.cancel().catch(() => undefined);
  const server = new CallServer(new FrameSender(stop), options);
  for (const name of ["SIGTERM", "SIGHUP"] as const) process.on(name, stop);
  process.on("SIGINT", () => undefined);

  server.start();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      for (const frame of frames.push(value)) server.handle(frame);
    }
  } catch {
    // A broken pipe or an invalid frame ends the connection like the end of stdin.
  }
  server.cancelAll();
  // The kernel ends a pid namespace with its first process.
  if (process.pid === 1) return;
  killStrayChildren(() => true);
  killAll(() => descendantsOf(process.pid));
  killStrayChildren(() => true);
}

type LoadedTools = {
  functions: typeof toolFunctions;
  /** The environment that every call starts from. */
  env: Record<string, string>;
  limits: ToolContext["limits"];
};
type RunningCall = Pick<ToolContext, "signal" | "gate" | "onOutput">;

const maxCommands = 32;

class CallServer {
  readonly #sender: FrameSender;
  readonly #options: ServerOptions;
  readonly #running = new Map<number, AbortController>();
  readonly #inputs = new Map<number, ProgramInput>();
  readonly #suspension = new Suspension();
  /** One slot for each bash command that runs. */
  readonly #commandSlots = createSlots(maxCommands);
  #tools: Promise<LoadedTools> | undefined;

  constructor(sender: FrameSender, options: ServerOptions) {
    this.#sender = sender;
    this.#options = options;
  }

  /** Reports ready first and loads the tools afterwards, before the first call needs them. */
  start(): void {
    this.#sender.send(jsonFrame(frameTypes.ready, { pid: process.pid }));
    setTimeout(() => void this.#loadTools().catch(() => undefined), 0);
  }

  handle({ type, payload }: Frame): void {
    if (type === frameTypes.call) void this.#run(readJsonFrame<CallRequest>(payload));
    if (type === frameTypes.pause) void this.#pause(readJsonFrame<PauseRequest & PauseAnswer>(payload));
    if (type === frameTypes.resume) this.#suspension.resume(readJsonFrame<PauseRequest>(payload).session);
    if (type === frameTypes.input) this.#passInput(payload);
    if (type === frameTypes.cancel) this.#running.get(readJsonFrame<CancelRequest>(payload).call)?.abort();
  }

  async #pause({ session, pause }: PauseRequest & PauseAnswer): Promise<void> {
    await this.#suspension.pause(session);
    this.#sender.send(jsonFrame(frameTypes.paused, { pause }));
  }

  /** A call that has just arrived must not start its program after everything was killed. */
  cancelAll(): void {
    for (const controller of this.#running.values()) controller.abort();
  }

  async #run(request: CallRequest): Promise<void> {
    const { call } = request;
    const controller = new AbortController();
    this.#running.set(call, controller);
    if (request.program !== undefined) this.#inputs.set(call, new ProgramInput());
    const onOutput: ToolContext["onOutput"] = (chunk, stream) => this.#sender.sendOutput(call, stream, chunk);
    const gate = this.#suspension.gateOf(request.session);
    const outcome = await this.#runTool(request, { signal: controller.signal, gate, onOutput });
    this.#running.delete(call);
    this.#inputs.delete(call);
    this.#sender.send(jsonFrame(frameTypes.result, { call, outcome }));
  }

  #passInput(payload: Uint8Array): void {
    const { call, bytes } = readOutputFrame(payload);
    // The frame may be part of a buffer that is used again.
    this.#inputs.get(call)?.write(bytes.slice());
  }

  /** Must not throw. */
  async #runTool(request: CallRequest, running: RunningCall): Promise<ToolOutcome> {
    const { functions, env: baseEnv, limits } = await this.#loadTools();
    const { name } = request;
    if (request.program !== undefined) {
      const env: Record<string, string> = { ...programEnvironment(baseEnv, request.env), SKEIN_SESSION_ID: request.session };
      const ctx = { ...request, ...running, env, home: env.HOME ?? "/", sandbox: this.#options.sandbox, limits };
      return (await import("./program.ts")).runProgram(request.program, ctx, (stdin) => this.#inputs.get(request.call)?.open(stdin));
    }
    if (!isToolName(name)) return errorOutcome(unknownTool(name));
    const { input, problem } = validateInput(toolDefinition(name), request.input);
    if (problem !== null) return errorOutcome(problem);

    const { signal, gate } = running;
    const env: Record<string, string> = { ...baseEnv, ...request.env, SKEIN_SESSION_ID: request.session };
    let releaseSlot: (() => void) | undefined;
    try {
      if (name === "bash") releaseSlot = await this.#commandSlots.take(signal);
      await gate?.whenOpen();
      signal.throwIfAborted();
      const { sandbox } = this.#options;
      return await functions[name](input, { ...request, ...running, env, home: env.HOME ?? "/", sandbox, limits });
    } catch (error) {
      return errorOutcome(signal.aborted ? "cancelled before it ran" : `${name} failed: ${messageOf(error)}`);
    } finally {
      releaseSlot?.();
    }
  }

  #loadTools(): Promise<LoadedTools> {
    this.#tools ??= loadTools(this.#options, this.#suspension);
    return this.#tools;
  }
}

/** The stdin of a program. Input that arrives before the program has started waits for it. */
class ProgramInput {
  #stdin: Bun.FileSink | null = null;
  #waiting: Uint8Array[] = [];

  open(stdin: Bun.FileSink): void {
    this.#stdin = stdin;
    for (const bytes of this.#waiting.splice(0)) this.write(bytes);
  }

  write(bytes: Uint8Array): void {
    if (this.#stdin === null) return void this.#waiting.push(bytes);
    try {
      void this.#stdin.write(bytes);
      void Promise.resolve(this.#stdin.flush()).catch(() => undefined);
    } catch {
      // The end of the program settles the call.
    }
  }
}

const reapIntervalMs = 100;

async function loadTools({ env, sandbox }: ServerOptions, suspension: Suspension): Promise<LoadedTools> {
  const [{ toolFunctions: functions }, { reapOrphans }, libc] = await Promise.all([
    import("./tools/index.ts"),
    import("../kit/process/run-process.ts"),
    loadLibc(),
  ]);
  // Commands run as the same user. Without this they could change results, or the executor's limits, in its memory.
  if (sandbox?.isEnforced) libc?.refuseTracing(executorNames[sandbox.sessionTag?.nesting === true ? "nesting" : "plain"]);
  if (libc?.adoptOrphans() === true) suspension.allSessions.add(startInterval(() => reapOrphans(libc)));
  const limits = sandbox === null ? null : createResourceLimits(sandbox, { ownMemory: () => ownMemoryIn(sandbox) });
  if (limits !== null) suspension.allSessions.add(limits);
  return { functions, env: toolEnvironment(env, sandbox), limits };
}

/** Only the sandbox with namespaces has its own /dev/shm and IPC. There the executor is the first process. */
function ownMemoryIn({ isEnforced }: SandboxInfo): PrivateMemory | null {
  return isEnforced && process.pid === 1 ? { tmpfs: "/dev/shm", hasSystemV: true } : null;
}

function isToolName(name: string): name is ExecutorToolName {
  return Object.hasOwn(executorTools, name);
}

function unknownTool(name: string): string {
  const nearest = nearestWord(name, [...executorToolNames]);
  return `unknown tool: ${oneLine(name, 80)}${nearest ? `; did you mean ${nearest}?` : ""}`;
}

function startInterval(act: () => void): Pausable {
  let timer: Timer | undefined;
  const resume = (): void => void (timer ??= setInterval(act, reapIntervalMs).unref());
  const pause = (): void => {
    clearInterval(timer);
    timer = undefined;
  };
  resume();
  return { pause, resume };
}

/** Writes frames to stdout in order. Output waits while the reader is slow; results are small and do not wait. */
class FrameSender {
  readonly #stdout = Bun.file(1).writer();
  readonly #onBroken: () => void;
  #pending: Promise<void> | null = null;

  /** `onBroken` is called for every write that fails. */
  constructor(onBroken: () => void) {
    this.#onBroken = onBroken;
  }

  send(frame: Uint8Array): void {
    this.#write([frame]);
  }

  sendOutput(call: number, stream: OutputStream, chunk: Uint8Array): void | Promise<void> {
    const write = (): void | Promise<void> => {
      this.#write([outputHeader(call, stream, chunk.length), chunk]);
      return this.#pending ?? undefined;
    };
    return this.#pending ? this.#pending.then(write) : write();
  }

  #write(pieces: Uint8Array[]): void {
    try {
      for (const piece of pieces) this.#track(this.#stdout.write(piece));
      this.#track(this.#stdout.flush());
    } catch {
      this.#onBroken();
    }
  }

  #track(result: unknown): void {
    if (!(result instanceof Promise)) return;
    const pending: Promise<void> = Promise.all([this.#pending, result]).then(
      () => {
        if (this.#pending === pending) this.#pending = null;
      },
      () => this.#onBroken(),
    );
    this.#pending = pending;
  }
}
