// Tests of typing on the screen in a real terminal of 80 × 24: completion, shell commands, pastes, images, history, search,
// pickers and costs. Needs tmux, so only .ci/run runs it, not npm test.
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { list, model, runChatJourney } from "../../support/chat-journey.ts";
import { openViTerminal } from "../../support/tmux.ts";

const size = { columns: 80, rows: 24 };
const ready = /\[INSERT\] \[idle\]/;
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

test("a message can have completed paths, pastes and images, and follow a shell command or an earlier message", async () => {
  await runChatJourney(async ({ skein, server }) => {
    writeFileSync(join(skein.project, "shot.png"), Buffer.from(pixel, "base64"));
    await using terminal = await openViTerminal(skein, size);
    const { press, paste, until } = terminal;
    await press(`skein tui ${model.join(" ")}`, "Enter");
    await until(ready);

    await press("!seq 3; exit 4", "Enter");
    await until(/> bash seq 3; exit 4 · exit 4\s+│ 1\s+│ 2\s+│ 3[^]*\[INSERT\] \[idle\]/);
    await press("see @ma");
    await until(/│ @src\/main\.py +│/);
    await press("Tab");
    await until("> see @src/main.py");
    await paste(Array.from({ length: 12 }, (_, index) => `pasted ${index}`).join("\n"));
    await until("> see @src/main.py [pasted 12 lines]");
    await paste("shot.png");
    await until("[pasted 12 lines][image shot.png]");
    await press("Enter");
    await until(/You said: see @src\/main\.py pasted 0[^]*── ok[^]*\[INSERT\] \[idle\]/);
    const sent = JSON.stringify(server.requests.at(-1)?.body);
    expect(sent).toContain("$ seq 3; exit 4");
    expect(sent).toContain("see @src/main.py pasted 0\\npasted 1\\n");
    expect(sent).toContain(pixel);

    await press("/net on", "Enter");
    await until("[NET: on]");
    await press("Up", "Up");
    await until("> !seq 3; exit 4");
    await press("C-_");
    await until(/> see @src\/main\.py pasted 0\n {2}pasted 1|> \[pasted 12 lines\]/);
    await press("C-c", "C-c", "C-c");
    await until(/Resume with: skein -r .*\n\$/);
    await press("clear; skein", "Enter");
    await until(ready);
    await press("C-r", "seq");
    await until(/messages sent in this project[^]*│ !seq 3; exit 4 +│/);
    await press("Enter");
    await until("> !seq 3; exit 4");
    await press("C-c", "C-c", "C-c");
    await until(/Resume with: skein -r .*\n\$/);
  });
});

test("Esc stops the turn, / searches, Space m chooses a model, and Space b shows the costs", async () => {
  await runChatJourney(async ({ skein }) => {
    await using terminal = await openViTerminal(skein, size);
    const { press, until } = terminal;
    await press(`skein tui ${model.join(" ")}`, "Enter");
    await until(ready);
    await press(list, "Enter");
    await until(/── ok · 2 steps[^]*\[idle\]/);
    await press("take your time", "Enter");
    await until(/> bash sleep 300 …/);
    await press("not yet", "Enter");
    await until("queued: not yet");
    await press("Up");
    expect(await until(/\n> not yet/)).not.toContain("queued:");
    await press("C-u", "Escape");
    await until("[NORMAL] [bash]");
    await press("Escape");
    await until(/── cancelled · 1 step[^]*\[NORMAL\] \[idle\]/);

    await press("/config");
    await until(/── "config" in block \d of 2 [^]*\/config\n\[SEARCH\]/);
    await press("Enter");
    await until("n: next, N: previous, Esc: end");
    await press("n");
    await until(/┃ v bash ls src\/\*\.py|┃ • config\.py/);
    await press("Escape");
    await until(/── [0-9a-f]{8} ─/);

    await press("Space", "m");
    await until(/● anthropic\/claude-sonnet-4-5 +200k +\$3\.00 in +\$15\.00 out/);
    await press("opus-4-5:high", "Enter");
    await until("model of the next turns: anthropic/claude-opus-4-5:high");
    await press("Space", "b");
    const costs = await until(/costs of this session[^]*this branch/);
    expect(costs).toMatch(/1 {2}claude-sonnet-4-5 +1\.\dk +\d+ % +\d+ +\$0\.00\d\d/);
    expect(costs).toMatch(/2 {2}claude-sonnet-4-5 \(cancelled\)/);
    await press("q", ":budget 0.25", "Enter");
    await until("each turn may cost at most $0.25 from now on");
    await press("C-c", "C-c");
    await until(/Resume with: skein -r .*\n\$/);
  });
});
