// Serves tool calls inside the executor process: reads requests from stdin, writes output and results to stdout.
// When stdin ends, it kills every process that it has started.
import type { Pausable } from "../kit/flow/pause-gate.ts";
import { loadLibc } from "../kit/process/libc.ts";
import { descendantsOf, killAll, killStrayChildren } from "../kit/process/processes.ts";
import type { SandboxInfo } from "../protocol/api/policy.ts";
import {
  type CallRequest,
  type CancelRequest,
  type Frame,
  FrameReader,
  frameTypes,
  jsonFrame,
  outputHeader,
  type PauseRequest,
  readJsonFrame,
} from "./frames.ts";
import type { runTool, ToolRuntime } from "./run-tool.ts";
import { Suspension } from "./suspension.ts";

export type ServerOptions = {
  /** The environment of the tools' processes. Each call adds to it. */
  env: Record<string, string | undefined>;
  /** The sandbox of this process, to explain failures. */
  sandbox: SandboxInfo | null;
  stdin?: ReadableStream<Uint8Array>;
  stdout?: ByteSink;
};

export type ByteSink = { write: (bytes: Uint8Array) => unknown; flush: () => unknown };

/** Resolves after stdin has ended or SIGTERM arrived, and all started processes are dead. The caller should then exit. */
export async function serveExecutor(options: ServerOptions): Promise<void> {
  const reader = (options.stdin ?? Bun.stdin.stream()).getReader();
  const frames = new FrameReader();
  const stop = (): void => void reader.cancel().catch(() => undefined);
  const server = new CallServer(new FrameSender(options.stdout ?? Bun.file(1).writer(), stop), options);
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
  killStrayChildren(() => true);
  killAll(() => descendantsOf(process.pid));
  killStrayChildren(() => true);
}

type RuntimeOptions = Pick<ServerOptions, "env" | "sandbox">;
type LoadedTools = { runTool: typeof runTool; runtime: ToolRuntime };

class CallServer {
  readonly #sender: FrameSender;
  readonly #options: RuntimeOptions;
  readonly #running = new Map<number, AbortController>();
  readonly #suspension = new Suspension();
  #tools: Promise<LoadedTools> | undefined;

  constructor(sender: FrameSender, options: RuntimeOptions) {
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
    if (type === frameTypes.pause) this.#suspension.pause(readJsonFrame<PauseRequest>(payload).session);
    if (type === frameTypes.resume) this.#suspension.resume(readJsonFrame<PauseRequest>(payload).session);
    if (type === frameTypes.cancel) this.#running.get(readJsonFrame<CancelRequest>(payload).call)?.abort();
  }

  /** A call that has just arrived must not start its program after everything was killed. */
  cancelAll(): void {
    for (const controller of this.#running.values()) controller.abort();
  }

  async #run(request: CallRequest): Promise<void> {
    const { call } = request;
    const controller = new AbortController();
    this.#running.set(call, controller);
    const onOutput = (chunk: Uint8Array): void | Promise<void> => this.#sender.sendOutput(call, chunk);
    const { runTool, runtime } = await this.#loadTools();
    const gate = this.#suspension.gateOf(request.session);
    const outcome = await runTool({ ...request, signal: controller.signal, gate, onOutput }, runtime);
    this.#running.delete(call);
    this.#sender.send(jsonFrame(frameTypes.result, { call, outcome }));
  }

  #loadTools(): Promise<LoadedTools> {
    this.#tools ??= loadTools(this.#options, this.#suspension);
    return this.#tools;
  }
}

const reapIntervalMs = 100;

async function loadTools({ env, sandbox }: RuntimeOptions, suspension: Suspension): Promise<LoadedTools> {
  const [tools, { reapOrphans }, libc] = await Promise.all([import("./run-tool.ts"), import("../kit/process/run-process.ts"), loadLibc()]);
  if (libc?.adoptOrphans() === true) suspension.allSessions.add(startInterval(() => reapOrphans(libc)));
  return { runTool: tools.runTool, runtime: tools.createToolRuntime(env, sandbox) };
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

/** Writes frames in order. Output waits while the reader is slow; results are small and do not wait. */
class FrameSender {
  readonly #out: ByteSink;
  readonly #onBroken: () => void;
  #pending: Promise<void> | null = null;

  constructor(out: ByteSink, onBroken: () => void) {
    this.#out = out;
    this.#onBroken = onBroken;
  }

  send(frame: Uint8Array): void {
    this.#write([frame]);
  }

  sendOutput(call: number, chunk: Uint8Array): void | Promise<void> {
    const write = (): void | Promise<void> => {
      this.#write([outputHeader(call, chunk.length), chunk]);
      return this.#pending ?? undefined;
    };
    return this.#pending ? this.#pending.then(write) : write();
  }

  #write(pieces: Uint8Array[]): void {
    try {
      for (const piece of pieces) this.#track(this.#out.write(piece));
      this.#track(this.#out.flush());
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
