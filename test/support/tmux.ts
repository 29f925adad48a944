// A real terminal for a test: its own tmux server with one pane, which ends with the test.
import { join } from "node:path";
import { skeinCommand, type TemporaryHome } from "./temporary-home.ts";

export type Terminal = {
  /** Presses keys by tmux's names ("Enter", "C-c"), and types any other text. */
  press: (...keys: string[]) => Promise<void>;
  paste: (text: string) => Promise<void>;
  resize: (columns: number, rows: number) => Promise<void>;
  screen: () => Promise<string>;
  cursor: () => Promise<{ column: number; row: number }>;
  /** Returns the screen with all text that has scrolled out of it. */
  scrollback: () => Promise<string>;
  /** Returns the screen as soon as it contains this text or pattern. */
  until: (pattern: string | RegExp) => Promise<string>;
  [Symbol.asyncDispose]: () => Promise<void>;
};

/** A terminal in which the screen has the vi keys. */
export function openViTerminal(skein: TemporaryHome, ...options: OpenOptions): Promise<Terminal> {
  return openTerminal({ ...skein, env: { ...skein.env, SKEIN_KEYS: "vi" } }, ...options);
}

type OpenOptions = Parameters<typeof openTerminal> extends [TemporaryHome, ...infer Rest] ? Rest : never;

/** Runs a shell in the home's project, in which `skein` is the program. A second terminal needs another name. */
export async function openTerminal(
  skein: TemporaryHome,
  size = { columns: 80, rows: 50 },
  program = skeinCommand(),
  name = "journey",
): Promise<Terminal> {
  const env = { ...skein.env, TERM: "xterm-256color", TMUX_TMPDIR: skein.root, NO_COLOR: "1" };
  const rc = join(skein.root, "rc");
  await Bun.write(rc, `PS1='$ '\nskein() { ${program.join(" ")} "$@"; }\n`);
  async function tmux(...args: string[]): Promise<string> {
    const child = Bun.spawn(["tmux", "-f", "/dev/null", "-L", name, ...args], {
      cwd: skein.project,
      env,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    const [out, err, code] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
    if (code !== 0) throw new Error(`tmux ${args[0]}: ${err}`);
    return out;
  }
  let isOpen = true;
  const screen = () => tmux("capture-pane", "-p", "-t", "journey");
  await tmux(
    "new-session",
    "-d",
    "-s",
    "journey",
    "-x",
    String(size.columns),
    "-y",
    String(size.rows),
    `bash --noprofile --rcfile ${rc} -i`,
  );
  return {
    async press(...keys) {
      await tmux("send-keys", "-t", "journey", ...keys);
    },
    async paste(text) {
      await tmux("set-buffer", "-b", "journey", text);
      await tmux("paste-buffer", "-p", "-b", "journey", "-t", "journey");
    },
    async resize(columns, rows) {
      await tmux("resize-window", "-t", "journey", "-x", String(columns), "-y", String(rows));
    },
    screen,
    async cursor() {
      const [column = 0, row = 0] = (await tmux("display-message", "-p", "-t", "journey", "#{cursor_x} #{cursor_y}"))
        .split(" ")
        .map(Number);
      return { column, row };
    },
    scrollback: () => tmux("capture-pane", "-p", "-S", "-", "-t", "journey"),
    async until(pattern) {
      const deadline = performance.now() + 60_000;
      for (;;) {
        const now = await screen();
        if (typeof pattern === "string" ? now.includes(pattern) : pattern.test(now)) return now;
        if (performance.now() > deadline) throw new Error(`waited for ${String(pattern)}, but the screen is\n${now}`);
        await Bun.sleep(30);
      }
    },
    async [Symbol.asyncDispose]() {
      if (isOpen) await tmux("kill-server");
      isOpen = false;
    },
  };
}
