// Runs one program to its end, in its own session and process group and without stdin. stdout and stderr share a pipe,
// so that their order is kept. Memory is bounded. A program that is stopped ends with its whole family.
import { closeSync } from "node:fs";
import { startCountdown } from "../flow/countdown.ts";
import type { PauseGate } from "../flow/pause-gate.ts";
import { type Libc, loadLibc } from "./libc.ts";
import { OutputReader } from "./output-reader.ts";
import { adoptedZombies, endFamily } from "./processes.ts";

export type ProcessRequest = {
  command: string[];
  cwd: string;
  env: Record<string, string>;
  timeoutMs: number | null;
  signal: AbortSignal;
  /** No more output is read while a returned promise is pending. */
  onOutput: (chunk: Uint8Array) => void | Promise<void>;
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
  const output = new OutputReader(child.output, request.onOutput, child.release, request.gate);

  const stop = stopCause(request);
  const stopped = await Promise.race([child.process.exited.then(() => null), stop.cause]);
  if (stopped) {
    await endFamily({ root: child.process.pid, envTag: request.envTag ?? null, rlimitTag: tag }, request.killGraceMs ?? 1500);
  }
  await child.process.exited;
  if (stopped) await output.drain(maxDrainMs);
  else await Promise.race([output.drain(Infinity), stop.cause]);
  output.stopListening();
  stop.clear();
  running.delete(child.process.pid);
  if (libc) reapOrphans(libc);

  return {
    exitCode: child.process.signalCode ? null : child.process.exitCode,
    signal: child.process.signalCode === null ? null : String(child.process.signalCode),
    timedOut: stopped === "timeout",
    aborted: stopped === "abort",
    durationMs: performance.now() - startedAt,
    bytes: output.bytes,
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

type Child = { process: Bun.Subprocess; output: ReadableStream<Uint8Array>; release: () => void };

function start(request: ProcessRequest, libc: Libc | null): Child {
  const options = { cwd: request.cwd, env: request.env, detached: true } as const;
  const pipe = libc?.pipe() ?? null;
  if (!pipe) {
    const command = ["/bin/sh", "-c", 'exec "$@" 2>&1', "sh", ...request.command];
    const child = Bun.spawn(command, { ...options, stdio: ["ignore", "pipe", "ignore"] });
    return { process: child, output: child.stdout, release: () => {} };
  }
  try {
    const child = Bun.spawn(request.command, { ...options, stdio: ["ignore", pipe.write, pipe.write] });
    return { process: child, output: Bun.file(pipe.read).stream(), release: () => closeSync(pipe.read) };
  } catch (error) {
    closeSync(pipe.read);
    throw error;
  } finally {
    closeSync(pipe.write);
  }
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
