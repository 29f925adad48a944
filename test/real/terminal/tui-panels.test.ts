// Tests of the tree, agents and sessions panels in a real terminal, on real sessions. Needs tmux, so only .ci/run runs it, not npm test.
import { describe, expect, test } from "bun:test";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { list, main, model, utils, runChatJourney } from "../../support/chat-journey.ts";
import { temporaryHome, vendorEnv } from "../../support/temporary-home.ts";
import { openViTerminal } from "../../support/tmux.ts";

const size = { columns: 80, rows: 24 };

describe("the tree and sessions panels", () => {
  test("sessions are forked, compared, grafted, renamed and archived in the tree, and found in the sessions panel", async () => {
    await runChatJourney(async ({ skein, chat }) => {
      await chat([list, main, "/fork other", utils]);
      await using terminal = await openViTerminal(skein, size);
      const { press, until } = terminal;
      await press(`skein tui other ${model.join(" ")}`, "Enter");
      await until(/Here's utils\.py\.[^]*\[INSERT\] \[idle\]/);
      await press("Space", "t");
      const tree = await until(/● Here's utils\.py\. 1 call \[other\] ← here/);
      expect(tree).toMatch(
        /┌─ tree: 6 lines ─[^]*● Here's the contents of main\.py\. 1 call \[[0-9a-f]{8}\][^]*native · anthropic\/claude-sonnet-4-5/,
      );
      // A named fork at the first answer. A message there creates a branch.
      await press("g", "g", "j", "f");
      await until("name of the fork (optional) >");
      await press("third", "Enter");
      await until(/── now in the fork third; files stay as they are/);
      await press("what now?", "Enter");
      await until(/You said: what now\?[^]*── ok[^]*\[INSERT\] \[idle\]/);
      await press("Space", "t");
      await until(/tree: 8 lines, 2 branches[^]*├─○ show me the contents[^]*└─○ what now\?[^]*\[third\] ← here/);
      // Compares two branches, then goes back to the tree.
      await press("d", "k", "k", "d");
      await until(/they diverge after [0-9a-f]{8}[^]*third +other[^]*tool calls +0 +2[^]*○ what now\?/);
      await press("G");
      await until(/● Here's utils\.py\. +│\n└/);
      await press("q");
      await until(/\[other\] +│/);
      await press("p");
      await until(/Grafted from the branch other[^]*── grafted into third as [0-9a-f]{8}/);
      await press("Space", "t");
      await until(/\[third\] ← here/);
      await press("r", "C-u", "mine", "Enter");
      await until(/\[mine\] ← here[^]*── renamed to mine/);
      // The branch of the other session is archived only after a second x.
      await press("/", "what now", "Enter");
      await until(/lines with "what now"/);
      await press("Escape");
      await until(/tree: \d+ lines, 2 branches ─/);
      await press("k", "x");
      await until(/press x again to archive other/);
      await press("x");
      await until(/other is archived; restore it with: skein restore/);
      await press("g", "g", "Enter");
      await until(/── moved to [0-9a-f]{8}; files stay as they are/);
      await press("Space", "s");
      await until(/sessions: 2[^]*← mine/);
      await press("Tab");
      await until(/sessions, with archived: 3[^]*× other/);
      await press("utils.py instead");
      await until(/sessions, with archived: 2[^]*× other[^]*● Here's utils\.py\.[^]*find > utils\.py instead/);
      await press("Enter");
      await until(/Here's utils\.py\.[^]*── now in session other/);
      await press("Escape");
      await until("[NORMAL]");
      await press(":switch mine", "Enter");
      await until(/── now in session mine/);
      await press("C-c", "C-c");
      await until(/Resume with: skein -r .*\n\$/);
    });
  });
});

describe("the agents panel", () => {
  const tasks = ["read the parser", "write the tests"];
  const calls = tasks.map((task) => ({ name: "spawn_session", input: { task, attachable: true } }));
  const ask = { name: "ask_user", input: { question: "Which colour?", options: ["red", "blue"] } };

  test("running turns are watched, steered, paused and stopped in the agents panel, also those of another process", async () => {
    const server = startModelServer(({ position: { prompt } }) => {
      if (prompt === "ask me") return { steps: [{ calls: [ask] }], final: "asked" };
      return tasks.includes(prompt)
        ? shellScript(["echo begun; sleep 300"], "done")
        : { steps: [{ text: "Delegating.", calls }], final: "all back" };
    });
    using skein = temporaryHome(vendorEnv(server.url));
    try {
      await using terminal = await openViTerminal(skein, size);
      const { press, until } = terminal;
      await press(`skein tui --max-budget-usd 2 ${model.join(" ")}`, "Enter");
      await until(/\[INSERT\] \[idle\]/);
      await press("Space", "a");
      await until("no turn runs in this project");
      await press("Escape");
      await until(/\n\n── new session/);
      await press("do both", "Enter");
      await until(/◆ native: read the parser\n +running[^]*begun[^]*◆ native: write the tests\n +running[^]*begun/);
      await press("Space", "a");
      const panel = await until(
        /agents: 3 running[^]*running[^]*\$1\.\d\d +do both[^]*│ {3}[0-9a-f]{8} +running[^]*│ {3}[0-9a-f]{8} +running/,
      );
      expect(panel).toMatch(/native · anthropic\/claude-sonnet-4-5 · process \d+/);
      await press("j", "p");
      await until(/│ {3}[0-9a-f]{8} +paused[^]*paused; press p to resume/);
      await press("p");
      await until("── resumed");
      await press("s", "look at utils", "Enter");
      await until(/sent to its agent/);
      await press("Enter");
      await until(/> bash echo begun; sleep 300[^]*queued: look at utils[^]*\(watched; q goes back\)/);
      await press("q");
      await until(/▌ do both[^]*Delegating\.[^]*\[INSERT\] \[(?!idle)/);
      await press("Space", "a");
      await until("agents: 3 running");
      await press("G", "x");
      await until(/press x again to stop [0-9a-f]{8} and its sub-sessions/);
      await press("x");
      await until(/│ {3}[0-9a-f]{8} +cancelled[^]*was stopped/);
      await terminal.resize(200, 60);
      await until(/SESSION +STATE +AGE +AGENT +MODEL +TOKENS +COST +LEFT +TASK/);
      await terminal.resize(size.columns, size.rows);
      // A question of a turn that ended in another process is answered here.
      expect((await skein.run(["run", "ask me", "--session", "asker", ...model])).code).not.toBe(0);
      await until(/asker +needs-input/);
      await press("G", "a");
      await until(/Which colour\?[^]*2\. blue/);
      await press("2", "Enter");
      await until(/── answered/);
      expect((await skein.run(["asks"])).out).not.toContain("Which colour?");
      // A turn of another process has its own budget, and can be stopped here.
      const beside = skein.start(["run", tasks[0]!, "--session", "beside", "--max-budget-usd", "0.75", ...model]);
      await press("Space", "a");
      await until(/│ beside +running .*\$0\.00\d\d +\$0\.7\d /);
      await press("gg", "x", "x");
      await until(/beside was stopped/);
      expect(await beside.exited).not.toBe(0);
      await press("Escape");
      await until(/^(?![^]*┌─ agents)/);
      await press("C-c");
      await until(/── cancelled/);
    } finally {
      await server.stop();
    }
  });
});
