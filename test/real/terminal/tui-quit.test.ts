// Leaving the screen, in a real terminal of 80 × 24: what was typed and unsent message is saved, also after a kill -9 and between two
// screens, and what is stopped unseen is told. Needs tmux, so it is run by .ci/run and is no part of npm test.
import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { model, runChatJourney } from "../../support/chat-journey.ts";
import { processesOf } from "../../support/processes.ts";
import { skeinCommand } from "../../support/temporary-home.ts";
import { openTerminal } from "../../support/tmux.ts";

const size = { columns: 80, rows: 24 };
const ready = /\[INSERT\] \[idle\]/;

test("what was typed and not sent is there again after a kill -9 and after leaving, and two screens keep theirs apart", async () => {
  await runChatJourney(async ({ skein, server }) => {
    await using one = await openTerminal(skein, size);
    await using other = await openTerminal(skein, size, skeinCommand(), "beside");
    await one.press(`skein tui ${model.join(" ")}`, "Enter");
    await one.until(ready);
    await other.press(`skein tui --new ${model.join(" ")}`, "Enter");
    await other.until(ready);
    await one.press("half a th");
    await one.paste(Array.from({ length: 12 }, (_, at) => `pasted ${at}`).join("\n"));
    await one.until("> half a th[pasted 12 lines]");
    await other.press("of the other one");
    const kept = () => filesBelow(join(skein.root, "skein", "state", "unsent"));
    const isKept = (text: string) => kept().some((file) => readFileSync(file, "utf8").includes(text));
    while (!isKept("pasted 11") || !isKept("of the other one")) await Bun.sleep(20);
    expect(kept().map((file) => statSync(file).mode & 0o777)).toEqual([0o600, 0o600]);

    const screens = processesOf(skein.root).filter(({ command }) => command.includes(" tui "));
    expect(screens).toHaveLength(2);
    process.kill(screens.find(({ command }) => !command.includes("--new"))!.pid, "SIGKILL");
    await one.until("Killed");
    await one.press("reset; clear; skein tui", "Enter");
    await one.until(/restored an unsent message ─[^]*> half a th\[pasted 12 lines\]\n\[INSERT\]/);
    await one.press("C-c", "C-c");
    await one.until(/The unsent message is saved: the next skein tui in this project has it\./);
    await one.press(`clear; skein tui ${model.join(" ")}`, "Enter");
    await one.until("> half a th[pasted 12 lines]");
    await one.press("!", "Enter");
    await one.until(/You said: half a thpasted 0[^]*── ok[^]*\[INSERT\] \[idle\]/);
    expect(JSON.stringify(server.requests.at(-1)?.body)).toContain("half a thpasted 0\\npasted 1\\n");
    expect(kept()).toHaveLength(1);

    await other.press("C-c", "C-c");
    await other.until("unsent message is saved");
    await other.press("clear; skein tui", "Enter");
    await other.until("> of the other one");
    await other.press("C-u");
    await other.until(/\n> *\n/);
    await other.press("C-c", "C-c");
    expect(await other.until("Resume with")).not.toContain("not sent");
    expect(kept()).toEqual([]);
    await one.press("C-c", "C-c");
    await one.until("Resume with: skein tui");
  });
});

test("a turn that was left running elsewhere is not stopped without a word, and the branch that left it has a name of its own", async () => {
  await runChatJourney(async ({ skein }) => {
    await using terminal = await openTerminal(skein, size);
    const { press, until } = terminal;
    await press(`skein tui ${model.join(" ")}`, "Enter");
    await until(ready);
    await press("take your time", "Enter");
    await until(/> bash\(sleep 300\) -- …/);
    await press("!seq 3", "Enter");
    await until(/a turn is running: press Enter again when it has ended; Ctrl\+C stops it ─[^]*\n> !seq 3\n/);
    await press("C-u", "Space", "c");
    await until("a new branch from the beginning");
    await press("Space", "s");
    const listed = await until(/← [0-9a-f]{8} [^\n]*\n/);
    expect(listed).toMatch(/← [0-9a-f]{8} +(just )?now *│/);
    expect(listed).toMatch(/│ {3}[0-9a-f]{8} +(just )?now +take your time/);
    await press("Escape", "!seq 3", "Enter");
    await until(/> bash\(seq 3\) -- .*1 2 3[^]*\[INSERT\] \[idle\]/);
    await press("C-c", "C-c");
    await until("quitting stops a turn in another session; quit again, or see :agents");
    await press("Escape", ":q", "Enter");
    const told = await until(/Resume with: skein tui [0-9a-f]{8}\n\$/);
    const [, stopped = ""] = /Stopped: take your time\. Resume with: skein tui ([0-9a-f]{8})\nSession saved\. Resume/.exec(told)!;
    expect((await skein.run(["show", stopped])).out).toMatch(/sleep 300\] ✗ .*cancelled/);
    expect((await skein.run(["list"])).out).toMatch(/ take your time\n\* {2}[0-9a-f]{8} .* \$ seq 3\n$/);
  });
});

function filesBelow(directory: string): string[] {
  if (!existsSync(directory)) return [];
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile() && entry.name.endsWith(".json")).map(({ parentPath, name }) => join(parentPath, name));
}
