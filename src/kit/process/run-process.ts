// Runs one program to its end, in its own session and process group. stdout and stderr share a pipe, so
// that their order is kept, unless the caller sets `separateStreams`. Memory is bounded. A program that is stopped ends
// with its whole family.
import { closeSync } from "node:fs";
import { startCountdown } from "../flow/countdown.ts";
import type { PauseGate } from "../flow/pause-gate.ts";
import { type Libc, loadLibc } from "./libc.ts";
import { OutputReader, type OutputStream } from "./output-reader.ts";
import { adoptedZombies, endFamily } from "./processes.ts";

export type ProcessRequest = {
  command: string[];
  cwd: string;
  env: Record<string, string>;
  /** Written to stdin. Without it, stdin is empty. */
  stdin?: string;
  /** Called once with the pipe to stdin, which stays open. Only for `separateStreams`, and instead of `stdin`. */
  onStdin?: (stdin: Bun.FileSink) => void;
  timeoutMs: number | null;
  signal: AbortSignal;
  /** True gives each stream its own pipe. Else all output counts as stdout, in the order in which it was written. */
  separateStreams?: boolean;
  /** No more output of that stream is read while a returned promise is pending. */
  onOutput: (chunk: Uint8Array, stream: OutputStream) => void | Promise<void>;
  killGraceMs?: number;
  /** `NAME=value`: an entry of `env` that identifies descendants that left the process group. */
  envTag?: string;
  /** While it is paused, the program does not start, its output is not read and its time limit does not run. */
  gate?: PauseGate;
};

export type ProcessEnd = {
  /** Null if a signal ended it. */
  exitCode: number | null;
  signal: string | null;
  timedOut: boolean;
  aborted: boolean;
  durationMs: number;
  bytes: number;
};

/** Rejects only if the program can't be started. Its background processes continue, and their output is discarded. */
export async function runProcess(request: ProcessRequest): Promise<ProcessEnd> {
  const startedAt = performance.now();
  const libc = await loadLibc();
  await request.gate?.whenOpen();
  if (request.signal.aborted) return notStarted();
  startCount += 1;
  const { result: child, tag } = libc?.withRlimitTag(startCount, () => start(request, libc)) ?? {
    result: start(request, null),
    tag: null,
  };
  running.add(child.process.pid);
  const readers = child.outputs.map(
    ({ name, stream, release }) => new OutputReader(stream, (chunk) => request.onOutput(chunk, name), release, request.gate),
  );
  const drain = (limitMs: number) => Promise.all(readers.map((reader) => reader.drain(limitMs)));

  const stop = stopCause(request);
  const stopped = await Promise.race([child.process.exited.then(() => null), stop.cause]);
  if (stopped) {
    await endFamily({ root: child.process.pid, envTag: request.envTag ?? null, rlimitTag: tag }, request.killGraceMs ?? 1500);
  }
  await child.process.exited;
  if (stopped) await drain(maxDrainMs);
  else await Promise.race([drain(Infinity), stop.cause]);
  for (const reader of readers) reader.stopListening();
  stop.clear();
  running.delete(child.process.pid);
  if (libc) reapOrphans(libc);

  return {
    exitCode: child.process.signalCode ? null : child.process.exitCode,
    signal: child.process.signalCode === null ? null : String(child.process.signalCode),
    timedOut: stopped === "timeout",
    aborted: stopped === "abort",
    durationMs: performance.now() - startedAt,
    bytes: readers.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

/** Programs that have not ended. Bun reaps them itself. */
const running = new Set<number>();
let startCount = 0;
const maxDrainMs = 5000;

/** Reaps zombies that were re-parented to this process. */
export function reapOrphans(libc: Libc): void {
  for (const pid of adoptedZombies(running)) libc.reap(pid);
}

function notStarted(): ProcessEnd {
  return { exitCode: null, signal: null, timedOut: false, aborted: true, durationMs: 0, bytes: 0 };
}

type ChildOutput = { name: OutputStream; stream: ReadableStream<Uint8Array>; release: () => void };
type Child = { process: Bun.Subprocess; outputs: ChildOutput[] };

function start(request: ProcessRequest, libc: Libc | null): Child {
  const options = { cwd: request.cwd, env: request.env, detached: true } as const;
  const stdin = request.stdin === undefined ? ("ignore" as const) : new Blob([request.stdin]);
  if (request.separateStreams === true) {
    const child = Bun.spawn(request.command, { ...options, stdio: [request.onStdin === undefined ? stdin : "pipe", "pipe", "pipe"] });
    if (child.stdin !== null && typeof child.stdin === "object") request.onStdin?.(child.stdin);
    return { process: child, outputs: [ownOutput("stdout", child.stdout), ownOutput("stderr", child.stderr)] };
  }
  const pipe = libc?.pipe() ?? null;
  if (!pipe) {
    const command = ["/bin/sh", "-c", 'exec "$@" 2>&1', "sh", ...request.command];
    const child = Bun.spawn(command, { ...options, stdio: [stdin, "pipe", "ignore"] });
    return { process: child, outputs: [ownOutput("stdout", child.stdout)] };
  }
  try {
    const child = Bun.spawn(request.command, { ...options, stdio: [stdin, pipe.write, pipe.write] });
    const output: ChildOutput = { name: "stdout", stream: Bun.file(pipe.read).stream(), release: () => closeSync(pipe.read) };
    return { process: child, outputs: [output] };
  } catch (error) {
    closeSync(pipe.read);
    throw error;
  } finally {
    closeSync(pipe.write);
  }
}

/** A stream that Bun opened and closes itself. */
function ownOutput(name: OutputStream, stream: ReadableStream<Uint8Array>): ChildOutput {
  return { name, stream, release: () => {} };
}

function stopCause(request: ProcessRequest): { cause: Promise<"timeout" | "abort">; clear: () => void } {
  const { promise, resolve } = Promise.withResolvers<"timeout" | "abort">();
  const onAbort = (): void => resolve("abort");
  const limit = startCountdown(request.timeoutMs, () => resolve("timeout"));
  const unregister = request.gate?.add(limit);
  request.signal.addEventListener("abort", onAbort, { once: true });
  const clear = (): void => {
    limit.clear();
    unregister?.();
    request.signal.removeEventListener("abort", onAbort);
  };
  return { cause: promise, clear };
}
