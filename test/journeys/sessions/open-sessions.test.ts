// Opens, names, forks and resumes sessions from the command line.
import { Database } from "bun:sqlite";
import { afterAll, beforeEach, expect, test } from "bun:test";
import { startModelServer, type ScriptSource } from "../../../src/scripted-model/model-server.ts";
import { startInPty } from "../../support/pty.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";

const model = wireModels.anthropic;
const echo: ScriptSource = ({ position }) => ({ steps: [], final: `heard ${position.prompt}` });
const server = startModelServer(echo, { chunkDelayMs: 0 });
afterAll(() => server.stop());
beforeEach(() => {
  server.setScript(echo);
  server.setFault(null);
  server.clear();
});

async function run(skein: TemporaryHome, ...args: string[]): Promise<Record<string, unknown>> {
  return (await skein.run(["run", "-m", model, "--json", ...args])).json();
}

test("new needs no key, and the session's first turn chooses the model", async () => {
  using skein = temporaryHome({ ANTHROPIC_BASE_URL: server.url });
  const created = await skein.run(["new", "later", "--json"]);
  expect(created.json()).toMatchObject({ name: "later", agent: "native", model: null });
  const answered = await skein.run(["run", "hello", "--session", "later", "--json"], { env: { ANTHROPIC_API_KEY: "key" } });
  expect(answered.json()).toMatchObject({ status: "ok", result: "heard hello", model: expect.stringContaining("anthropic/") });
  const [listed] = (await skein.run(["list", "--json"])).json() as unknown as { model: string }[];
  expect(listed?.model).toStartWith("anthropic/");
});

test("a name of nothing, blanks or control characters is refused by new, run, rename and fork", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  await run(skein, "one", "--session", "mine");
  for (const name of ["", "  ", "\t\n", "\u0007", "\u200b"]) {
    expect((await skein.run(["new", name])).code).toBe(2);
    expect((await skein.run(["rename", "mine", name])).code).toBe(2);
    if (name !== "") expect((await skein.run(["run", "two", "--session", name])).code).toBe(2);
  }
  const names = (await skein.run(["list", "--json"])).json() as unknown as { name: string | null }[];
  expect(names.map(({ name }) => name)).toEqual(["mine"]);
});

test("--resume without a session continues the project's latest interrupted turn", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  await run(skein, "a finished one");
  server.setFault({ type: "status", status: 401, message: "no" });
  const failed = await run(skein, "the failed one");
  expect(failed["status"]).toBe("auth");
  server.setFault(null);
  await run(skein, "another finished one");
  const resumed = await run(skein, "--resume");
  expect(resumed).toMatchObject({ status: "ok", session_id: failed["session_id"] });
  const nothing = await skein.run(["run", "--resume", "-m", model]);
  expect({ code: nothing.code, err: nothing.err }).toEqual({ code: 2, err: expect.stringContaining("no interrupted turn") });
});

test("the hint of a stopped turn is the whole command that continues it", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  server.setFault({ type: "stall" });
  const stopped = await run(skein, "wait", "--timeout", "1");
  const id = String(stopped["session_id"]).slice(-8);
  expect(stopped["error"]).toMatchObject({ kind: "timed-out", hint: expect.stringContaining(`\`skein run --resume ${id}\``) });
  server.setFault(null);
  expect(await run(skein, "--resume", id)).toMatchObject({ status: "ok" });
});

test("--at with a new --session name forks there under that name", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  const first = await run(skein, "one", "--session", "trunk");
  await run(skein, "two", "--session", "trunk");
  const forked = await run(skein, "other", "--at", String(first["node_id"]).slice(-8), "--session", "branch");
  expect(forked).toMatchObject({ status: "ok", result: "heard other" });
  expect(server.main().at(-1)?.text).toContain("heard one");
  expect(server.main().at(-1)?.text).not.toContain("heard two");
  const sessions = (await skein.run(["list", "--json"])).json() as unknown as { name: string; session_id?: string }[];
  expect(sessions.map(({ name }) => name).toSorted()).toEqual(["branch", "trunk"]);
  const wrong = await skein.run(["run", "other", "--at", String(first["node_id"]), "--session", "deadbeef01"]);
  expect({ code: wrong.code, err: wrong.err }).toEqual({ code: 2, err: expect.stringContaining("deadbeef01") });
});

