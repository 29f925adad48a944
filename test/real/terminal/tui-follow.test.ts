// Tests of the screen while turns run elsewhere: in another branch, another process, another screen, the hub, or a killed
// process. Real processes in real terminals. Needs tmux, so only .ci/run runs it, not npm test.
import { describe, expect, test } from "bun:test";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import type { ScriptCall, Script } from "../../../src/scripted-model/script.ts";
import { waitForNoProcesses, findProcess } from "../../support/processes.ts";
import { longRunModel, startLongRun } from "../../support/long-run.ts";
import { skeinCommand, temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";
import { openViTerminal, type Terminal } from "../../support/tmux.ts";

const size = { columns: 80, rows: 24 };
const ready = /\[INSERT\] \[idle\]/;
/** The model sends 20 of the 40 words of an answer, then dots until it is no longer held, then the other words. */
const answer = { steps: 0, calls: 1, words: 40, pauseMs: 20 };
const half = 20;
type Model = { isHeld: boolean };

describe("the screen follows", () => {
  test("the screen shows only its branch, while a turn of another branch still streams", async () => {
    await withHome(async (skein, terminal, model) => {
      const { press, until } = terminal;
      const logs = async (screen: string) => (await skein.run(["logs", /── ([0-9a-f]{8}) ─/.exec(screen)![1]!])).out;
      await press(`skein tui -m ${longRunModel}`, "Enter");
      await until(ready);
      await press("the first", "Enter");
      const old = await until(/the first[^]*0\.5 /);
      await press("Space", "c");
      await until("Type a message");
      await press("the second", "Enter");
      await until(/the second[^]*0\.5 /);
      model.isHeld = false;
      const shown = await until(/the second[^]*0\.39 done[^]*── ok/);
      expect([shown.match(/0\.0 /g), shown.match(/done/g), shown.includes("the first")]).toEqual([["0.0 "], ["done"], false]);
      while (!(await logs(old)).includes("0.39 done")) await Bun.sleep(50);
      model.isHeld = true;
      await press("Space", "f");
      await until("now in the fork");
      await press("the third", "Enter");
      const forked = await until(/the third[^]*0\.5 /);
      await press("C-c", "C-c");
      await until(/Resume with: skein -r .*\n\$/);
      const [first = "", second = "", third = ""] = await Promise.all([old, shown, forked].map(logs));
      expect(first).toMatch(/the first[^]*0\.39 done/);
      expect(first).not.toMatch(/the second|the third/);
      expect(second).toMatch(/the second[^]*0\.39 done/);
      expect(second).not.toMatch(/the first|the third/);
      expect(third).toMatch(/the third[^]*0\.5[^]*cancelled/);
    });
  }, 300_000);

  test("the screen shows turns of another process and another screen, and their output after both were killed", async () => {
    await withHome(async (skein, terminal, model) => {
      await using other = await openViTerminal(skein, size, skeinCommand(), "beside");
      await other.press(`skein run "the run" --session count -m ${longRunModel}`, "Enter");
      await other.until("0.1");
      await terminal.press("skein attach count --tui", "Enter");
      const watched = await terminal.until(/the run[^]*0\.\d+ *\n[^]*\[\w+, pid \d+\]/);
      expect(watched).toContain("▌ the run");
      await terminal.press("C-c");
      await terminal.until(/runs in another process \(pid \d+\): :cancel stops it; Ctrl\+C again quits/);
      await terminal.press("look here", "Enter");
      await terminal.until("queued: look here");
      model.isHeld = false;
      await terminal.until(/look here[^]*── ok · 2 steps[^]*\[INSERT\] \[idle\]/);
      model.isHeld = true;
      await other.press("clear; skein tui count", "Enter");
      await other.until(ready);
      await terminal.press("from the one", "Enter");
      await other.until(/from the one[^]*0\.5 [^]*\[writing, pid \d+\]/);
      model.isHeld = false;
      await Promise.all([terminal, other].map(({ until }) => until(/from the one[^]*0\.39 done[^]*── ok · 1 step/)));
      expect(transcriptIn(await other.screen())).toBe(transcriptIn(await terminal.screen()));
      model.isHeld = true;
      await other.press("from the other", "Enter");
      await terminal.until(/from the other[^]*0\.5 /);
      await kill(skein, / tui count/);
      const interrupted = await terminal.until(/0\.5 [^]*This is its output until then[^]*interrupted: Enter continues the turn/);
      expect(interrupted).toContain("▌ from the other");
      await terminal.press("Enter");
      // The draft is stored at most 100 ms after it is shown, so the first words are surely stored.
      const streamed = await terminal.until(/killed · 0 steps[^]*0\.19 \./);
      await kill(skein, / attach count --tui/);
      await terminal.until("Killed");
      await terminal.press("reset; clear; skein", "Enter");
      const again = await terminal.until(/killed · 0 steps[^]*0\.5 [^]*interrupted: Enter/);
      expect(again).toContain(/0\.0 [^\n]*0\.4 /.exec(streamed.slice(streamed.lastIndexOf("killed")))![0]);
      model.isHeld = false;
      await terminal.press("Enter");
      await terminal.until(/killed · 0 steps[^]*0\.39 done[^]*── ok · 1 step/);
    });
  }, 300_000);

  test("a turn in the hub outlives the screen, and a killed hub is reported and its turn continued in the next hub", async () => {
    await withHome(async (skein, { press, until }, model) => {
      await press(`skein tui --hub auto -m ${longRunModel}`, "Enter");
      await until(ready);
      await press("the task", "Enter");
      await until(/the task[^]*0\.5 /);
      await press("Escape");
      await until("[NORMAL]");
      await press(":quit", "Enter");
      await until(/Resume with: skein tui --hub auto .*\n\$/);
      await press("clear; skein tui --hub auto", "Enter");
      await until(/the task[^]*0\.9 [^]*\[writing, pid \d+\]/);
      model.isHeld = false;
      await until(/0\.39 done[^]*── ok · 1 step[^]*\[INSERT\] \[idle\]/);
      model.isHeld = true;
      await press("once more", "Enter");
      await until(/once more[^]*0\.5 /);
      await kill(skein, / hub start/);
      await until(/once more[^]*0\.5 [^]*connection to the hub lost[^]*\[no hub\]/);
      await press("are you there", "Enter");
      await until(/back in the prompt[^]*> are you there/);
      await press("Escape");
      await until("[NORMAL]");
      await press(":hub", "Enter");
      // The next hub continues the turn by itself.
      await until(/killed · 0 steps[^]*0\.5 [^]*> are you there/);
      model.isHeld = false;
      await until(/killed · 0 steps[^]*0\.39 done[^]*── ok · 1 step/);
      await press("C-c", "C-c");
      await until(/Resume with: skein tui --hub auto .*\n\$/);
      expect((await skein.run(["hub", "stop"])).out).toBe("the hub is stopped\n");
    });
  }, 300_000);
});

test("a reopened session has its sub-sessions, also killed ones, their usage, and its open question", async () => {
  const script = (call: ScriptCall, final: string): Script => ({ steps: [{ calls: [call] }], final });
  const scripts: Record<string, Script> = {
    delegate: script({ name: "spawn_session", input: { task: "count the files" } }, "It is done."),
    wait: script({ name: "spawn_session", input: { task: "sleep on it" } }, "It is over."),
    "sleep on it": { steps: [{ text: "Sleeping.", calls: [{ input: { command: "sleep 300" } }] }], final: "" },
    "ask me": script({ name: "ask_user", input: { question: "Which colour?", options: ["red", "blue"] } }, "Thanks."),
  };
  const server = startModelServer(({ position: { prompt } }) => scripts[prompt] ?? { steps: [], final: "3 files" });
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    await using terminal = await openViTerminal(skein, { columns: 120, rows: 24 });
    const { press, until } = terminal;
    const usedIn = (screen: string) => /\[i:(\d+) o:\d+ \| total i:(\d+) o:\d+ \S+\]/.exec(screen)!.slice(0, 3);
    await press(`skein tui -m ${wireModels.anthropic}`, "Enter");
    await until(ready);
    await press("delegate", "Enter");
    const before = await until(
      /◆ native: count the files\n +ok · in \S+ out \d+ · \S+ · 3 files\n[^]*It is done\.[^]*── ok[^]*\[INSERT\] \[idle\]/,
    );
    const used = usedIn(before);
    expect(Number(used[2])).toBeGreaterThan(Number(used[1]));
    await press("C-c", "C-c");
    await until(/Resume with: skein -r .*\n\$/);
    await press("clear; skein tui", "Enter");
    const after = await until(/It is done\.[^]*\[INSERT\] \[idle\]/);
    expect([usedIn(after), blocksIn(after)]).toEqual([used, blocksIn(before)]);
    await press("Escape");
    await until("[NORMAL]");
    await press("gg", "]", "]");
    await until("┃ ◆ native: count the files");
    await press("Enter");
    await until(/▌ count the files\n[^]*3 files[^]*── ok[^]*\(watched; q goes back\)/);
    await press("q");
    await until(/It is done\.[^]*\[NORMAL\]/);
    await press("iwait", "Enter");
    // If the call already runs when the screen starts to follow, it shows the last text instead.
    await until(/◆ native: sleep on it\n +running · [^\n]*(bash sleep 300|Sleeping\.)/);
    await kill(skein, /\/main\.[jt]s tui/);
    await until("Killed");
    await press("reset; clear; skein", "Enter");
    await until(/◆ native: sleep on it\n +interrupted · in \S+ out \d+ · \S+ · Sleeping\.\n[^]*interrupted: Enter/);
    await press("Enter");
    await until(/◆ native: sleep on it\n +interrupted · [^]*── killed[^]*It is over\.[^]*── ok/);
    await press("C-c", "C-c");
    await until(/Resume with: skein -r .*\n\$/);
    expect((await skein.run(["run", "ask me", "--continue"])).code).toBe(8);
    await press("clear; skein", "Enter");
    await until(/Which colour\?[^]*2\. blue[^]*\[asking\]/);
    await press("2", "Enter");
    await until(/ask_user Which colour\? · blue[^]*Thanks\.[^]*── ok[^]*\[INSERT\] \[idle\]/);
  } finally {
    await server.stop();
  }
}, 300_000);

async function withHome(check: (skein: TemporaryHome, terminal: Terminal, model: Model) => Promise<void>): Promise<void> {
  const model = { isHeld: true };
  const server = startLongRun({ ...answer, isHeldAt: (index) => index === half && model.isHeld });
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    await using terminal = await openViTerminal(skein, size);
    await check(skein, terminal, model);
    await terminal[Symbol.asyncDispose]();
    expect(await waitForNoProcesses(skein.root)).toEqual([]);
  } finally {
    model.isHeld = false;
    await skein.run(["hub", "stop", "--wait", "0"]);
    await server.stop();
  }
}

async function kill(skein: TemporaryHome, pattern: RegExp): Promise<void> {
  process.kill((await findProcess(skein.root, (command) => pattern.test(command))).pid, "SIGKILL");
}

/** The blocks without durations, which are known only to a screen that watched the calls. */
function blocksIn(screen: string): string {
  return screen.slice(screen.indexOf("▌ delegate"), screen.indexOf("── ok")).replace(/\(\d[^)]* m?s\)/g, "");
}

/** The transcript without the rule, the prompt and the status bar. */
function transcriptIn(screen: string): string {
  return screen.slice(0, screen.lastIndexOf("── count "));
}
