// Tests of quitting the screen in a real terminal of 80 × 24: the unsent message is saved, also after a kill -9 and with two
// screens, and stopped turns are reported. Needs tmux, so only .ci/run runs it, not npm test.
import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { model, runChatJourney } from "../../support/chat-journey.ts";
import { processesOf } from "../../support/processes.ts";
import { skeinCommand } from "../../support/temporary-home.ts";
import { openViTerminal } from "../../support/tmux.ts";

const size = { columns: 80, rows: 24 };
const ready = /\[INSERT\] \[idle\]/;

test("an unsent message is restored after a kill -9 and after quitting, and two screens do not mix theirs", async () => {
  await runChatJourney(async ({ skein, server }) => {
    await using first = await openViTerminal(skein, size);
    await using second = await openViTerminal(skein, size, skeinCommand(), "beside");
    await first.press(`skein tui ${model.join(" ")}`, "Enter");
    await first.until(ready);
    await second.press(`skein tui --new ${model.join(" ")}`, "Enter");
    await second.until(ready);
    await first.press("half a th");
    await first.paste(Array.from({ length: 12 }, (_, index) => `pasted ${index}`).join("\n"));
    await first.until("> half a th[pasted 12 lines]");
    await second.press("of the other one");
    const savedFiles = () => filesBelow(join(skein.root, "skein", "state", "unsent"));
    const isSaved = (text: string) => savedFiles().some((file) => readFileSync(file, "utf8").includes(text));
    while (!isSaved("pasted 11") || !isSaved("of the other one")) await Bun.sleep(20);
    expect(savedFiles().map((file) => statSync(file).mode & 0o777)).toEqual([0o600, 0o600]);

    const screens = processesOf(skein.root).filter(({ command }) => command.includes(" tui "));
    expect(screens).toHaveLength(2);
    process.kill(screens.find(({ command }) => !command.includes("--new"))!.pid, "SIGKILL");
    await first.until("Killed");
    await first.press("reset; clear; skein tui", "Enter");
    await first.until(/restored an unsent message ─[^]*> half a th\[pasted 12 lines\]\n\[INSERT\]/);
    await first.press("Escape", ":quit", "Enter");
    await first.until(/The unsent message is saved: the next `skein` in this project has it\./);
    await first.press(`clear; skein tui ${model.join(" ")}`, "Enter");
    await first.until("> half a th[pasted 12 lines]");
    await first.press("!", "Enter");
    await first.until(/You said: half a thpasted 0[^]*── ok[^]*\[INSERT\] \[idle\]/);
    expect(JSON.stringify(server.requests.at(-1)?.body)).toContain("half a thpasted 0\\npasted 1\\n");
    expect(savedFiles()).toHaveLength(1);

    await second.press("Escape", ":quit", "Enter");
    await second.until("unsent message is saved");
    await second.press("clear; skein tui", "Enter");
    await second.until("> of the other one");
    await second.press("C-u");
    await second.until(/\n> *\n/);
    await second.press("C-c", "C-c");
    expect(await second.until("Resume with")).not.toContain("not sent");
    expect(savedFiles()).toEqual([]);
    await first.press("C-c", "C-c");
    await first.until("Resume with: skein -r");
  });
});

test("quitting warns of a running turn in another session, and a new branch has its own name", async () => {
  await runChatJourney(async ({ skein }) => {
    await using terminal = await openViTerminal(skein, size);
    const { press, until } = terminal;
    await press(`skein tui ${model.join(" ")}`, "Enter");
    await until(ready);
    await press("take your time", "Enter");
    await until(/> bash sleep 300 …/);
    await press("!seq 3", "Enter");
    await until(/a turn is running: press Enter again[^]*\n> !seq 3\n/);
    await press("C-u", "Space", "c");
    await until("a new branch from the beginning");
    await press("Space", "s");
    const sessions = await until(/← [0-9a-f]{8} [^\n]*\n/);
    expect(sessions).toMatch(/← [0-9a-f]{8} +(just )?now *│/);
    expect(sessions).toMatch(/│ {3}[0-9a-f]{8} +(just )?now +take your time/);
    await press("Escape", "!seq 3", "Enter");
    await until(/> bash seq 3\s+│ 1\s+│ 2\s+│ 3[^]*\[INSERT\] \[idle\]/);
    await press("C-c", "C-c");
    await until("quitting stops a turn in another session; quit again, or see :agents");
    await press("Escape", ":q", "Enter");
    const output = await until(/Resume with: skein -r [0-9a-f]{8}\n\$/);
    const [, stopped = ""] = /Stopped: take your time\. Resume with: skein -r ([0-9a-f]{8})\nSession saved\. Resume/.exec(output)!;
    expect((await skein.run(["show", stopped])).out).toMatch(/sleep 300\] ✗ .*cancelled/);
    expect((await skein.run(["list"])).out).toMatch(/ take your time\n\* {2}[0-9a-f]{8} .* \$ seq 3\n$/);
  });
});

function filesBelow(directory: string): string[] {
  if (!existsSync(directory)) return [];
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile() && entry.name.endsWith(".json")).map(({ parentPath, name }) => join(parentPath, name));
}
