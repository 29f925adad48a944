// Runs one program to its end: own session and process group, no stdin, stdout and stderr through one pipe in the
// order they were written, bounded memory, and no member of its family left when it is stopped.
import { closeSync } from "node:fs";
import { countdown } from "../flow/countdown.ts";
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
  /** The program waits while a returned promise is pending. */
  onOutput: (chunk: Uint8Array) => void | Promise<void>;
  killGraceMs?: number;
  /** `NAME=value`: an entry of `env` by which members that left the group are found. */
  envTag?: string;
  /** Shut, it keeps the program from starting, its output unread and its time from passing. */
  gate?: PauseGate;
};

export type ProcessEnd = {
  /** Null when a signal ended it. */
  exitCode: number | null;
  signal: string | null;
  timedOut: boolean;
  aborted: boolean;
  durationMs: number;
  bytes: number;
};

/** Rejects only when the program can't be started. What it left in the background goes on, its output unread by us. */
export async function runProcess(request: ProcessRequest): Promise<ProcessEnd> {
  const startedAt = performance.now();
  const libc = await loadLibc();
  await request.gate?.whenOpen();
  if (request.signal.aborted) return notStarted();
  starts += 1;
  const { result: child, tag: sign } = libc?.withRlimitTag(starts, () => start(request, libc)) ?? {
    result: start(request, null),
    tag: null,
  };
  running.add(child.process.pid);
  const output = new OutputReader(child.output, request.onOutput, child.release, request.gate);

  const stop = stopCause(request);
  const stopped = await Promise.race([child.process.exited.then(() => null), stop.cause]);
  if (stopped) {
    await endFamily({ root: child.process.pid, envTag: request.envTag ?? null, rlimitTag: sign }, request.killGraceMs ?? 1500);
  }
  await child.process.exited;
  if (stopped) await output.rest(longestRestMs);
  else await Promise.race([output.rest(Infinity), stop.cause]);
  output.letGo();
  stop.forget();
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

/** Programs of ours that have not ended; their exit status belongs to the runtime. */
const running = new Set<number>();
let starts = 0;
const longestRestMs = 5000;

/** Takes adopted dead off the table, where a parent that never ends would let them pile up. */
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
    const command = ["sh", "-c", 'exec "$@" 2>&1', "sh", ...request.command];
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

function stopCause(request: ProcessRequest): { cause: Promise<"timeout" | "abort">; forget: () => void } {
  const { promise, resolve } = Promise.withResolvers<"timeout" | "abort">();
  const onAbort = (): void => resolve("abort");
  const clock = countdown(request.timeoutMs, () => resolve("timeout"));
  const leaveGate = request.gate?.add(clock);
  request.signal.addEventListener("abort", onAbort, { once: true });
  const forget = (): void => {
    clock.clear();
    leaveGate?.();
    request.signal.removeEventListener("abort", onAbort);
  };
  return { cause: promise, forget };
}
