// Runs one CLI until it exits: passes stdout on as lines, keeps the end of stderr, logs both, and ends every process that
// the CLI started. Contains nothing about a particular CLI or the tree.
import { closeSync, constants } from "node:fs";
import { dirname } from "node:path";
import { makeDirectorySafely, openSafely, writeAll } from "../../../kit/files/safe-file.ts";
import { callTag, newExecutorTag } from "../../../executor/call-tag.ts";
import { Excerpt } from "../../../kit/text/excerpt.ts";
import { freeze, thaw } from "../../../kit/process/freeze.ts";
import type { PauseGate } from "../../../kit/flow/pause-gate.ts";
import type { Libc } from "../../../kit/process/libc.ts";
import { type SplitLine, LineSplitter } from "../../../kit/text/line-splitter.ts";
import { OutputReader } from "../../../kit/process/output-reader.ts";
import { endFamily, type ProcessFamily, familyMembers } from "../../../kit/process/processes.ts";
import { type PrivateMemory, privateMemoryOf } from "../../../kit/process/memory-use.ts";
import { createResourceLimits, type LimitValues } from "../../../executor/limits.ts";
import { messageOf } from "../../../protocol/api/error.ts";
import type { PortReceiver } from "../../../sandbox/namespace-port.ts";

export type RunCliOptions = {
  /** Includes the launcher of the sandbox. */
  command: string[];
  cwd: string;
  env: Record<string, string>;
  /** A text for stdin; null for an empty stdin. A function is called once with the open stdin. */
  stdin: string | null | ((stdin: CliStdin) => void);
  /** The CLI gets `childEnd` as file descriptor 3. `closeChildEnd` is called after the spawn. */
  portReceiver: Pick<PortReceiver, "childEnd" | "closeChildEnd"> | null;
  signal: AbortSignal;
  /** While the gate is paused, the CLI and all its processes are stopped. */
  gate?: PauseGate;
  /** Sets a marker rlimit, so that descendants are found even without parent and environment. Null sets none. */
  libc: Libc | null;
  /** Limits of the CLI with all its processes. `onExceeded` is called once, before they are killed. */
  limits?: { values: LimitValues; onExceeded: (reason: string) => void };
  /** Output is appended to `<path>.stdout.log` and `<path>.stderr.log`; null writes no logs. */
  logs: string | null;
  /** Called for every line of stdout. Reading waits until it resolves; a rejection stops the CLI. */
  onLine: (line: string, isCut: boolean) => Promise<void> | void;
  /** Called for every chunk of stdout and stderr. */
  onOutput: () => void;
};

/** Must not throw: text for a process that has exited is dropped. */
export type CliStdin = { write: (text: string) => void; end: () => void };

export type CliExit = {
  exitCode: number | null;
  signal: string | null;
  stderr: string;
  lines: number;
  bytes: number;
  /** Time from the start to the first line. */
  firstLineMs: number | null;
};

const maxLineBytes = 16 << 20;
const graceMs = 2_000;
/** Time to read the remaining output of a stopped CLI. Without a stop there is no limit. */
const remainderMs = 10_000;

/** For processes that run in spite of SIGSTOP: the pause is never confirmed. */
const neverStopped = new Promise<void>(() => {});

/** Rejects when the CLI can't be started, and when `onLine` rejects: a CLI whose output can't be stored must not continue. */
export async function runCli(run: RunCliOptions): Promise<CliExit> {
  await run.gate?.whenOpen();
  const startedAt = performance.now();
  const tag = callTag(newExecutorTag(), 1);
  const child = run.libc?.withRlimitTag(0, () => spawn(run, tag.env)).result ?? spawn(run, tag.env);
  const family: ProcessFamily = { root: child.pid, envTag: tag.entry };
  const stop = () => void endFamily(family, graceMs);
  let frozen: number[] = [];
  const leaveGate = run.gate?.add({
    pause: () => {
      const { pids, isComplete } = freeze(() => familyMembers(family));
      frozen = pids;
      return isComplete ? undefined : neverStopped;
    },
    resume: () => thaw(frozen.splice(0)),
  });
  const unwatch = watchLimits(run, () => familyMembers({ root: child.pid, envTag: null }));
  const lines = createLineReader(run, startedAt, stop);
  const stderr = new Excerpt(2 << 10, 14 << 10);
  const logs = { stdout: openLog(run.logs, "stdout"), stderr: openLog(run.logs, "stderr") };
  const listen = (stream: "stdout" | "stderr", handle: (chunk: Uint8Array) => Promise<void> | void) => {
    const handleChunk = (chunk: Uint8Array) => {
      run.onOutput();
      writeLog(logs[stream], chunk);
      return handle(chunk);
    };
    return new OutputReader(child[stream], handleChunk, () => {}, run.gate);
  };
  const outputs = [listen("stdout", lines.push), listen("stderr", (chunk) => stderr.push(chunk))] as const;

  run.signal.addEventListener("abort", stop, { once: true });
  if (run.signal.aborted) stop();
  await child.exited;
  leaveGate?.();
  unwatch();
  // Processes that it left running would keep its streams open.
  await endFamily(family, 0);
  await Promise.all(outputs.map((output) => output.drain(run.signal.aborted ? remainderMs : Infinity)));
  for (const output of outputs) output.stopListening();
  run.signal.removeEventListener("abort", stop);
  for (const log of Object.values(logs)) if (log !== null) closeSync(log);
  return {
    ...(await lines.end()),
    exitCode: child.signalCode === null ? child.exitCode : null,
    signal: child.signalCode === null ? null : String(child.signalCode),
    stderr: stderr.text().text,
    bytes: outputs[0].bytes,
  };
}

