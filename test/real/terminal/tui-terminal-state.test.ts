// Tests of the bytes that the screen sends to real terminals, and of the state of the terminal after the screen ends.
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { randomOf } from "../../../src/tui/fixtures/random.ts";
import { model, runChatJourney } from "../../support/chat-journey.ts";
import { isAtWork, waitForNoProcesses, findProcess, type LivingProcess } from "../../support/processes.ts";
import { openViTerminal, type Terminal } from "../../support/tmux.ts";
import { skeinCommand, sourceCommand, temporaryHome, vendorEnv, type TemporaryHome } from "../../support/temporary-home.ts";
import { startInPty, type PtyProgram } from "../../support/pty.ts";

const viEnv = { NO_COLOR: "1", SKEIN_KEYS: "vi" };
const ready = /\[INSERT\] \[idle\]/;
/** A space between words may already be on the screen, and is then not sent again. */
const running = /bash ?sleep ?300/;
const args = ["tui", ...model];
const preload = join(import.meta.dir, "..", "..", "fixtures", "preload", "throw-on-file.ts");
/** Prints the exit code, then the state of the terminal. */
const shell = ["sh", "-c", '"$@"; echo "code $?"; stty -a; echo over', "sh"];
const shellWithSkein = [...shell, ...skeinCommand()];

const endings: { ending: string; end: (screen: PtyProgram, skein: TemporaryHome) => Promise<void>; code: number }[] = [
  {
    ending: ":quit",
    async end({ type, until }) {
      type("\x1b");
      await until("NORMAL");
      type(":quit\r");
    },
    code: 0,
  },
  { ending: "Ctrl+C twice", end: async ({ type }) => type("\x03\x03"), code: 0 },
  ...Object.entries({ SIGHUP: 129, SIGINT: 130, SIGQUIT: 131, SIGTERM: 143 }).map(([signal, code]) => ({
    ending: signal,
    end: async (_: PtyProgram, skein: TemporaryHome) => void process.kill((await screenIn(skein)).pid, signal),
    code,
  })),
];

