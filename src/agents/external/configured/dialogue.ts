// The two-way side of a run: what is said to a program while it runs, and how such a talk ends. Beside run-cli.ts, which
// contains, logs and ends it like any other.
import type { Adapter, CliLaunch, CliReader } from "../adapters/adapter.ts";
import type { CliStdin } from "../process/run-cli.ts";

export type RunningDialogue = {
  reader: CliReader;
  stdin: (input: CliStdin) => void;
  /** When the program itself is to be ended. */
  signal: AbortSignal;
};

/** For it to stop by itself, and to leave once there is nothing more to say. */
const cancelMs = 2_000;
const leaveMs = 1_000;

/** Null for an adapter that is not talked to. */
export function startDialogue(adapter: Adapter, launch: CliLaunch, signal: AbortSignal): RunningDialogue | null {
  if (adapter.openDialogue === undefined) return null;
  const ending = new AbortController();
  const later = (ms: number) => void setTimeout(() => ending.abort(), ms).unref();
  const said: string[] = [];
  let input: CliStdin | null = null;
  let isOver = false;
  const talk = adapter.openDialogue(launch, {
    write: (text) => void (input === null ? said.push(text) : input.write(text)),
    end: () => {
      isOver = true;
      input?.end();
      later(leaveMs);
    },
  });
  const stop = () => {
    talk.cancel();
    later(cancelMs);
  };
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  return {
    reader: talk,
    stdin: (opened) => {
      input = opened;
      for (const text of said.splice(0)) opened.write(text);
      if (isOver) opened.end();
    },
    signal: ending.signal,
  };
}
