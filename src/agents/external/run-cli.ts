// Runs one CLI to its end: no stdin, stdout as lines of bounded length, stderr's end, both kept raw in files, and
// nothing of it left when it is stopped. It knows no CLI and nothing of the tree.
import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { Excerpt } from "../../kit/excerpt.ts";
import { readLines } from "../../kit/lines.ts";
import { endFamily } from "../../kit/processes.ts";
import { messageOf } from "../../protocol/error.ts";

export type CliRun = {
  /** With the words before it that put it behind walls. */
  command: string[];
  cwd: string;
  env: Record<string, string>;
  /** What it reads before the end of its input; null is nothing. */
  stdin: string | null;
  /** A file that it gets as its number 3. */
  passed: { file: number; started: () => void } | null;
  signal: AbortSignal;
  /** `<path>.stdout.log` and `<path>.stderr.log` are appended to; null keeps none. */
  logs: string | null;
  /** Reading waits until it has been dealt with. */
  onLine: (line: string, isCut: boolean) => Promise<void> | void;
  /** Anything printed is a sign of life. */
  onOutput: () => void;
};

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
const restMs = 1_000;

/** Rejects only when it can't be started. */
export async function runCli(run: CliRun): Promise<CliExit> {
  const startedAt = performance.now();
  const input = run.stdin === null ? "ignore" : new Blob([run.stdin]);
  const stdio = [input, "pipe", "pipe", ...(run.passed === null ? [] : [run.passed.file])] as [typeof input, "pipe", "pipe"];
  const child = Bun.spawn(run.command, { cwd: run.cwd, env: run.env, stdio, detached: true });
  run.passed?.started();
  const logs = { stdout: openLog(run.logs, "stdout"), stderr: openLog(run.logs, "stderr") };
  const stderr = new Excerpt(2 << 10, 14 << 10);
  let lines = 0;
  let bytes = 0;
  let firstLineMs: number | null = null;

  const reading = (async () => {
    for await (const line of readLines(
      watched(child.stdout, logs.stdout, run.onOutput, (size) => (bytes += size)),
      longestLine,
    )) {
      firstLineMs ??= performance.now() - startedAt;
      lines += 1;
      await run.onLine(line.text, line.cutBytes > 0);
    }
  })();
  const complaining = (async () => {
    for await (const chunk of watched(child.stderr, logs.stderr, run.onOutput, () => {})) stderr.push(chunk);
  })();

  const stop = () => void endFamily({ root: child.pid, mark: null }, graceMs).then((left) => left.length > 0 && child.kill("SIGKILL"));
  run.signal.addEventListener("abort", stop, { once: true });
  if (run.signal.aborted) stop();
  // A line that can't be dealt with ends the run: what could not be recorded must not go on.
  const failed = reading.then(() => null).catch((error: unknown) => (stop(), { error }));
  await child.exited;
  // What it left behind in the background may hold its streams open.
  await Promise.race([Promise.allSettled([reading, complaining]), Bun.sleep(restMs)]);
  await endFamily({ root: child.pid, mark: null }, 0);
  run.signal.removeEventListener("abort", stop);
  for (const log of Object.values(logs)) if (log !== null) closeSync(log);
  const problem = await Promise.race([failed, Bun.sleep(restMs).then(() => null)]);
  if (problem !== null) throw problem.error instanceof Error ? problem.error : new Error(messageOf(problem.error));
  return {
    exitCode: child.signalCode === null ? child.exitCode : null,
    signal: child.signalCode === null ? null : String(child.signalCode),
    stderr: stderr.text().text,
    lines,
    bytes,
    firstLineMs,
    durationMs: performance.now() - startedAt,
  };
}

async function* watched(
  stream: ReadableStream<Uint8Array>,
  log: number | null,
  onOutput: () => void,
  count: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of stream) {
    count(chunk.length);
    onOutput();
    // A full disk must not end the turn: the events are what counts.
    if (log !== null) keep(log, chunk);
    yield chunk;
  }
}

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
