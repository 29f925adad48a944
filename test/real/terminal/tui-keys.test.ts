// Tests of every key and command of the screen in a small and a large real terminal: moving, blocks, modes, Space, colon
// commands, the wheel, token counts, the scroll position, and a plan that writes only its file. Longer stories have their
// own files: tui-composer (typing, search, models, costs), tui-plan, tui-panels (tree, agents) and tui (Ctrl+C, quitting).
// Needs tmux, so only .ci/run runs it, not npm test.
import { expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import type { Script } from "../../../src/scripted-model/script.ts";
import { model } from "../../support/chat-journey.ts";
import { temporaryHome, vendorEnv } from "../../support/temporary-home.ts";
import { openViTerminal, type Terminal } from "../../support/tmux.ts";

const usage = { input: 100, output: 20, cacheRead: 800, cacheWrite: 0 };
const poem = Array.from({ length: 80 }, (_, index) => `verse ${index}`).join("\n\n");
const edit = { name: "edit", input: { path: "src/a.ts", old_text: "1", new_text: "2" } };
const waiting = { input: { command: "while [ ! -e go ]; do sleep 0.05; done; seq 50" } };
const scripts: Record<string, Script> = {
  change: {
    steps: [{ thinking: "hm,\nwhat now", text: "Looking.", calls: [edit, { input: { command: "seq 3; exit 4" } }], usage }],
    final: poem,
  },
  wait: { steps: [{ calls: [waiting] }], final: "at last" },
  plan: { steps: [{ calls: [{ name: "write", input: { path: "elsewhere", content: "x" } }] }], final: "planned" },
};

/** Keys to press, and the text that the screen shows then. */
type KeyCheck = [keys: string[], expected: string | RegExp];

const leaderMenu =
  /┌─ Space, then[^]*\?  help — [^]*m  model — [^]*n  net — [^]*c  clear — [^]*f  fork — [^]*t  tree — [^]*a  agents — [^]*b  budget — [^]*p  plan — [^]*x  exec — [^]*e  edit-plan — /;

const typing: KeyCheck[] = [
  [["mid", "Escape"], /\n> mid\n\[NORMAL\]/],
  [["I", "<", "Escape", "A", ">"], /\n> <mid>\n\[INSERT\]/],
  [["Escape", "o", "o"], /\n> <mid>o\n\[INSERT\]/],
  [["Escape", "i", "C-u", "Escape"], /\n>\n\[NORMAL\]/],
];

const moving: KeyCheck[] = [
  [["g", "g"], /^ {2}▌ change\n[^]* more below ──\n/],
  [["j"], /^\n {2}~ hm,/],
  [["k"], /^ {2}▌ change\n/],
  [["C-d"], /^(?! {2}▌ change)[^]* more below ──\n/],
  [["C-u"], /^ {2}▌ change\n/],
  [["NPage"], /^(?! {2}▌ change)[^]* more below ──\n/],
  [["PPage"], /^ {2}▌ change\n/],
  [["G"], /verse 79\n\n {2}── ok · 2 steps · in [^]*\n── [0-9a-f]{8} ─+\n/],
  [["\u001b[<64;9;5M"], / more below ──\n/], // the wheel
  [["\u001b[<65;9;5M"], /\n── [0-9a-f]{8} ─+\n/],
];

const folding: KeyCheck[] = [
  [["g", "g", "]"], /┃ ▌ change\n\n {2}~ hm, what now\n\n {2}Looking\.\n\n {2}v edit src\/a\.ts · \+1 -1\n/],
  [["]", "Enter"], /┃ ~ hm,\n┃ ~ what now\n/],
  [["o"], /┃ ~ hm, what now\n/],
  [["]", "]", "]", "Enter"], /┃ v bash seq 3; exit 4\n┃ {3}│ 1\n/],
  [["[", "Enter"], /┃ > edit src\/a\.ts · \+1 -1\n\n {2}v bash/],
  [["Escape", "C-o"], / {2}~ hm,\n {2}~ what now\n/],
  [["C-o"], / {2}~ hm, what now\n[^]*> bash seq 3; exit 4 · exit 4\n {4}│ 1\n/],
];

const opening: KeyCheck[] = [
  [["?"], /┌─ help, 1-\d+ of \d+: j and k scroll, Esc closes/],
  [["G", "q"], /verse 0/],
  [["Space", "?"], "┌─ help, 1-"],
  [["Escape"], /verse 0/],
  [["C-p", "fork"], /┌─ commands[^]*│ > fork[^]*a new session from here/],
  [["Escape", "Space", "n"], /── network on[^]*\[NET: on\]/],
  [[":net off", "Enter"], /── network off[^]*\[NET: off\]/],
  [["Space", "m"], /┌─ models,[^]*● anthropic\/claude-sonnet-4-5 +200k +\$3\.00 in/],
  [["Escape", ":model", "Enter"], "┌─ models,"],
  [["Escape", ":agent", "Enter"], /┌─ agents[^]*native/],
  [["Escape", "Space", "b"], /┌─ costs of this session[^]*\d+ %/],
  [["Escape", "Space", "t"], /┌─ tree: \d lines[^]*○ change/],
  [["Escape", "Space", "a"], /┌─ agents: 0 running, \d ended/],
  [["Escape", "Space", "x"], "── there is no plan yet"],
  ...[["C-g"], [":edit-plan", "Enter"], ["Space", "e"]].flatMap((keys): KeyCheck[] => [
    [["Escape"], /\n── (press Esc again to go back|[0-9a-f]{8} ─)/],
    [keys, "── the plan is empty"],
  ]),
  [[":exec", "Enter"], "── there is no plan yet"],
  [[":help", "Enter"], "┌─ help, 1-"],
  [["Escape", ":hepl", "Enter"], "no command :hepl; did you mean :help?"],
  [["Space", "f"], /── now in the fork [0-9a-f]{8}; files stay/],
  [[":fork mine", "Enter"], "── now in the fork mine; files stay"],
  [
    ["Space", "c"],
    /^ {2}skein [^]*Press i to type a message[^]*── a new branch from the beginning[^]*\[i:0 o:0 \| total i:0 o:0 \$0\.00\]/,
  ],
  [["Space", "c"], "── this branch is already empty"],
  [["q"], "── no session is being watched; :quit leaves the screen"],
];

/** Splits the keys after each Esc. The keys of a part are pressed at once. */
function splitAfterEscape(keys: string[]): string[][] {
  const parts: string[][] = [[]];
  for (const key of keys) {
    parts.at(-1)!.push(key);
    if (key === "Escape") parts.push([]);
  }
  return parts.filter((strokes) => strokes.length > 0);
}

/** The menu stays until a key, and types nothing. */
async function checkLeaderMenu({ press, until }: Terminal): Promise<void> {
  await press("Space");
  await until(leaderMenu);
  await press("Escape");
  await until(/^ {2}skein [^┌]*Type a message[^┌]*── Space cancelled[^]*\n>\n\[INSERT\]/);
}

for (const size of [
  { columns: 80, rows: 24 },
  { columns: 200, rows: 60 },
])
  test(`every key has its documented effect at ${size.columns} × ${size.rows}`, async () => {
    const server = startModelServer(({ position }) => scripts[position.prompt] ?? { steps: [], final: `You said: ${position.prompt}` });
    using skein = temporaryHome({ ...vendorEnv(server.url), EDITOR: "true" });
    await Bun.write(join(skein.project, "src", "a.ts"), "const a = 1;\n");
    try {
      await using terminal = await openViTerminal(skein, size);
      const { press, until } = terminal;
      const check = async (rows: KeyCheck[]) => {
        for (const [keys, expected] of rows) {
          for (const strokes of splitAfterEscape(keys)) await press(...strokes);
          await until(expected);
        }
      };
      await press(`skein tui ${model.join(" ")}`, "Enter");
      await until(/\[INSERT\] \[idle\]/);
      await checkLeaderMenu(terminal);
      await check(typing);

      await press("i", "change", "Enter");
      const first = await until(/── ok · 2 steps[^]*\[INSERT\] \[idle\]/);
      expect(first).toMatch(/\[(i:\S+\(c:8\S+\) o:\S+ \| )?total i:.*\$0\.\d\d\] \[NET: off\] \[SANDBOX: (on|partly|off)\]/);
      await press("Escape");
      await check(moving);
      await check(folding);
      await check(opening);

      // New output does not scroll a view that is not at its end.
      await press("i", "wait", "Enter");
      await until(/> bash while [^]*\[INSERT\] \[bash\]/);
      await press("Escape");
      await until("[NORMAL] [bash]");
      await press("g", "g");
      await press("k");
      writeFileSync(join(skein.project, "go"), "");
      await until(/^ {2}▌ wait\n[^]*\[NORMAL\] \[idle\]/);
      await press("i", "again", "Enter");
      const screen = await until(/You said: again[^]*\[INSERT\] \[idle\]/);
      // The line of a turn rounds 1,355 tokens to 1.4k.
      const turns = [...screen.matchAll(/── ok · \d steps? · in ([\d.]+)(k?) (?:\(\S+ cached\) )?out (\d+)/g)];
      const [, input, output] = /total i:(\d+) o:(\d+) /.exec(screen) ?? [];
      if (size.columns === 200) {
        expect(turns.reduce((sum, [, , , count]) => sum + Number(count), 0)).toBe(Number(output));
        const shown = turns.reduce((sum, [, count, unit]) => sum + Number(count) * (unit === "k" ? 1000 : 1), 0);
        expect(Math.abs(shown - Number(input))).toBeLessThanOrEqual(50 * turns.length);
      }

      await press("Escape", ":plan", "Enter");
      await until(/Describe what to plan[^]*\[INSERT\] \[plan\]/);
      await press("plan", "Enter");
      await until(/> write elsewhere · can't write [^]*planned[^]*\[INSERT\] \[plan\]/);
      expect(existsSync(join(skein.project, "elsewhere"))).toBe(false);
      await press("Escape", ":quit", "Enter");
      await until(/Resume with: skein -r [0-9a-f]{8}\n\$/);
    } finally {
      await server.stop();
    }
  }, 300_000);
