// How the screen treats the terminal: what it sends, and what it leaves behind however it ends. Real terminals, their bytes.
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { randomOf } from "../../../src/tui/fixtures/random.ts";
import { model, runChatJourney } from "../../support/chat-journey.ts";
import { isAtWork, waitForNoProcesses, findProcess, type LivingProcess } from "../../support/processes.ts";
import { openTerminal, type Terminal } from "../../support/tmux.ts";
import { skeinCommand, sourceCommand, temporaryHome, vendorEnv, type TemporaryHome } from "../../support/temporary-home.ts";
import { startInPty, type PtyProgram } from "../../support/pty.ts";

const ready = /\[INSERT\] \[idle\]/;
/** What is between words may have been there before, and is not sent again. */
const running = /bash\(sleep ?300\)/;
const words = ["tui", ...model];
const preload = join(import.meta.dir, "..", "..", "fixtures", "preload", "throw-on-file.ts");
/** Tells the exit code, and then what state the terminal is in. */
const shell = ["sh", "-c", '"$@"; echo "code $?"; stty -a; echo over', "sh"];
const inShell = [...shell, ...skeinCommand()];

const endings: { how: string; end: (screen: PtyProgram, skein: TemporaryHome) => Promise<void>; code: number }[] = [
  {
    how: ":quit",
    async end({ type, until }) {
      type("\x1b");
      await until("NORMAL");
      type(":quit\r");
    },
    code: 0,
  },
  { how: "Ctrl+C twice", end: async ({ type }) => type("\x03\x03"), code: 0 },
  ...Object.entries({ SIGHUP: 129, SIGINT: 130, SIGQUIT: 131, SIGTERM: 143 }).map(([signal, code]) => ({
    how: signal,
    end: async (_: PtyProgram, skein: TemporaryHome) => void process.kill((await screenIn(skein)).pid, signal),
    code,
  })),
];

