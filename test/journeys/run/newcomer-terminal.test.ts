// Command lines of a newcomer in a terminal: flags and words without a command open the screen, and missing values are
// chosen from lists.
import { afterAll, beforeEach, expect, test } from "bun:test";
import { startModelServer, type ScriptSource } from "../../../src/scripted-model/model-server.ts";
import { startInPty } from "../../support/pty.ts";
import { temporaryHome, vendorEnv, wireModels } from "../../support/temporary-home.ts";

const model = wireModels.anthropic;
const echo: ScriptSource = ({ position }) => ({ steps: [], final: `heard ${position.prompt}` });
const server = startModelServer(echo, { chunkDelayMs: 0 });
afterAll(() => server.stop());

/** The terminal sequence that begins the full screen. */
const alternateScreen = "\x1b[?1049h";

beforeEach(() => {
  server.setFault(null);
  server.clear();
});

test("a task without a command opens the screen and is sent, in a new session", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  await skein.run(["run", "-m", model, "an older task", "--session", "older"]);
  await using screen = startInPty(skein, ["-m", model, "fix the tests"]);
  await screen.until(/heard ?fix ?the ?tests/);
  expect(server.main().at(-1)?.text).not.toContain("an older task");
  await screen[Symbol.asyncDispose]();
  const sessions = (await skein.run(["list", "--json"])).json() as unknown as { task: string; model: string }[];
  expect(sessions.map(({ task }) => task)).toEqual(["fix the tests", "an older task"]);
  await using continued = startInPty(skein, ["go on now", "-c"]);
  await continued.until(/heard ?go ?on ?now/);
  expect(server.main().at(-1)?.text).toContain("fix the tests");
});

test("-p with a task runs it in the terminal without the screen", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  await using printed = startInPty(skein, ["-q", "-p", "-m", model, "say hello"]);
  expect(await printed.exited).toBe(0);
  expect(printed.written()).not.toContain(alternateScreen);
  expect(printed.shown().trim()).toBe("heard say hello");
});

test("-m without a value lists the ready models, and the chosen one is used", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  await using screen = startInPty(skein, ["-m"]);
  await screen.until("number or name [1]: ");
  expect(screen.shown()).toContain("Which model?");
  screen.type(`${model}\r`);
  await screen.until("Type a task and press Enter");
  screen.type("which one\r");
  await screen.until(/heard ?which ?one/);
  const [session] = (await skein.run(["list", "--json"])).json() as unknown as { model: string }[];
  expect(session?.model).toBe(model);
});

test("resume without a session opens the list of sessions, and with one it opens that session", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  await skein.run(["run", "-m", model, "the first task", "--session", "first"]);
  await skein.run(["run", "-m", model, "the second task", "--session", "second"]);
  await using list = startInPty(skein, ["resume"]);
  await list.until(/first[^]*second|second[^]*first/);
  await list[Symbol.asyncDispose]();
  await using opened = startInPty(skein, ["resume", "first"]);
  await opened.until(/heard ?the ?first ?task/);
});

test("-r with the session of a stopped turn offers to continue it on the screen", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  server.setFault({ type: "stall" });
  const running = skein.start(["run", "-m", model, "never ends", "--session", "stuck"]);
  while (server.main().length === 0) await Bun.sleep(10);
  running.kill("SIGKILL");
  await running.exited;
  await using screen = startInPty(skein, ["-r", "stuck"], { size: { columns: 120, rows: 24 } });
  await screen.until(/continue/);
  expect(screen.shown()).toContain("never ends");
});

test("config edit opens the file of the settings in the editor, and creates it if it is missing", async () => {
  using skein = temporaryHome();
  const editor = `sh -c 'printf "{\\"max_steps\\": 7}" > "$1"' edit`;
  await using edited = startInPty(skein, ["config", "edit"], { env: { EDITOR: editor } });
  expect([await edited.exited, edited.shown()]).toEqual([0, expect.stringContaining("edited ")]);
  expect((await skein.run(["config", "get", "max_steps"])).out).toBe("7\n");
  const piped = await skein.run(["config", "edit"]);
  expect([piped.code, piped.err]).toEqual([2, expect.stringContaining("config edit needs a terminal")]);
});

test.each(["acp", "mcp"])("skein %s in a terminal says what it waits for, and ends with Ctrl-D", async (command) => {
  using skein = temporaryHome(vendorEnv(server.url));
  await using waiting = startInPty(skein, [command]);
  await waiting.until(`\`skein ${command} install\` adds it to one. Ctrl-D ends it`);
  waiting.type("\u0004");
  expect(await waiting.exited).toBe(0);
});