/** Each check reads the status of all processes of the machine, so it is less frequent than in the executor. */
const limitCheckMs = 2_000;

function watchLimits({ limits, gate }: RunCliOptions, listPids: () => number[]): () => void {
  if (limits === undefined) return () => {};
  const ownMemory = (): PrivateMemory | null => privateMemoryOf(listPids().at(-1) ?? 0);
  const watcher = createResourceLimits(limits.values, { listPids, ownMemory, intervalMs: limitCheckMs });
  const watch = watcher.watch();
  watch.signal.addEventListener("abort", () => limits.onExceeded(String(watch.signal.reason)));
  const leaveGate = gate?.add(watcher);
  return () => {
    leaveGate?.();
    watcher.pause();
    watch.end();
  };
}

/** Starts the CLI in its own session. The tag in the environment finds descendants that leave the session. */
function spawn(run: RunCliOptions, tag: Record<string, string>) {
  const input = run.stdin === null ? "ignore" : typeof run.stdin === "string" ? new Blob([run.stdin]) : "pipe";
  const stdio = [input, "pipe", "pipe", ...(run.portReceiver === null ? [] : [run.portReceiver.childEnd])] as [
    typeof input,
    "pipe",
    "pipe",
  ];
  const child = Bun.spawn(run.command, { cwd: run.cwd, env: { ...run.env, ...tag }, stdio, detached: true });
  run.portReceiver?.closeChildEnd();
  if (typeof run.stdin === "function") run.stdin(createStdin(child.stdin as Bun.FileSink));
  return child;
}

function createStdin(sink: Bun.FileSink): CliStdin {
  const ignoreErrors = async (act: () => unknown): Promise<void> => {
    try {
      await act();
    } catch {
      // The process has exited, which its exit status reports.
    }
  };
  return {
    write: (text) => void ignoreErrors(() => (sink.write(text), sink.flush())),
    end: () => void ignoreErrors(() => sink.end()),
  };
}

/** Passes lines to `onLine` one after the other, until one is rejected. */
function createLineReader(run: RunCliOptions, startedAt: number, stop: () => void) {
  const splitter = new LineSplitter(maxLineBytes);
  const counts = { lines: 0, firstLineMs: null as number | null };
  let failure: Error | null = null;

  async function handle(line: SplitLine | null): Promise<void> {
    if (line === null || failure !== null) return;
    counts.firstLineMs ??= performance.now() - startedAt;
    counts.lines += 1;
    try {
      await run.onLine(line.text, line.cutBytes > 0);
    } catch (error) {
      failure = error instanceof Error ? error : new Error(messageOf(error));
      stop();
    }
  }

  return {
    push: async (chunk: Uint8Array): Promise<void> => {
      for (const line of splitter.push(chunk)) await handle(line);
    },
    /** Rejects with the error of `onLine`. */
    end: async (): Promise<Pick<CliExit, "lines" | "firstLineMs">> => {
      await handle(splitter.end());
      if (failure !== null) throw failure;
      return counts;
    },
  };
}

/** A full disk must not end the turn, which depends only on the events. */
function writeLog(log: number | null, chunk: Uint8Array): void {
  if (log === null) return;
  try {
    writeAll(log, chunk);
  } catch {
    // Writing the transcript beside it fails too, and reports it.
  }
}

/** Null if the log can't be opened, or if a tool put a link in its place. */
function openLog(path: string | null, stream: "stdout" | "stderr"): number | null {
  if (path === null) return null;
  try {
    makeDirectorySafely(dirname(path));
    return openSafely(`${path}.${stream}.log`, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT, { mode: 0o600 });
  } catch {
    return null;
  }
}