describe("the terminal", () => {
  for (const { how, end, code } of endings)
    test(`is as it was after ${how}, with a turn running, and the way back is told`, async () => {
      await runChatJourney(async ({ skein }) => {
        await using screen = startInPty(skein, words, { program: inShell });
        await screen.until(ready);
        screen.type("take your time\r");
        await screen.until(running);
        await end(screen, skein);
        const shown = await screen.until("over\n");
        expect(shown).toMatch(new RegExp(`Resume with: skein tui [0-9a-f]{8}\\ncode ${code}\\n`));
        expect(shown).toMatch(/ icanon [^]* echo /);
        expect(modesLeft(screen.written())).toEqual([]);
        expect(await waitForNoProcesses(skein.root)).toEqual([]);
        expect((await skein.run(["show"])).out).toMatch(/sleep 300\] ✗ .*cancelled/);
      });
    });

  test.each([[[]], [["--inline"]]])(
    "is as it was after a fault that nobody foresaw, which is told in short, %p",
    async (more: string[]) => {
      await runChatJourney(async ({ skein }) => {
        const file = join(skein.root, "throw-now");
        const program = [...shell, ...sourceCommand("--preload", preload)];
        await using screen = startInPty(skein, [...words, ...more], { program, env: { NO_COLOR: "1", THROW_WHEN: file } });
        await screen.until(ready);
        screen.type("take your time\r");
        await screen.until(running);
        await Bun.write(file, "");
        const shown = await screen.until("over\n");
        const [told = "", after = ""] = shown.slice(shown.lastIndexOf("Session saved")).split("code ");
        expect(told).toMatch(
          /^Session saved, its turn stopped\. Resume with: skein tui [0-9a-f]{8}\nskein: the screen crashed: nobody foresaw this\n +the full report is at the end of \S+crashes\.log\n$/,
        );
        expect(after).toMatch(/^1\n[^]* icanon [^]* echo /);
        expect(modesLeft(screen.written())).toEqual([]);
        expect(await waitForNoProcesses(skein.root)).toEqual([]);
        expect((await skein.run(["show"])).out).toMatch(/sleep 300\] ✗ .*cancelled/);
        const [report] = await Array.fromAsync(new Bun.Glob("**/crashes.log").scan({ cwd: skein.root, dot: true, absolute: true }));
        expect(await Bun.file(report!).text()).toMatch(/skein \S+\nTypeError: nobody foresaw this\n +at .*throw-on-file\.ts/);
      });
    },
  );

  test.each([[[]], [["--inline"]]])("that goes away ends the turn with it, and nothing is left %p", async (more: string[]) => {
    await runChatJourney(async ({ skein }) => {
      await using screen = startInPty(skein, [...words, ...more]);
      await screen.until(ready);
      screen.type("take your time\r");
      await screen.until(running);
      screen.hangUp();
      expect(await screen.exited).toBe(129);
      expect(await waitForNoProcesses(skein.root)).toEqual([]);
      expect((await skein.run(["show"])).out).toMatch(/sleep 300\] ✗ .*cancelled/);
    });
  });

  test("keeps all that was finished in its scrollback with --inline, and what lay over it is gone", async () => {
    await runChatJourney(async ({ skein }) => {
      await using terminal = await openTerminal(skein, { columns: 80, rows: 24 });
      const { press, until } = terminal;
      await press(`echo before; skein ${words.join(" ")} --inline`, "Enter");
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
      await until(/> bash\(sleep 300\) -- …[^]*\[bash\]/);
      await press("C-c");
      await until(/── cancelled[^]*\[INSERT\] \[idle\]/);
      await press("C-c", "C-c");
      await until(/Resume with: skein tui .*\n\$/);
      const all = await terminal.scrollback();
      const kept = all
        .split("\n")
        .filter((row) => /^ {2}(▌|You said|> bash|── (ok|cancelled))|^(before|Session saved|.*(help|NORMAL|INSERT))/.test(row));
      expect(kept.map((row) => row.trim().replace(/ · .*/, ""))).toEqual([
        "before",
        ...["one", "two", "three", "four", "five"].flatMap((word) => [`▌ ${word}`, `You said: ${word}`, "── ok"]),
        "▌ take your time",
        expect.stringContaining("> bash(sleep 300) -- "),
        "── cancelled",
        expect.stringContaining("Session saved. Resume with"),
      ]);
    });
  });

  test("is only written on line by line for those who listen, and asks in words", async () => {
    const calls = [{ name: "ask_user", input: { question: "Which colour?", options: ["red", "blue"] } }];
    const server = startModelServer({ steps: [{ calls }], final: "Thanks." });
    using skein = temporaryHome(vendorEnv(server.url));
    try {
      await using screen = startInPty(skein, words, { env: { ACCESSIBLE: "1", NO_COLOR: "1" } });
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

  test("shows after a storm of keys, pastes and sizes what it shows when all is painted anew", async () => {
    const seed = 8;
    const random = randomOf(seed);
    const one = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)]!;
    await runChatJourney(async ({ skein }) => {
      await using terminal = await openTerminal(skein, { columns: 80, rows: 24 });
      const { press, until } = terminal;
      await press(`EDITOR=true skein ${words.join(" ")}`, "Enter");
      await until(ready);
      await press("日本 hello", "Enter");
      await until(/You said: 日本 hello[^]*── ok/);
      for (let batch = 0; batch < 10; batch += 1) {
        await press(...Array.from({ length: 40 }, () => one(stormKeys)));
        await terminal.paste(one(["日本語 一二三\n", "👩‍👩‍👧 one\ntwo", "e\u0301 mark"]));
        await terminal.resize(20 + Math.floor(random() * 180), 5 + Math.floor(random() * 55));
      }
      await terminal.resize(80, 24);
      const left = await still(terminal, skein);
      await press("C-l");
      expect(await still(terminal, skein), `seed ${seed}`).toBe(left);
      expect(left).toMatch(/\[(NORMAL|INSERT|COMMAND|SEARCH)\]/);
      await press("C-c", "C-c");
      await until(/Resume with: skein tui .*\n\$/);
      await press("clear; stty -a", "Enter");
      expect(await until(/ -?echo echoe/)).toMatch(/ icanon [^]* echo /);
    });
  });

  test("tells who looks elsewhere that the agent asks, and nobody who looks; its title says so", async () => {
    const ask = (question: string) => ({ calls: [{ name: "ask_user", input: { question, options: ["red", "blue"] } }] });
    const server = startModelServer({ steps: [ask("First?"), ask("Second?")], final: "Thanks." });
    using skein = temporaryHome(vendorEnv(server.url));
    try {
      await using screen = startInPty(skein, words, { env: { NO_COLOR: "1", SKEIN_NOTIFY: "osc" } });
      await screen.until(ready);
      screen.type("go\r");
      await asked(screen, 1);
      screen.type("\x1b[I");
      screen.type("2\r");
      const told = await asked(screen, 2);
      expect(told).toContain("\x1b]9;skein: go asks: First?\x07");
      expect(told).not.toContain("asks: Second?");
      expect(told).toContain("\x1b]0;skein · go · asks\x07");
    } finally {
      await server.stop();
    }
  });

  test("gets its own sixteen colours and no others, and none where none are wanted", async () => {
    await runChatJourney(async ({ skein }) => {
      const sent = async (env: Record<string, string>) => {
        await using screen = startInPty(skein, words, { env });
        await screen.until(ready);
        screen.type("hello\r");
        await screen.until(/You ?said: ?hello[^]*── ?ok/);
        return colorsIn(screen.written());
      };
      const [rich, poor, none, hardware] = await Promise.all(
        ["COLORTERM=truecolor", "TERM=linux", "NO_COLOR=1", "TERM=vt220"].map((one) =>
          sent(Object.fromEntries([one.split("=")]) as Record<string, string>),
        ),
      );
      expect([rich, poor].map((colors) => colors?.filter((color) => !/^38;5;(\d|1[0-5])$/.test(color)))).toEqual([[], []]);
      expect(rich?.length).toBeGreaterThan(0);
      expect([none, hardware]).toEqual([[], []]);
    });
  });
});

