// The executor's side of the wire: takes calls from stdin, runs tools, sends output and results to stdout. It
// lives as long as its stdin: when that ends, everything it has started is killed.
import type { Pausable } from "../kit/flow/pause-gate.ts";
import { loadLibc } from "../kit/process/libc.ts";
import type { SandboxInfo } from "../protocol/api/policy.ts";
import { killStrayChildren, descendantsOf, killAll } from "../kit/process/processes.ts";
import type { runTool, ToolRuntime } from "./run-tool.ts";
import { Suspension } from "./suspension.ts";
import {
  type CallRequest,
  type CancelRequest,
  type Frame,
  FrameReader,
  frameTypes,
  jsonFrame,
  outputHeader,
  readJsonFrame,
  type PauseRequest,
} from "./frames.ts";

export type ServerOptions = {
  /** What the tools' programs see; each call adds to it. */
  env: Record<string, string | undefined>;
  /** What is known of the walls around this process. */
  sandbox: SandboxInfo | null;
  stdin?: ReadableStream<Uint8Array>;
  stdout?: ByteSink;
};

export type ByteSink = { write: (bytes: Uint8Array) => unknown; flush: () => unknown };

/** Resolves when stdin has ended or SIGTERM came and nothing that was started is alive; then the process should exit. */
export async function serveExecutor(options: ServerOptions): Promise<void> {
  const reader = (options.stdin ?? Bun.stdin.stream()).getReader();
  const frames = new FrameReader();
  const stop = (): void => void reader.cancel().catch(() => undefined);
  const calls = new Calls(new FrameSender(options.stdout ?? Bun.file(1).writer(), stop), options);
  for (const name of ["SIGTERM", "SIGHUP"] as const) process.on(name, stop);
  process.on("SIGINT", () => undefined);

  calls.ready();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      for (const frame of frames.push(value)) calls.take(frame);
    }
  } catch {
    // A broken pipe or a frame that is none: there is nobody to serve.
  }
  calls.stop();
  killStrayChildren(() => true);
  killAll(() => descendantsOf(process.pid));
  killStrayChildren(() => true);
}

/** The running calls, by number. */
class Calls {
  readonly #sender: FrameSender;
  readonly #surroundings: ToolEnvironment;
  readonly #running = new Map<number, AbortController>();
  readonly #standstill = new Suspension();
  #tools: Promise<Tools> | undefined;

  constructor(sender: FrameSender, surroundings: ToolEnvironment) {
    this.#sender = sender;
    this.#surroundings = surroundings;
  }

  /** Says so first and loads the rest while nobody waits for it. */
  ready(): void {
    this.#sender.send(jsonFrame(frameTypes.ready, { pid: process.pid }));
    setTimeout(() => void this.#load().catch(() => undefined), 0);
  }

  take(frame: Frame): void {
    if (frame.type === frameTypes.call) void this.#run(readJsonFrame<CallRequest>(frame.payload));
    if (frame.type === frameTypes.stop) this.#standstill.stop(readJsonFrame<PauseRequest>(frame.payload).session);
    if (frame.type === frameTypes.go) this.#standstill.go(readJsonFrame<PauseRequest>(frame.payload).session);
    if (frame.type === frameTypes.cancel) this.#running.get(readJsonFrame<CancelRequest>(frame.payload).call)?.abort();
  }

  /** A call that was just taken must not start its program once everything has been killed. */
  stop(): void {
    for (const controller of this.#running.values()) controller.abort();
  }

  async #run(request: CallRequest): Promise<void> {
    const { call } = request;
    const controller = new AbortController();
    this.#running.set(call, controller);
    const onOutput = (chunk: Uint8Array): void | Promise<void> => this.#sender.sendOutput(call, chunk);
    const loaded = await this.#load();
    const gate = this.#standstill.gateOf(request.session);
    const outcome = await loaded.runTool({ ...request, signal: controller.signal, gate, onOutput }, loaded.workshop);
    this.#running.delete(call);
    this.#sender.send(jsonFrame(frameTypes.result, { call, outcome }));
  }

  #load(): Promise<Tools> {
    this.#tools ??= loadTools(this.#surroundings, this.#standstill);
    return this.#tools;
  }
}

const reapEveryMs = 100;

type ToolEnvironment = Pick<ServerOptions, "env" | "sandbox">;
type Tools = { runTool: typeof runTool; workshop: ToolRuntime };

async function loadTools({ env, sandbox: bounds }: ToolEnvironment, standstill: Suspension): Promise<Tools> {
  const [loaded, spawn, libc] = await Promise.all([import("./run-tool.ts"), import("../kit/process/run-process.ts"), loadLibc()]);
  if (libc?.adoptOrphans() === true) standstill.whole.add(repeating(() => spawn.reapOrphans(libc)));
  return { runTool: loaded.runTool, workshop: loaded.createToolRuntime(env, bounds) };
}

function repeating(act: () => void): Pausable {
  let timer: Timer | undefined;
  const go = (): void => void (timer ??= setInterval(act, reapEveryMs).unref());
  const stop = (): void => {
    clearInterval(timer);
    timer = undefined;
  };
  go();
  return { pause: stop, resume: go };
}

/** Writes frames one after the other. Output waits while the reader is slow; results do not, they are small. */
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
    const sent = (): void | Promise<void> => {
      this.#write([outputHeader(call, chunk.length), chunk]);
      return this.#pending ?? undefined;
    };
    return this.#pending ? this.#pending.then(sent) : sent();
  }

  #write(pieces: Uint8Array[]): void {
    try {
      for (const piece of pieces) this.#note(this.#out.write(piece));
      this.#note(this.#out.flush());
    } catch {
      this.#onBroken();
    }
  }

  #note(result: unknown): void {
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