test("chat takes no message as its session's name", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  const refused = await skein.run(["chat", "fix this"], { stdin: "" });
  expect({ code: refused.code, err: refused.err }).toEqual({ code: 2, err: expect.stringContaining("skein run 'fix this'") });
  expect((await skein.run(["list", "--json"])).json()).toEqual([] as never);
  expect((await skein.run(["new", "fix this"])).code).toBe(0);
  expect((await skein.run(["chat", "fix this"], { stdin: "" })).code).toBe(0);
});

test("skein with flags and no task opens the screen with them in a terminal, and is run without one", async () => {
  using skein = temporaryHome({ ...vendorEnv(server.url), SKEIN_KEYS: "vi" });
  for (const flags of [["-m", "openai/gpt-5.2"], ["--policy", "plan"], ["--inline"], ["-c"]]) {
    await using screen = startInPty(skein, flags);
    await screen.until(flags.includes("plan") ? "[INSERT] [plan]" : "[INSERT] [idle]");
    if (flags[0] === "-m") {
      screen.type("hello\r");
      await screen.until(/heard ?hello/);
      expect(server.main().at(-1)?.body).toMatchObject({ model: "gpt-5.2" });
    }
    screen.hangUp();
    expect(await screen.exited).toBe(129);
  }
  const piped = await skein.run(["-m", model], { stdin: "from a pipe" });
  expect({ code: piped.code, out: piped.out.trim() }).toEqual({ code: 0, out: "heard from a pipe" });
});

test("skein -r opens the list of sessions, and -r with a session opens that one", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  await run(skein, "about apples", "--session", "apples");
  await run(skein, "about pears", "--session", "pears");
  await using list = startInPty(skein, ["-r"]);
  await list.until(/sessions: 2[^]*apples/);
  list.hangUp();
  await list.exited;
  await using one = startInPty(skein, ["-r", "apples"]);
  await one.until(/heard ?about ?apples/);
  one.hangUp();
  await one.exited;
});

test("the half answer of a killed stream is in show, logs and export before the session is resumed", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  server.setScript({ steps: [], final: `the first half ${"and more ".repeat(200)}` });
  server.setFault({ type: "stall", afterEvents: 40 });
  const child = skein.start(["run", "tell me", "--session", "half", "-m", model, "--output-format", "events"]);
  const reader = child.stdout.getReader();
  const decoder = new TextDecoder();
  for (let seen = ""; !seen.includes("half");) seen += decoder.decode((await reader.read()).value, { stream: true });
  while (!hasDraft(skein)) await Bun.sleep(20);
  child.kill("SIGKILL");
  await child.exited;
  for (const command of [["show"], ["logs"], ["export"], ["export", "--format", "md"], ["export", "--format", "html"]]) {
    const { code, out } = await skein.run([command[0]!, "half", ...command.slice(1)]);
    expect({ command, code, out }).toEqual({ command, code: 0, out: expect.stringMatching(/\[interrupted\] the first half/) });
  }
  const { interrupted } = (await skein.run(["show", "half", "--json"])).json() as { interrupted: { drafts: object[] }[] };
  expect(interrupted[0]?.drafts).toMatchObject([{ key: "text", text: expect.stringContaining("the first half") }]);
  const exported = await skein.run(["export", "half", "--format", "jsonl"]);
  expect(exported.out).toContain("the first half");
  server.setFault(null);
  expect(await run(skein, "--resume")).toMatchObject({ status: "ok" });
  const after = await skein.run(["show", "half"]);
  expect(after.out).toContain("the first half");
  expect(after.out).not.toContain("[interrupted]");
});

/** Whether the store has the streamed text, which is saved at most 100 ms late. */
function hasDraft(skein: TemporaryHome): boolean {
  const [path] = [...new Bun.Glob("**/skein.db").scanSync({ cwd: skein.root, absolute: true })];
  const db = new Database(path, { readonly: true });
  try {
    return db.query("select 1 from drafts where text like '%half%'").get() !== null;
  } finally {
    db.close();
  }
}
