// The real program in a terminal of its own: what it writes is remembered as it comes, with its escape sequences.
import { skeinCommand, type TemporaryHouse } from "./skein.ts";

export type Typing = {
  type: (text: string) => void;
  /** All that was written so far, without escape sequences. */
  shown: () => string;
  until: (wanted: string | RegExp) => Promise<string>;
  exited: Promise<number>;
  [Symbol.asyncDispose]: () => Promise<void>;
};

export function typing(house: TemporaryHouse, args: string[]): Typing {
  const decoder = new TextDecoder();
  let written = "";
  const child = Bun.spawn([...skeinCommand(), ...args], {
    cwd: house.project,
    env: { ...house.env, TERM: "xterm-256color", NO_COLOR: "1" },
    terminal: { cols: 80, rows: 24, data: (_terminal, bytes) => void (written += decoder.decode(bytes, { stream: true })) },
  });
  const shown = () => Bun.stripANSI(written).replaceAll("\r", "");
  return {
    type: (text) => void child.terminal?.write(text),
    shown,
    async until(wanted) {
      const giveUpAt = performance.now() + 20_000;
      for (;;) {
        const now = shown();
        if (typeof wanted === "string" ? now.includes(wanted) : wanted.test(now)) return now;
        if (performance.now() > giveUpAt) throw new Error(`waited for ${String(wanted)}, but it has written\n${now}`);
        await Bun.sleep(10);
      }
    },
    exited: child.exited,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null) child.kill("SIGKILL");
      await child.exited;
      child.terminal?.close();
    },
  };
}
