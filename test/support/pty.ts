// Runs the real program in its own terminal and records its output with all escape sequences.
import { skeinCommand, type TemporaryHome } from "./temporary-home.ts";

export type PtyProgram = {
  type: (text: string) => void;
  /** Returns all output so far, with escape sequences. */
  written: () => string;
  /** Returns all output so far, without escape sequences. */
  shown: () => string;
  until: (pattern: string | RegExp) => Promise<string>;
  /** Closes the terminal, as a closed window does. */
  hangUp: () => void;
  exited: Promise<number>;
  [Symbol.asyncDispose]: () => Promise<void>;
};

type TypingOptions = { env?: Record<string, string>; program?: string[]; size?: { columns: number; rows: number } };

export function startInPty(skein: TemporaryHome, args: string[], options: TypingOptions = {}): PtyProgram {
  const { env = { NO_COLOR: "1" }, program = skeinCommand(), size = { columns: 80, rows: 24 } } = options;
  const decoder = new TextDecoder();
  let written = "";
  const child = Bun.spawn([...program, ...args], {
    cwd: skein.project,
    env: { ...skein.env, TERM: "xterm-256color", ...env },
    terminal: {
      cols: size.columns,
      rows: size.rows,
      data: (_terminal, bytes) => void (written += decoder.decode(bytes, { stream: true })),
    },
  });
  const shown = () => Bun.stripANSI(written).replaceAll("\r", "");
  return {
    type: (text) => void child.terminal?.write(text),
    written: () => written,
    shown,
    async until(pattern) {
      const deadline = performance.now() + 60_000;
      for (;;) {
        const now = shown();
        if (typeof pattern === "string" ? now.includes(pattern) : pattern.test(now)) return now;
        if (performance.now() > deadline) throw new Error(`waited for ${String(pattern)}, but the output is\n${now}`);
        await Bun.sleep(10);
      }
    },
    hangUp: () => child.terminal?.close(),
    exited: child.exited,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null) child.kill("SIGKILL");
      await child.exited;
      child.terminal?.close();
    },
  };
}
