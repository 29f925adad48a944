// Hooks of the user's configuration, with the real program: a command, a URL, and hooks that hang, flood, fail or lead nowhere.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startModelServer, type ModelServer } from "../../../src/scripted-model/model-server.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";

let server: ModelServer;
beforeAll(() => {
  server = startModelServer({ steps: [], final: "all is done" });
});
afterAll(() => server.stop());

const key = "canary-key-in-the-environment-1";
const configKey = "canary-key-in-the-config-2";
const env = () => ({ ...vendorEnv(server.url), SKEIN_SANDBOX_BEST: "none", MY_SERVICE_TOKEN: key });

function configure(skein: TemporaryHome, config: Record<string, unknown>): void {
  const directory = join(skein.env["SKEIN_HOME"] as string, "config");
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "config.jsonc"), JSON.stringify(config));
}

const run = (skein: TemporaryHome, ...args: string[]) => skein.run(["run", "do it", "-m", wireModels.anthropic, "--json", ...args]);

/** The records that a hook `cat >> file` has written; each is one line. */
const recordsIn = (file: string) =>
  readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe("a hook of the user's configuration", () => {
  test("a shell command gets one record on stdin, once for a turn, outside of the project", async () => {
    using skein = temporaryHome(env());
    const [file, place] = [join(skein.root, "records"), join(skein.root, "place")];
    configure(skein, { hooks: { turn_ended: `cat >> ${file}; echo >> ${file}; pwd > ${place}` } });
    const ran = await run(skein);
    const result = ran.json();
    expect({ code: ran.code, err: ran.err.includes("hook") }).toEqual({ code: 0, err: false });
    expect(recordsIn(file)).toEqual([
      expect.objectContaining({
        type: "turn_ended",
        session_id: result["session_id"],
        turn_id: result["turn_id"],
        status: "ok",
        error: null,
        answer: "all is done",
      }),
    ]);
    expect(readFileSync(place, "utf8").trim()).toEndWith("/home");
  });

  test("a list is a program with its arguments, and a shell is not involved", async () => {
    using skein = temporaryHome(env());
    const file = join(skein.root, "a $(b)");
    configure(skein, { hooks: { turn_ended: ["tee", file] } });
    expect((await run(skein)).code).toBe(0);
    expect(recordsIn(file)[0]).toMatchObject({ type: "turn_ended" });
  });

  test("a URL gets the record by POST, and its answer is not needed", async () => {
    const bodies: unknown[] = [];
    const receiver = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: async (request) => (bodies.push([request.method, await request.json()]), new Response("x".repeat(1_000_000))),
    });
    using skein = temporaryHome(env());
    configure(skein, { hooks: { turn_ended: `http://127.0.0.1:${receiver.port}/hook?token=abc` } });
    expect((await run(skein)).code).toBe(0);
    expect(bodies).toEqual([["POST", expect.objectContaining({ type: "turn_ended", answer: "all is done" })]]);
    await receiver.stop(true);
  });

  test("a question of a turn runs ask_opened, and the end of the turn runs turn_ended", async () => {
    const asking = startModelServer({
      steps: [{ calls: [{ name: "ask_user", input: { question: "which colour?", options: ["red", "blue"] } }] }],
      final: "fine",
    });
    using skein = temporaryHome({ ...env(), ...vendorEnv(asking.url) });
    // Both hooks can run at the same time, so each has its own file.
    const [ended, opened] = [join(skein.root, "ended"), join(skein.root, "opened")];
    configure(skein, { hooks: { turn_ended: `cat >> ${ended}`, ask_opened: `cat >> ${opened}` } });
    expect((await run(skein)).code).toBe(8);
    expect(recordsIn(ended)).toMatchObject([{ type: "turn_ended" }]);
    expect(recordsIn(opened)).toMatchObject([{ type: "ask_opened", ask: { question: "which colour?", options: ["red", "blue"] } }]);
    await asking.stop();
  });

  test("a turn in the hub runs the hook once, in the process that owns the turn", async () => {
    using skein = temporaryHome(env());
    const file = join(skein.root, "records");
    configure(skein, { hooks: { turn_ended: `cat >> ${file}; echo >> ${file}` } });
    const ran = await run(skein, "--detach");
    expect(ran.code).toBe(0);
    while (!existsSync(file)) await Bun.sleep(50);
    // Stopping the hub waits for its hooks.
    await skein.run(["hub", "stop"]);
    expect(recordsIn(file).map(({ type, turn_id }) => [type, turn_id])).toEqual([["turn_ended", ran.json()["turn_id"]]]);
  });

  test("no secret of the environment, the configuration or the conversation is in a record, and no vendor key in its environment", async () => {
    const telling = startModelServer({ steps: [], final: `keys: ${key} ${configKey} sk-ant-api03-abcdefghijklmnopqrst` });
    using skein = temporaryHome({ ...env(), ...vendorEnv(telling.url) });
    const [file, variables] = [join(skein.root, "records"), join(skein.root, "variables")];
    configure(skein, {
      hooks: { turn_ended: `cat > ${file}; env > ${variables}` },
      providers: { acme: { base_url: "https://acme.example", api_key: configKey } },
    });
    const ran = await run(skein);
    expect([ran.code, ran.json()["result"]]).toEqual([0, expect.stringContaining(key)]);
    const record = readFileSync(file, "utf8");
    expect(record).toContain("[redacted]");
    for (const text of [key, configKey, "sk-ant-api03", String(Object.values(vendorEnv(telling.url))[0])])
      expect({ text, isThere: text.length > 5 && record.includes(text) }).toEqual({ text, isThere: false });
    expect(readFileSync(variables, "utf8")).not.toContain("ANTHROPIC_API_KEY=");
    await telling.stop();
  });

  const broken: Record<string, { hook: unknown; report: RegExp }> = {
    hangs: { hook: "sleep 600 & sleep 600", report: /turn_ended was ended after 400 ms/ },
    floods: { hook: "yes flood", report: /turn_ended was ended after 400 ms/ },
    fails: { hook: "echo no such channel; exit 3", report: /turn_ended failed with exit code 3: no such channel/ },
    "is a missing program": { hook: ["no-such-program"], report: /turn_ended failed: there is no no-such-program in PATH/ },
    "is a dead URL": { hook: "http://127.0.0.1:9/secret-path", report: /turn_ended failed: http:\/\/127.0.0.1:9 can't be reached/ },
  };
  for (const [name, { hook, report }] of Object.entries(broken)) {
    test(`a hook that ${name} loses nothing, and is reported once`, async () => {
      using skein = temporaryHome(env());
      configure(skein, { hooks: { turn_ended: hook, timeout: "400ms" } });
      const ran = await run(skein);
      expect({ code: ran.code, result: ran.json()["result"] }).toEqual({ code: 0, result: "all is done" });
      expect(ran.err).toMatch(report);
      expect([ran.err.split("turn_ended").length - 1, ran.err.includes("secret-path")]).toEqual([1, false]);
    });
  }

  test("hooks test runs each hook with a sample record, and shows how it ended", async () => {
    using skein = temporaryHome();
    const file = join(skein.root, "record");
    configure(skein, { hooks: { turn_ended: `cat > ${file}`, ask_opened: "exit 3" } });
    const ran = await skein.run(["hooks", "test"]);
    expect(ran.code).toBe(1);
    expect(ran.out).toMatch(/^turn_ended +ok, .*\nask_opened +failed with exit code 3\nturn_waiting +not configured: /);
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ type: "turn_ended", session_name: "hooks test", status: "ok" });
    const one = await skein.run(["hooks", "test", "turn_ended", "--json"]);
    expect([one.code, one.json()]).toMatchObject([0, [{ hook: "turn_ended", outcome: "ok", problem: null }]]);
    const missing = await skein.run(["hooks", "test", "turn_waiting"]);
    expect([missing.code, missing.out]).toEqual([1, expect.stringContaining("skein config set hooks.turn_waiting")]);
    expect((await skein.run(["hooks", "test", "turn_started"])).err).toContain('there is no hook "turn_started"');
    expect((await skein.run(["list", "--all", "--json"])).json() as unknown).toEqual([]);
  });

  test("hooks of a project are ignored, also with trust, and a warning says so", async () => {
    using skein = temporaryHome(env());
    const file = join(skein.root, "planted");
    mkdirSync(join(skein.project, ".skein"), { recursive: true });
    writeFileSync(join(skein.project, ".skein", "config.jsonc"), JSON.stringify({ hooks: { turn_ended: `touch ${file}` } }));
    for (const trust of ["--no-trust", "--trust"]) {
      const ran = await run(skein, trust);
      expect([ran.code, ran.err]).toEqual([0, expect.stringContaining("hooks.turn_ended is ignored in a project, also in a trusted one")]);
    }
    expect(existsSync(file)).toBe(false);
    const set = await skein.run(["config", "set", "hooks.turn_ended", "true", "--project"]);
    expect([set.code === 0, set.err]).toEqual([false, expect.stringContaining("can't be set in a project")]);
  });

  test("a hook with a wrong shape is an error that says what it must be, and config shows only that it is set", async () => {
    using skein = temporaryHome(env());
    for (const hook of [{ command: "x" }, [], "", 7, ["x", 1]]) {
      configure(skein, { hooks: { turn_ended: hook } });
      const ran = await run(skein);
      expect([ran.code === 0, ran.err]).toEqual([false, expect.stringContaining('"hooks.turn_ended" must be a shell command, a list')]);
    }
    configure(skein, { hooks: { turn_ended: "https://chat.example/secret-path" } });
    const shown = await skein.run(["config"]);
    expect([shown.out.includes("hooks.turn_ended"), shown.out.includes("secret-path")]).toEqual([true, false]);
  });
});
