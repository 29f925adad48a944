// Suspends the screen while another program or the shell has the terminal, and resumes it in the new size.
// SIGTSTP from another process does the same as Ctrl+Z.
import type { CliRenderer } from "@opentui/core";
import type { Surface } from "./surface.ts";

export type Suspender = ReturnType<typeof createSuspender>;

type SuspenderOptions = {
  renderer: CliRenderer;
  surface: Pick<Surface, "suspend" | "resume">;
  /** Called after the terminal is restored. Resolves when the process continues. */
  suspendProcess: () => Promise<void>;
  onFault: (error: unknown) => void;
};

export function createSuspender({ renderer, surface, suspendProcess, onFault }: SuspenderOptions) {
  let isSuspended = false;

  /** Runs `act` while another program has the terminal. */
  async function lendTerminal<T>(act: () => Promise<T>): Promise<T> {
    if (isSuspended) return act();
    isSuspended = true;
    surface.suspend();
    await renderer.suspend();
    try {
      return await act();
    } finally {
      isSuspended = false;
      if (!renderer.isDestroyed) {
        await renderer.resume();
        surface.resume();
        process.kill(process.pid, "SIGWINCH");
      }
    }
  }
  /** Suspends this process: SIGTSTP suspends it only without our listener. Resolves when the shell continues it. */
  async function suspend(): Promise<void> {
    process.off("SIGTSTP", onStopSignal);
    try {
      await lendTerminal(suspendProcess);
    } finally {
      process.on("SIGTSTP", onStopSignal);
    }
  }
  const onStopSignal = () => void suspend().catch(onFault);
  /** After SIGSTOP, which has no listener, the terminal must be set up again. */
  const onContinued = () => void (isSuspended ? undefined : lendTerminal(async () => {}).catch(onFault));

  process.on("SIGTSTP", onStopSignal).on("SIGCONT", onContinued);
  return { lendTerminal, suspend, close: () => void process.off("SIGTSTP", onStopSignal).off("SIGCONT", onContinued) };
}