describe("the terminal", () => {
  for (const { ending, end, code } of endings)
    test(`${ending} during a turn restores the terminal and prints how to resume`, async () => {
      await runChatJourney(async ({ skein }) => {
        await using screen = startInPty(skein, args, { program: shellWithSkein, env: viEnv });
        await screen.until(ready);
        screen.type("take your time\r");
        await screen.until(running);
        await end(screen, skein);
        const shown = await screen.until("over\n");
        expect(shown).toMatch(new RegExp(`Resume with: skein -r [0-9a-f]{8}\\ncode ${code}\\n`));
        expect(shown).toMatch(/ icanon [^]* echo /);
        expect(changedModes(screen.written())).toEqual([]);
        expect(await waitForNoProcesses(skein.root)).toEqual([]);
        expect((await skein.run(["show"])).out).toMatch(/sleep 300\] ✗ .*cancelled/);
      });
    });

  test.each([[[]], [["--inline"]]])("an unexpected error restores the terminal and prints a short message, %p", async (flags: string[]) => {
    await runChatJourney(async ({ skein }) => {
      const file = join(skein.root, "throw-now");
      const program = [...shell, ...sourceCommand("--preload", preload)];
      await using screen = startInPty(skein, [...args, ...flags], { program, env: { ...viEnv, THROW_WHEN: file } });
      await screen.until(ready);
      screen.type("take your time\r");
      await screen.until(running);
      await Bun.write(file, "");
      const shown = await screen.until("over\n");
      const [message = "", after = ""] = shown.slice(shown.lastIndexOf("Session saved")).split("code ");
      expect(message).toMatch(
        /^Session saved, its turn stopped\. Resume with: skein -r [0-9a-f]{8}\nskein: the screen crashed: nobody foresaw this\n +the full report is at the end of \S+crashes\.log\n$/,
      );
      expect(after).toMatch(/^1\n[^]* icanon [^]* echo /);
      expect(changedModes(screen.written())).toEqual([]);
      expect(await waitForNoProcesses(skein.root)).toEqual([]);
      expect((await skein.run(["show"])).out).toMatch(/sleep 300\] ✗ .*cancelled/);
      const [report] = await Array.fromAsync(new Bun.Glob("**/crashes.log").scan({ cwd: skein.root, dot: true, absolute: true }));
      expect(await Bun.file(report!).text()).toMatch(/skein \S+\nTypeError: nobody foresaw this\n +at .*throw-on-file\.ts/);
    });
  });

  test.each([[[]], [["--inline"]]])("a closed terminal stops the turn, and no process remains %p", async (flags: string[]) => {
    await runChatJourney(async ({ skein }) => {
      await using screen = startInPty(skein, [...args, ...flags], { env: viEnv });
      await screen.until(ready);
      screen.type("take your time\r");
      await screen.until(running);
      screen.hangUp();
      expect(await screen.exited).toBe(129);
      expect(await waitForNoProcesses(skein.root)).toEqual([]);
      expect((await skein.run(["show"])).out).toMatch(/sleep 300\] ✗ .*cancelled/);
    });
  });

  test("with --inline finished output stays in the scrollback, and overlays do not", async () => {
    await runChatJourney(async ({ skein }) => {
      await using terminal = await openViTerminal(skein, { columns: 80, rows: 24 });
      const { press, until } = terminal;
      await press(`echo before; skein ${args.join(" ")} --inline`, "Enter");
      await until(/before[^]*── new session[^]*\[INSERT\] \[idle\]/);
      for (const word of ["one", "two", "three", "four", "five"]) {
        await press(word, "Enter");
        await until(new RegExp(`You said: ${word}\n\n  ── ok[^]*\\[INSERT\\] \\[idle\\]`));
      }
      await press("Escape");
      await until("[NORMAL]");
      await press("?");
      await until(/┌─ help[^]*\[NORMAL\]/);
      await press("Escape");
      await until(/You said: five[^]*\[NORMAL\]/);
      await press("[");
      await until(/┃ ── ok/);
      await press("i");
      await until(/You said: five[^]*\[INSERT\]/);
      // The rule above the prompt is as wide as the terminal.
      await terminal.resize(60, 20);
      await until(/You said: five[^]*\n── .{57}\n>[^]*\[INSERT\] \[idle\]/);
      await terminal.resize(90, 12);
      await until(/\n── .{87}\n>[^]*\[INSERT\] \[idle\]/);
      await press("take your time", "Enter");
      await until(/> bash sleep 300 …[^]*\[bash\]/);
      await press("C-c");
      await until(/── cancelled[^]*\[INSERT\] \[idle\]/);
      await press("C-c", "C-c");
      await until(/Resume with: skein -r .*\n\$/);
      const all = await terminal.scrollback();
      const printed = all
        .split("\n")
        .filter((row) => /^ {2}(▌|You said|> bash|── (ok|cancelled))|^(before|Session saved|.*(help|NORMAL|INSERT))/.test(row));
      expect(printed.map((row) => row.trim().replace(/ · .*/, ""))).toEqual([
        "before",
        ...["one", "two", "three", "four", "five"].flatMap((word) => [`▌ ${word}`, `You said: ${word}`, "── ok"]),
        "▌ take your time",
        expect.stringContaining("> bash sleep 300"),
        "── cancelled",
        expect.stringContaining("Session saved. Resume with"),
      ]);
    });
  });

  test("for screen readers the output is line by line, and questions are in words", async () => {
    const calls = [{ name: "ask_user", input: { question: "Which colour?", options: ["red", "blue"] } }];
    const server = startModelServer({ steps: [{ calls }], final: "Thanks." });
    using skein = temporaryHome(vendorEnv(server.url));
    try {
      await using screen = startInPty(skein, args, { env: { ACCESSIBLE: "1", NO_COLOR: "1" } });
      await screen.until(/New session .*\nYou: /);
      screen.type("go\r");
      await screen.until(
        /Question: Which colour\?\nOption 1: red\nOption 2: blue\nType the number of an option, or an answer\.\n[^]*You: /,
      );
      screen.type("2\r");
      await screen.until(/Assistant: Thanks\.\nTurn ended: ok, .*\.\nYou: /);
      screen.type("/quit\r");
      await screen.until("Session saved. Resume with: skein chat ");
      expect(await screen.exited).toBe(0);
      // oxlint-disable-next-line no-control-regex
      expect(screen.written()).not.toMatch(/\x1b|[─│┌•▌]/);
    } finally {
      await server.stop();
    }
  });

  test("a redraw changes nothing after many random keys, pastes and sizes", async () => {
    const seed = 8;
    const random = randomOf(seed);
    const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)]!;
    await runChatJourney(async ({ skein }) => {
      await using terminal = await openViTerminal(skein, { columns: 80, rows: 24 });
      const { press, until } = terminal;
      await press(`EDITOR=true skein ${args.join(" ")}`, "Enter");
      await until(ready);
      await press("日本 hello", "Enter");
      await until(/You said: 日本 hello[^]*── ok/);
      for (let batch = 0; batch < 10; batch += 1) {
        await press(...Array.from({ length: 40 }, () => pick(stormKeys)));
        await terminal.paste(pick(["日本語 一二三\n", "👩‍👩‍👧 one\ntwo", "e\u0301 mark"]));
        await terminal.resize(20 + Math.floor(random() * 180), 5 + Math.floor(random() * 55));
      }
      await terminal.resize(80, 24);
      await waitUntilStill(terminal, skein);
      await press("F12"); // has no binding; like any key it closes a notice, for example of a turn that has just ended
      const before = await waitUntilStill(terminal, skein);
      await press("C-l");
      expect(await waitUntilStill(terminal, skein), `seed ${seed}`).toBe(before);
      expect(before).toMatch(/\[(NORMAL|INSERT|COMMAND|SEARCH)\]/);
      await press("C-c", "C-c", "C-c");
      await until(/Resume with: skein -r .*\n\$/);
      await press("clear; stty -a", "Enter");
      expect(await until(/ -?echo echoe/)).toMatch(/ icanon [^]* echo /);
    });
  });

  test("a question sends a notification only if the terminal has no focus, and changes the window title", async () => {
    const ask = (question: string) => ({ calls: [{ name: "ask_user", input: { question, options: ["red", "blue"] } }] });
    const server = startModelServer({ steps: [ask("First?"), ask("Second?")], final: "Thanks." });
    using skein = temporaryHome(vendorEnv(server.url));
    try {
      await using screen = startInPty(skein, args, { env: { ...viEnv, SKEIN_NOTIFY: "osc" } });
      await screen.until(ready);
      screen.type("go\r");
      await waitForAskTitles(screen, 1);
      screen.type("\x1b[I");
      screen.type("2\r");
      const bytes = await waitForAskTitles(screen, 2);
      expect(bytes).toContain("\x1b]9;skein: go asks: First?\x07");
      expect(bytes).not.toContain("asks: Second?");
      expect(bytes).toContain("\x1b]0;skein · go · asks\x07");
    } finally {
      await server.stop();
    }
  });

  test("the screen uses only the sixteen colours of the terminal, and none with NO_COLOR", async () => {
    await runChatJourney(async ({ skein }) => {
      const sent = async (env: Record<string, string>) => {
        await using screen = startInPty(skein, args, { env: { SKEIN_KEYS: "vi", ...env } });
        await screen.until(ready);
        screen.type("hello\r");
        await screen.until(/You ?said: ?hello[^]*── ?ok/);
        return colorsIn(screen.written());
      };
      const [trueColor, basic, none, hardware] = await Promise.all(
        ["COLORTERM=truecolor", "TERM=linux", "NO_COLOR=1", "TERM=vt220"].map((setting) =>
          sent(Object.fromEntries([setting.split("=")]) as Record<string, string>),
        ),
      );
      expect([trueColor, basic].map((colors) => colors?.filter((color) => !/^38;5;(\d|1[0-5])$/.test(color)))).toEqual([[], []]);
      expect(trueColor?.length).toBeGreaterThan(0);
      expect([none, hardware]).toEqual([[], []]);
    });
  });
});

