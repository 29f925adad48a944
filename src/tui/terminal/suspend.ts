// The screen put aside while another program or the shell has the terminal, and taken up again in whatever size it has
// then. Signals that stop us from outside mean the same as Ctrl+Z.
import type { CliRenderer } from "@opentui/core";
import type { Surface } from "./surface.ts";

export type Suspender = {
  /** Gives the terminal back while this runs. */
  lendTerminal: <T>(act: () => Promise<T>) => Promise<T>;
  /** Stops until the shell lets us go on. */
  suspend: () => Promise<void>;
  close: () => void;
};

export type SuspenderOptions = {
  renderer: CliRenderer;
  surface: Pick<Surface, "away" | "back">;
  stop: () => Promise<void>;
  onFault: (error: unknown) => void;
};

export function createSuspender({ renderer, surface, stop, onFault }: SuspenderOptions): Suspender {
  let isAway = false;

  async function lendTerminal<T>(act: () => Promise<T>): Promise<T> {
    if (isAway) return act();
    isAway = true;
    surface.away();
    await renderer.suspend();
    try {
      return await act();
    } finally {
      isAway = false;
      if (!renderer.isDestroyed) {
        await renderer.resume();
        surface.back();
        process.kill(process.pid, "SIGWINCH");
      }
    }
  }
  /** Without us listening, the signal does what it does to everyone. */
  async function suspend(): Promise<void> {
    process.off("SIGTSTP", stopped);
    try {
      await lendTerminal(stop);
    } finally {
      process.on("SIGTSTP", stopped);
    }
  }
  const stopped = () => void suspend().catch(onFault);
  /** Who was stopped without a word finds a terminal that is not as it was. */
  const continued = () => void (isAway ? undefined : lendTerminal(async () => {}).catch(onFault));

  process.on("SIGTSTP", stopped).on("SIGCONT", continued);
  return { lendTerminal, suspend, close: () => void process.off("SIGTSTP", stopped).off("SIGCONT", continued) };
}
