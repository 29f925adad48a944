// The full screen of the real program in its own terminal, as a user sees it: rows of text, and the colours of a text.
import { TestScreen } from "../../src/tui/fixtures/test-screen.ts";
import { startInPty, type PtyProgram } from "./pty.ts";
import type { TemporaryHome } from "./temporary-home.ts";

export type PtyScreen = Pick<PtyProgram, "type" | "hangUp" | "exited"> & {
  /** Returns the screen as soon as it contains this text or pattern. */
  until: (pattern: string | RegExp) => Promise<string>;
  /** The style of the first cell of a text that is on the screen. */
  styleOf: (text: string) => ReturnType<TestScreen["styleAt"]>;
  [Symbol.asyncDispose]: () => Promise<void>;
};

type ScreenOptions = { env?: Record<string, string>; size?: { columns: number; rows: number } };

export function startScreen(
  skein: TemporaryHome,
  args: string[],
  { env = {}, size = { columns: 80, rows: 24 } }: ScreenOptions = {},
): PtyScreen {
  // The vi preset has modes and commands after a colon, as the documents describe them.
  const program = startInPty(skein, args, { env: { SKEIN_KEYS: "vi", ...env }, size });
  const screen = new TestScreen(size);
  let painted = 0;
  async function rows(): Promise<string[]> {
    const written = program.written();
    screen.write(written.slice(painted));
    painted = written.length;
    await screen.flush();
    return screen.rows();
  }
  return {
    type: program.type,
    hangUp: program.hangUp,
    exited: program.exited,
    async until(pattern) {
      const deadline = performance.now() + 60_000;
      for (;;) {
        const text = (await rows()).join("\n");
        if (typeof pattern === "string" ? text.includes(pattern) : pattern.test(text)) return text;
        if (performance.now() > deadline) throw new Error(`waited for ${String(pattern)}, but the screen is\n${text}`);
        await Bun.sleep(10);
      }
    },
    styleOf(text) {
      const row = screen.rows().findIndex((line) => line.includes(text));
      if (row < 0) throw new Error(`"${text}" is not on the screen`);
      return screen.styleAt(row, screen.rows()[row]!.indexOf(text));
    },
    [Symbol.asyncDispose]: () => program[Symbol.asyncDispose](),
  };
}
