// Tests of `chat`, typed into a real terminal. Needs tmux, so only .ci/run runs it, not npm test.
import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { list, main, model, utils, runChatJourney } from "../../support/chat-journey.ts";
import { waitForNoProcesses } from "../../support/processes.ts";
import type { TemporaryHome } from "../../support/temporary-home.ts";
import { openTerminal } from "../../support/tmux.ts";

describe("chat in a terminal", () => {
  test("chat edits lines with cursor keys, completes commands, forks, and keeps a history", async () => {
    await runChatJourney(async ({ skein }) => {
      await using terminal = await openTerminal(skein);
      const { press, until } = terminal;
      await press(`skein chat ${model.join(" ")}`, "Enter");
      await until(/New session.*\n>/);
      await press("list tXe python files in src/", "Home", "C-Right", "Right", "Right", "DC", "h", "Enter");
      await until(/- config\.py\nok · 2 steps/);
      await press(main, "Enter");
      await until(/contents of main.py.\nok · 2 steps/);
      await press("/fo", "Tab", "other", "Enter");
      await until("now in session other;");
      await press("日本語", "BSpace", "BSpace", "BSpace", utils, "Enter");
      await until(/Here's utils.py.\nok · 2 steps/);
      await press("/branches", "Enter");
      const screen = await until("(continues from here)");
      expect(screen).toMatch(/ {2}\[current\] {2}other {5}→ "actually, show me utils.py instead"/);
      await press("Up", "Up", "Up", "Up", "C-c");
      await until(`other > ${main}`);
      await press("C-d");
      await until("Resume with: skein chat other\n$");
      await press("clear; skein chat other", "Enter");
      await until(/Session other, 6 messages[^]*other >/);
      await press("Up");
      await until("other > /branches");
      await press("C-c", "C-c", "C-c");
      await until("Resume with: skein chat other\n$");
      await press("stty -a", "Enter");
      expect(await until(/ -?echo echoe/)).toMatch(/ icanon [^]* echo /);
      expect(history(skein)).toEqual([list, main, "/fork other", utils, "/branches"]);
    });
  });

  test("Ctrl-C in a chat stops the turn and its processes, and the conversation continues", async () => {
    await runChatJourney(async ({ skein }) => {
      await using terminal = await openTerminal(skein);
      const { press, until } = terminal;
      await press(`skein chat ${model.join(" ")}`, "Enter");
      await until(/New session.*\n>/);
      await press("take your time", "Enter");
      await until("• bash sleep 300");
      await press("C-c");
      await until(/cancelled · 1 step[^]*\n>/);
      await press("still there?", "Enter");
      await until(/You said: still there\?\nok/);
      await press("C-d");
      await until("Session saved.");
      await terminal[Symbol.asyncDispose]();
      expect(await waitForNoProcesses(skein.root)).toEqual([]);
    });
  });

  test("a paste of several lines is one message in a chat, and a resize keeps the line", async () => {
    await runChatJourney(async ({ skein }) => {
      await using terminal = await openTerminal(skein);
      const { press, until } = terminal;
      await press(`skein chat ${model.join(" ")}`, "Enter");
      await until(/New session.*\n>/);
      await terminal.paste("first\n/tree\nthird\n");
      await until("> first\n  /tree\n  third");
      await press("Enter");
      await until(/You said: first\n\/tree\nthird\nok · 1 step/);
      await press("one two three four five six seven eight nine ten eleven twelve thirteen fourteen", "Home");
      await until("thirteen fourte\nen");
      await terminal.resize(40, 50);
      await press("zero ");
      await until("> zero one two three four five six seven\n eight");
      await terminal.resize(100, 50);
      await press("and ");
      const screen = await until("> zero and one two three four five six seven eight nine ten eleven twelve thirteen fourteen\n");
      expect(screen.match(/zero/g)).toHaveLength(1);
    });
  });
});

function history(skein: TemporaryHome): unknown[] {
  const directory = join(skein.root, "skein", "state", "history");
  const [file = ""] = readdirSync(directory);
  return readFileSync(join(directory, file), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
}
