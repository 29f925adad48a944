// Runs skein in a terminal of a fixed size and keeps its screen, for pictures. Several programs can print to one screen.
import { Terminal } from "@xterm/headless";
import type { Screen } from "../../src/cli/export/terminal-svg.ts";
import { readScreen, withFixedTexts } from "./terminal-screen.ts";

export type Studio = {
  /** The directory in which skein runs, below its home. */
  project: string;
  env: Record<string, string>;
};

const main = `${import.meta.dir}/../../src/main.ts`;
const program = [process.execPath, "--config=/dev/null", "--no-env-file", "--tsconfig-override=/dev/null", main];

/** Ids are replaced in the order of their appearance in all pictures of a studio. */
export function openWindow(studio: Studio, size: { columns: number; rows: number }) {
  const terminal = new Terminal({ cols: size.columns, rows: size.rows, scrollback: 10_000, allowProposedApi: true });
  const ids = new Map<string, string>();
  const write = (text: string | Uint8Array) => new Promise<void>((done) => terminal.write(text, done));
  const screen = () => readScreen(terminal);
  const shown = () => screenText(screen());

  /** Prints the command as a shell would show it. */
  const prompt = (args: string[]) => write(`\x1b[2m$\x1b[0m \x1b[1mskein ${args.map(quoted).join(" ")}\x1b[0m\r\n`);

  function start(args: string[]) {
    const child = Bun.spawn([...program, ...args], {
      cwd: studio.project,
      env: { ...studio.env, TERM: "xterm-256color", COLORTERM: "" },
      terminal: { cols: size.columns, rows: size.rows, data: (_terminal, bytes) => terminal.write(bytes) },
    });
    terminal.onData((answer) => child.terminal?.write(answer));
    return {
      type: (text: string) => void child.terminal?.write(text),
      exited: child.exited,
      async end() {
        if (child.exitCode === null) child.kill("SIGKILL");
        await child.exited;
        child.terminal?.close();
      },
    };
  }

  return {
    write,
    start,
    shown,
    prompt,
    /** Prints the command as a shell would, and runs it to its end. */
    async run(args: string[]): Promise<number> {
      await prompt(args);
      const running = start(args);
      const code = await running.exited;
      await running.end();
      await write("");
      return code;
    },
    /** Resolves when the text is on the screen and the screen has stopped changing. */
    async until(pattern: RegExp): Promise<void> {
      const deadline = performance.now() + 60_000;
      for (let before = "", same = 0; ;) {
        await Bun.sleep(40);
        await write("");
        const now = screenText(withFixedTexts(screen(), new Map()));
        same = now === before ? same + 1 : 0;
        before = now;
        if (pattern.test(now) && same >= 5) return;
        if (performance.now() > deadline) throw new Error(`waited for ${String(pattern)}, but the screen is\n${shown()}`);
      }
    },
    fixed: (): Screen => withFixedTexts(screen(), ids),
  };
}

export function screenText({ rows }: Screen): string {
  return rows
    .map((row) =>
      row
        .map(({ text }) => text)
        .join("")
        .trimEnd(),
    )
    .join("\n");
}

function quoted(argument: string): string {
  return /^[\w./:,=-]+$/.test(argument) ? argument : `"${argument}"`;
}

/** Runs skein without a terminal. Fails if it fails. */
export async function runQuietly(studio: Studio, args: string[]): Promise<string> {
  const child = Bun.spawn([...program, ...args], { cwd: studio.project, env: studio.env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [out, err, code] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
  if (code !== 0) throw new Error(`skein ${args.join(" ")} ended with ${code}:\n${err}`);
  return out;
}