function screenIn(skein: TemporaryHome): Promise<LivingProcess> {
  const isScreen = (command: string) => /\/main\.[jt]s /.test(command) && command.includes(` ${args.join(" ")}`);
  return findProcess(skein.root, (command) => isScreen(command) && !command.startsWith("sh "));
}

/** Keys that quit, run a shell or stop the screen are not in the list. */
const stormKeys = [
  ..."a b d g i j k l o w x G I A [ ] : / ? 日 é".split(" "),
  ..."Enter Escape Space Up Down Left Home End Tab BSpace PPage NPage C-u C-o C-p C-k C-w".split(" "),
];

/** Resolves with the screen when it no longer changes, no turn runs and its process is idle. A busy machine may delay it. */
async function waitUntilStill({ screen }: Terminal, skein: TemporaryHome): Promise<string> {
  const { pid } = await screenIn(skein);
  for (let before = ""; ;) {
    const now = await screen();
    if (now === before && /\[(idle|plan|execute)\]/.test(now) && !isAtWork(pid)) return now;
    before = now;
    await Bun.sleep(400);
  }
}

/** Resolves with all bytes, 100 ms after the title has shown a question this many times. */
async function waitForAskTitles({ written }: PtyProgram, times: number): Promise<string> {
  while (written().split("· asks\x07").length <= times) await Bun.sleep(10);
  await Bun.sleep(100);
  return written();
}

/** The numbers of modes that differ from their default. By default the cursor is visible and lines wrap. */
function changedModes(written: string): string[] {
  const last = new Map<string, string>();
  // oxlint-disable-next-line no-control-regex
  for (const [, mode = "", value = ""] of written.matchAll(/\x1b\[\?(\d+)([hl])/g)) last.set(mode, value);
  const titles = written.split("\x1b[22;0t").length === written.split("\x1b[23;0t").length ? [] : ["title"];
  // Mode 2027 keeps grapheme clusters together, and is meant to stay on.
  return [...last]
    .filter(([mode, value]) => mode !== "2027" && value !== (isOnByDefault(mode) ? "h" : "l"))
    .map(([mode]) => mode)
    .concat(titles);
}

function isOnByDefault(mode: string): boolean {
  return mode === "25" || mode === "7";
}

/** The colours that were set, without the default ones. */
function colorsIn(written: string): string[] {
  // oxlint-disable-next-line no-control-regex
  const codes = [...written.matchAll(/\x1b\[([\d;]*)m/g)].map(([, code = ""]) => code);
  return [...new Set(codes.filter((code) => /^(3[0-8]|4[0-8]|9\d|10\d)(;|$)/.test(code)))];
}
