// Connects a dialogue to the stdin of a running CLI, and decides when the CLI must end. run-cli.ts starts, logs and ends
// the process itself.
import type { Adapter, CliLaunch, CliReader } from "../adapters/adapter.ts";
import type { CliStdin } from "../process/run-cli.ts";

export type RunningDialogue = {
  reader: CliReader;
  /** Called once, with the stdin of the started process. */
  stdin: (stdin: CliStdin) => void;
  /** Aborted when the process must be ended. */
  signal: AbortSignal;
};

/** Time to stop after a cancel request. */
const cancelMs = 2_000;
/** Time to exit after stdin was closed. */
const exitMs = 1_000;

/** Returns null for an adapter without a dialogue. */
export function startDialogue(adapter: Adapter, launch: CliLaunch, signal: AbortSignal): RunningDialogue | null {
  if (adapter.openDialogue === undefined) return null;
  const ending = new AbortController();
  const endAfter = (ms: number) => void setTimeout(() => ending.abort(), ms).unref();
  /** Text that is written before the process has started. */
  const pending: string[] = [];
  let stdin: CliStdin | null = null;
  let hasEnded = false;
  const dialogue = adapter.openDialogue(launch, {
    write: (text) => void (stdin === null ? pending.push(text) : stdin.write(text)),
    end: () => {
      hasEnded = true;
      stdin?.end();
      endAfter(exitMs);
    },
  });
  const stop = () => {
    dialogue.cancel();
    endAfter(cancelMs);
  };
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  return {
    reader: dialogue,
    stdin: (opened) => {
      stdin = opened;
      for (const text of pending.splice(0)) opened.write(text);
      if (hasEnded) opened.end();
    },
    signal: ending.signal,
  };
}
