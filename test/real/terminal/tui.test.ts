// Tests of the full screen in a real terminal of 80 × 24. Needs tmux, so only .ci/run runs it, not npm test.
import { describe, expect, test } from "bun:test";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { list, main, model, runChatJourney } from "../../support/chat-journey.ts";
import { waitForNoProcesses, findProcess } from "../../support/processes.ts";
import { temporaryHome, vendorEnv } from "../../support/temporary-home.ts";
import { openViTerminal } from "../../support/tmux.ts";

const size = { columns: 80, rows: 24 };
const ready = /\[INSERT\] \[idle\]/;

describe("the screen", () => {
  test("the screen takes a message, shows the answer, and restores the terminal", async () => {
    await runChatJourney(async ({ skein }) => {
      await using terminal = await openViTerminal(skein, size);
      const { press, until } = terminal;
      await press(`skein tui ${model.join(" ")}`, "Enter");
      await until(ready);
      await press(list, "Enter");
      const answered = await until(/── ok · 2 steps[^]*\[INSERT\] \[idle\]/);
      expect(answered).toContain(`▌ ${list}`);
      expect(answered).toMatch(/> bash ls src\/\*\.py · 3 lines/);
      expect(answered).toContain("• config.py");
      expect(answered).toMatch(/\[i:\S+ o:\S+ \| .*\$\d+\.\d\d\] \[NET: off\] \[SANDBOX: \w+\]/);
      await press("Escape");
      await until("[NORMAL]");
      await press("[", "[", "[", "Enter");
      await until(/v bash ls src\/\*\.py[^]*│ src\/main\.py/);
      await press(":quit", "Enter");
      const afterQuit = await until(/Resume with: skein -r [0-9a-f]{8}\n\$/);
      expect(afterQuit).not.toContain("[NORMAL]");
      await press("stty -a", "Enter");
      expect(await until(/ -?echo echoe/)).toMatch(/ icanon [^]* echo /);
      await press("clear; skein", "Enter");
      await until(/• config\.py[^]*\[INSERT\] \[idle\]/);
      await press("C-c", "C-c");
      await until(/Resume with: skein -r .*\n\$/);
    });
  });

  test("Ctrl+C on the screen stops the turn, and the conversation continues", async () => {
    await runChatJourney(async ({ skein }) => {
      await using terminal = await openViTerminal(skein, size);
      const { press, until } = terminal;
      await press(`skein tui ${model.join(" ")}`, "Enter");
      await until(ready);
      await press("take your time", "Enter");
      await until(/> bash sleep 300 …[^]*\[bash\]/);
      await press("and this one waits", "Enter");
      await until("queued: and this one waits");
      await press("C-c");
      await until(/── cancelled · 1 step/);
      await press(":x");
      await until("> :x");
      await press("C-u", main, "Enter");
      const screen = await until(/You said: and this one waits[^]*── ok/);
      expect(screen).toContain(`▌ ${main}`);
      await terminal.resize(60, 16);
      await until(/── ok · 1 step [^]*\[INSERT\] \[idle\]/);
      await press("C-c", "C-c");
      await until(/Resume with: skein -r .*\n\$/);
      await terminal[Symbol.asyncDispose]();
      expect(await waitForNoProcesses(skein.root)).toEqual([]);
    });
  });

  test("a signal ends the screen and restores the terminal", async () => {
    await runChatJourney(async ({ skein }) => {
      await using terminal = await openViTerminal(skein, size);
      const { press, until } = terminal;
      await press(`skein tui ${model.join(" ")}; echo "code $?"`, "Enter");
      await until(ready);
      process.kill((await findProcess(skein.root, (command) => command.includes(` tui ${model.join(" ")}`))).pid, "SIGTERM");
      await until("code 143");
      await press("clear; stty -a", "Enter");
      expect(await until(/ -?echo echoe/)).toMatch(/ icanon [^]* echo /);
    });
  });

  test("a table keeps its columns with any characters", async () => {
    const cells = ["日本語", "👩‍👩‍👧", "👍🏽", "🇩🇪", "⚠️", "e\u0301", "שלום", "\u202eabc", "ก็", "a\u200bb\u00adc", "\u0301x"];
    const final = ["| what | n |", "|---|---|", ...cells.map((cell, index) => `| ${cell} | ${index} |`)].join("\n");
    const server = startModelServer({ steps: [], final });
    using skein = temporaryHome(vendorEnv(server.url));
    try {
      await using terminal = await openViTerminal(skein, size);
      const { press, until } = terminal;
      await press(`skein tui ${model.join(" ")}`, "Enter");
      await until(ready);
      await press("go", "Enter");
      const screen = await until(/── ok · 1 step/);
      const bars = screen.split("\n").flatMap((row) => (/[│┼]/.test(row) ? [Bun.stringWidth(row.slice(0, row.search(/[│┼]/)))] : []));
      // The widest cell is "<U+202E>abc": a control of the writing direction is shown as text.
      expect(bars).toEqual(Array.from({ length: cells.length + 2 }, () => 14));
    } finally {
      await server.stop();
    }
  });

  test("a question is answered in its overlay, and not by keys for other uses", async () => {
    const ask = (question: string) => ({ calls: [{ name: "ask_user", input: { question, options: ["red", "blue"] } }] });
    const server = startModelServer({ steps: [ask("Which colour?"), ask("And the other?")], final: "Thanks." });
    using skein = temporaryHome(vendorEnv(server.url));
    try {
      await using terminal = await openViTerminal(skein, size);
      const { press, until } = terminal;
      await press(`skein tui ${model.join(" ")}`, "Enter");
      await until(ready);
      await press("go", "Enter");
      await until(/Which colour\?[^]*1\. red[^]*2\. blue[^]*answer >[^]*\[asking\]/);
      await press("Escape");
      await until("the question stays open");
      await press("Escape");
      await until("[NORMAL]");
      await press("Tab", "2", "Enter");
      await until("── the agent asks (Tab answers): And the other? ─");
      await press("[", "Enter");
      await until(/┃ v ask_user[^]*question: And the other[^]*the agent asks \(Tab answers\): And the other\?[^]*\[NORMAL\] \[asking\]/);
      await press("Tab", "1", "Enter");
      const screen = await until(/Thanks\.[^]*── ok[^]*\[NORMAL\] \[idle\]/);
      expect(screen).toMatch(/> ask_user Which colour\? · blue[^]*v ask_user And the other\?[^]*red/);
    } finally {
      await server.stop();
    }
  });
});
