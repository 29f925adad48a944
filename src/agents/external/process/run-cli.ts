// Runs one CLI to its end: no stdin but what it is given, stdout as lines of bounded length, stderr's end, both kept raw
// in files, and nothing of it left when it has ended or is stopped. It knows no CLI and nothing of the tree.
import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { callTag, newExecutorTag } from "../../../executor/call-tag.ts";
import { Excerpt } from "../../../kit/text/excerpt.ts";
import { freeze, thaw } from "../../../kit/process/freeze.ts";
import type { PauseGate } from "../../../kit/flow/pause-gate.ts";
import type { Libc } from "../../../kit/process/libc.ts";
import { type SplitLine, LineSplitter } from "../../../kit/text/line-splitter.ts";
import { OutputReader } from "../../../kit/process/output-reader.ts";
import { endFamily, type ProcessFamily, familyMembers } from "../../../kit/process/processes.ts";
import { messageOf } from "../../../protocol/api/error.ts";

export type RunCliOptions = {
  /** With the words before it that put it behind walls. */
  command: string[];
  cwd: string;
  env: Record<string, string>;
  /** What it reads before the end of its input; null is nothing. Whoever talks to it is given the open end. */
  stdin: string | null | ((input: CliStdin) => void);
  /** A file that it gets as its number 3. */
  passed: { file: number; started: () => void } | null;
  signal: AbortSignal;
  /** Shut while it is to stand still with all it has started. */
  gate?: PauseGate;
  /** By which whoever comes from it has the limit that says so, though parents and environment are gone. */
  libc: Libc | null;
  /** `<path>.stdout.log` and `<path>.stderr.log` are appended to; null keeps none. */
  logs: string | null;
  /** Reading waits until it has been dealt with. */
  onLine: (line: string, isCut: boolean) => Promise<void> | void;
  /** Anything printed is a sign of life. */
  onOutput: () => void;
};

/** Never fails: what is said to one that has gone is not heard. */
export type CliStdin = { write: (text: string) => void; end: () => void };

export type CliExit = {
  exitCode: number | null;
  signal: string | null;
  stderr: string;
  lines: number;
  bytes: number;
  /** From the start to the first line. */
  firstLineMs: number | null;
  durationMs: number;
};

const longestLine = 16 << 20;
const graceMs = 2_000;
/** For what was printed before it was stopped; without a stop it takes as long as it takes. */
const restMs = 10_000;

/** Rejects when it can't be started, and when a line can't be dealt with: what was not recorded must not go on. */
export async function runCli(run: RunCliOptions): Promise<CliExit> {
  await run.gate?.whenOpen();
  const startedAt = performance.now();
  const mark = callTag(newExecutorTag(), 1);
  const child = run.libc?.withRlimitTag(0, () => start(run, mark.env)).result ?? start(run, mark.env);
  const family: ProcessFamily = { root: child.pid, envTag: mark.entry };
  const stop = () => void endFamily(family, graceMs);
  let frozen: number[] = [];
  const leaveGate = run.gate?.add({
    pause: () => {
      frozen = freeze(() => familyMembers(family));
    },
    resume: () => thaw(frozen.splice(0)),
  });
  const printed = new StdoutLines(run, startedAt, stop);
  const stderr = new Excerpt(2 << 10, 14 << 10);
  const logs = { stdout: openLog(run.logs, "stdout"), stderr: openLog(run.logs, "stderr") };
  const taken = (log: number | null, take: (chunk: Uint8Array) => Promise<void> | void) => (chunk: Uint8Array) => {
    run.onOutput();
    if (log !== null) keep(log, chunk);
    return take(chunk);
  };
  const outputs = [
    new OutputReader(child.stdout, taken(logs.stdout, printed.take), () => {}, run.gate),
    new OutputReader(
      child.stderr,
      taken(logs.stderr, (chunk) => stderr.push(chunk)),
      () => {},
      run.gate,
    ),
  ] as const;

  run.signal.addEventListener("abort", stop, { once: true });
  if (run.signal.aborted) stop();
  await child.exited;
  leaveGate?.();
  // Whoever it left behind would hold its streams open.
  await endFamily(family, 0);
  await Promise.all(outputs.map((output) => output.rest(run.signal.aborted ? restMs : Infinity)));
  for (const output of outputs) output.letGo();
  run.signal.removeEventListener("abort", stop);
  for (const log of Object.values(logs)) if (log !== null) closeSync(log);
  await printed.end();
  return {
    exitCode: child.signalCode === null ? child.exitCode : null,
    signal: child.signalCode === null ? null : String(child.signalCode),
    stderr: stderr.text().text,
    lines: printed.lines,
    bytes: outputs[0].bytes,
    firstLineMs: printed.firstLineMs,
    durationMs: performance.now() - startedAt,
  };
}

/** Its own session and group, and a mark in the environment by which those are found who leave both. */
function start(run: RunCliOptions, mark: Record<string, string>) {
  const input = run.stdin === null ? "ignore" : typeof run.stdin === "string" ? new Blob([run.stdin]) : "pipe";
  const stdio = [input, "pipe", "pipe", ...(run.passed === null ? [] : [run.passed.file])] as [typeof input, "pipe", "pipe"];
  const child = Bun.spawn(run.command, { cwd: run.cwd, env: { ...run.env, ...mark }, stdio, detached: true });
  run.passed?.started();
  if (typeof run.stdin === "function") run.stdin(inputOf(child.stdin as Bun.FileSink));
  return child;
}

function inputOf(sink: Bun.FileSink): CliStdin {
  const quietly = async (act: () => unknown): Promise<void> => {
    try {
      await act();
    } catch {
      // It has gone; its exit says so.
    }
  };
  return {
    write: (text) => void quietly(() => (sink.write(text), sink.flush())),
    end: () => void quietly(() => sink.end()),
  };
}

/** The lines of its stdout, told one after the other. The first that can't be dealt with is the last. */
class StdoutLines {
  lines = 0;
  firstLineMs: number | null = null;
  readonly #run: RunCliOptions;
  readonly #startedAt: number;
  readonly #stop: () => void;
  readonly #splitter = new LineSplitter(longestLine);
  #problem: { error: unknown } | null = null;

  constructor(run: RunCliOptions, startedAt: number, stop: () => void) {
    this.#run = run;
    this.#startedAt = startedAt;
    this.#stop = stop;
  }

  take = async (chunk: Uint8Array): Promise<void> => {
    for (const line of this.#splitter.push(chunk)) await this.#tell(line);
  };

  async end(): Promise<void> {
    const last = this.#splitter.end();
    if (last !== null) await this.#tell(last);
    if (this.#problem === null) return;
    const { error } = this.#problem;
    throw error instanceof Error ? error : new Error(messageOf(error));
  }

  async #tell(line: SplitLine): Promise<void> {
    if (this.#problem !== null) return;
    this.firstLineMs ??= performance.now() - this.#startedAt;
    this.lines += 1;
    try {
      await this.#run.onLine(line.text, line.cutBytes > 0);
    } catch (error) {
      this.#problem = { error };
      this.#stop();
    }
  }
}

/** A full disk must not end the turn: the events are what counts. */
function keep(log: number, chunk: Uint8Array): void {
  try {
    writeSync(log, chunk);
  } catch {
    // Told by whoever writes the transcript, which lies beside it.
  }
}

function openLog(path: string | null, stream: "stdout" | "stderr"): number | null {
  if (path === null) return null;
  try {
    mkdirSync(dirname(path), { recursive: true });
    return openSync(`${path}.${stream}.log`, "a", 0o600);
  } catch {
    return null;
  }
}
