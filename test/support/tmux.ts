// A real terminal for a walk: a tmux server of its own, with one pane, that is ended with the walk.
import { join } from "node:path";
import { skeinCommand, type TemporaryHome } from "./temporary-home.ts";

export type Terminal = {
  /** Keys by tmux's names ("Enter", "C-c"); anything else is typed as it is. */
  press: (...keys: string[]) => Promise<void>;
  paste: (text: string) => Promise<void>;
  resize: (columns: number, rows: number) => Promise<void>;
  screen: () => Promise<string>;
  /** With all that has scrolled out of it. */
  scrollback: () => Promise<string>;
  /** The screen, as soon as it has this text or pattern. */
  until: (wanted: string | RegExp) => Promise<string>;
  [Symbol.asyncDispose]: () => Promise<void>;
};

/** Runs a shell in the home's project, in which `skein` is the program. A second one beside it needs a name of its own. */
export async function openTerminal(
  skein: TemporaryHome,
  size = { columns: 80, rows: 50 },
  program = skeinCommand(),
  name = "walk",
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
  const screen = () => tmux("capture-pane", "-p", "-t", "walk");
  await tmux("new-session", "-d", "-s", "walk", "-x", String(size.columns), "-y", String(size.rows), `bash --noprofile --rcfile ${rc} -i`);
  return {
    async press(...keys) {
      await tmux("send-keys", "-t", "walk", ...keys);
    },
    async paste(text) {
      await tmux("set-buffer", "-b", "walk", text);
      await tmux("paste-buffer", "-p", "-b", "walk", "-t", "walk");
    },
    async resize(columns, rows) {
      await tmux("resize-window", "-t", "walk", "-x", String(columns), "-y", String(rows));
    },
    screen,
    scrollback: () => tmux("capture-pane", "-p", "-S", "-", "-t", "walk"),
    async until(wanted) {
      const giveUpAt = performance.now() + 60_000;
      for (;;) {
        const now = await screen();
        if (typeof wanted === "string" ? now.includes(wanted) : wanted.test(now)) return now;
        if (performance.now() > giveUpAt) throw new Error(`waited for ${String(wanted)}, but the screen is\n${now}`);
        await Bun.sleep(30);
      }
    },
    async [Symbol.asyncDispose]() {
      if (isOpen) await tmux("kill-server");
      isOpen = false;
    },
  };
}
