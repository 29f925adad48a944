// Emoji of several characters, flags and marks in the full screen: the cursor stands where the text ends, and no cell keeps an
// old character. Needs tmux, so only .ci/run runs it, not npm test.
import { expect, test } from "bun:test";
import { model, runChatJourney } from "../../support/chat-journey.ts";
import { openTerminal } from "../../support/tmux.ts";

test("joined emoji, flags, skin tones and marks are typed, edited and shown in their columns", async () => {
  await runChatJourney(async ({ skein }) => {
    await using terminal = await openTerminal({ ...skein, env: { ...skein.env, LC_ALL: "C.UTF-8" } }, { columns: 80, rows: 24 });
    const { press, until, cursor } = terminal;
    await press(`skein ${model.join(" ")}`, "Enter");
    await until("/help");
    await press("a👩‍💻b|🇩🇪c|👍🏽d|e\u0301|中x");
    await until("> a👩‍💻b|🇩🇪c|👍d|e\u0301|中x\n");
    expect((await cursor()).column).toBe(2 + 4 + 1 + 3 + 1 + 3 + 1 + 1 + 1 + 3);
    await press("Left", "Left", "Left", "BSpace", "BSpace", "BSpace");
    await until("> a👩‍💻b|🇩🇪c|👍|中x\n");
    await press("Home", "Right", "Right", "BSpace", "Enter");
    await until(/You said: ab\|🇩🇪c\|👍\|中x\n/);
  });
});