function screenIn(skein: TemporaryHome): Promise<LivingProcess> {
  const isScreen = (command: string) => /\/main\.[jt]s /.test(command) && command.includes(` ${words.join(" ")}`);
  return findProcess(skein.root, (command) => isScreen(command) && !command.startsWith("sh "));
}

/** Whatever leaves, runs a shell or stops is not among them. */
const stormKeys = [
  ..."a b d g i j k l o w x G I A [ ] : / ? 日 é".split(" "),
  ..."Enter Escape Space Up Down Left Home End Tab BSpace PPage NPage C-d C-u C-o C-p C-k C-w".split(" "),
];

/** The screen, as soon as it does not change any more, no turn runs, and its process has nothing to do, which a busy machine may not let it. */
async function still({ screen }: Terminal, skein: TemporaryHome): Promise<string> {
  const { pid } = await screenIn(skein);
  for (let before = ""; ;) {
    const now = await screen();
    if (now === before && /\[(idle|plan|execute)\]/.test(now) && !isAtWork(pid)) return now;
    before = now;
    await Bun.sleep(400);
  }
}

/** All that was written, when the title has said so often that the agent asks, and a moment later. */
async function asked({ written }: PtyProgram, times: number): Promise<string> {
  while (written().split("· asks\x07").length <= times) await Bun.sleep(10);
  await Bun.sleep(100);
  return written();
}

/** Modes that were set and not set back, by number; the cursor and the wrapping of lines have to be there. */
function modesLeft(written: string): string[] {
  const last = new Map<string, string>();
  // oxlint-disable-next-line no-control-regex
  for (const [, mode = "", how = ""] of written.matchAll(/\x1b\[\?(\d+)([hl])/g)) last.set(mode, how);
  const titles = written.split("\x1b[22;0t").length === written.split("\x1b[23;0t").length ? [] : ["title"];
  // Characters that are clusters stay whole: terminals that know mode 2027 are meant to be in it.
  return [...last]
    .filter(([mode, how]) => mode !== "2027" && how !== (isUsuallyOn(mode) ? "h" : "l"))
    .map(([mode]) => mode)
    .concat(titles);
}

function isUsuallyOn(mode: string): boolean {
  return mode === "25" || mode === "7";
}

/** The colours of all sequences that set one, without the default ones. */
function colorsIn(written: string): string[] {
  // oxlint-disable-next-line no-control-regex
  const codes = [...written.matchAll(/\x1b\[([\d;]*)m/g)].map(([, code = ""]) => code);
  return [...new Set(codes.filter((code) => /^(3[0-8]|4[0-8]|9\d|10\d)(;|$)/.test(code)))];
}
