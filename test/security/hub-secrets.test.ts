// Uses recognisable keys in the environment of the hub, in that of its callers and in the config. After turns of the hub that
// succeed, fail and are killed, no file, log, feed, argument list or request body may contain a key.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { startModelServer } from "../../src/scripted-model/model-server.ts";
import { shellScript, type ServerFault } from "../../src/scripted-model/script.ts";
import { watchArguments } from "../support/argument-lists.ts";
import { excerptAround, canaryPattern, secret, withCanaries } from "../support/canaries.ts";
import { hello, hubFile, startHub, connectToHub, type Item, type HubClient } from "../support/hub-client.ts";
import { temporaryHome, vendorEnv } from "../support/temporary-home.ts";

const server = startModelServer({ steps: [], final: "nothing to see" });
const config = { mine: { base_url: `${server.url}/v1`, api_key: secret("config"), wire: "openai-chat" } };
const skein = withCanaries(temporaryHome(vendorEnv(server.url)), config);
const watch = watchArguments();
const hub = await startHub(skein);

/** Keys that only a caller sends. */
const callerEnv = { ...skein.env, ANTHROPIC_API_KEY: secret("caller"), CALLERS_SECRET: secret("caller of another") };
const keySources: Record<string, { transport: "web" | "unix"; greeting: object; model: string; key: string }> = {
  "the hub's own key, over the WebSocket": {
    transport: "web",
    greeting: hello,
    model: "anthropic/claude-sonnet-4-5",
    key: secret("ANTHROPIC_API_KEY"),
  },
  "a key that the caller brings, over the socket": {
    transport: "unix",
    greeting: { ...hello, env: callerEnv },
    model: "anthropic/claude-sonnet-4-5",
    key: secret("caller"),
  },
  "a key of the config": { transport: "unix", greeting: hello, model: "mine/one", key: secret("config") },
};

const received: string[] = [];
let client: HubClient;

beforeAll(() => expect(Object.values(callerEnv).filter((value) => canaryPattern.test(value)).length).toBeGreaterThan(10));

afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await watch.stop();
  await server.stop();
  skein[Symbol.dispose]();
});

async function runTurn(model: string, more: object = {}): Promise<Item> {
  const { result } = await client.ask("session.open", { directory: skein.project, model });
  const { items, error } = await client.follow("turn.start", { session: (result as Item)["id"], prompt: "look around", ...more });
  expect(error).toBeUndefined();
  return items.at(-1)!["turn"] as Item;
}

const leakCommands = [
  "env; set; export -p",
  "cat /proc/self/environ /proc/$PPID/environ",
  "cat ~/.config/skein/* $SKEIN_HOME/config/*; true",
];

describe.each(Object.entries(keySources))("with %s", (_title, { transport, greeting, model, key }) => {
  beforeAll(async () => {
    client = await connectToHub(transport, hub, { ...greeting, directory: skein.project });
  });

  afterAll(() => {
    received.push(...client.frames);
    client.close();
  });

  test("tools that print all they can read do not print the key", async () => {
    server.setScript(shellScript(leakCommands, "nothing to see"));
    const before = server.requests.length;
    expect((await runTurn(model))["status"]).toBe("ok");
    expect(client.frames.join("")).toContain("PATH=");
    expect(server.requests.slice(before).some(({ headers }) => Object.values(headers).join(" ").includes(key))).toBe(true);
  });

  test("a key that the vendor repeats in an error is not printed", async () => {
    server.setScript({ steps: [], final: "a long answer that will never be whole" });
    const faults: ServerFault[] = [
      { type: "status", status: 401, message: `the key is wrong: ${key}` },
      { type: "status", status: 400, message: `failed for ${key}, Bearer ${key}` },
      { type: "error-event", message: `in the middle of ${key}` },
    ];
    for (const fault of faults) {
      server.setFault(fault);
      const { status, error } = await runTurn(model);
      expect(status).not.toBe("ok");
      expect((error as Item)["message"]).toContain("[key]");
    }
    server.setFault(null);
  });

  test("methods about keys and settings do not return the key", async () => {
    for (const method of ["auth.status", "config.show", "config.values", "models.list", "agents.list", "doctor.check", "turn.list"])
      expect((await client.ask(method, {})).error).toBeUndefined();
    expect((await client.ask("session.tree", { session: "nobody", token: key })).error!.code).toBe(-32602);
    expect(client.frames.join("")).toContain("ANTHROPIC_API_KEY");
  });

  test("a turn that is killed ends as cancelled", async () => {
    server.setScript(shellScript(["env; sleep 60"]));
    const { result } = await client.ask("session.open", { directory: skein.project, model });
    const session = (result as Item)["id"];
    const turn = client.follow("turn.start", { session, prompt: "wait" });
    while (!client.frames.some((frame) => frame.includes('"tool.output"') && frame.includes(String(session)))) await Bun.sleep(20);
    expect((await client.ask("turn.kill", { session })).result).toMatchObject({ outcome: "stopped" });
    expect((await turn).items.at(-1)).toMatchObject({ type: "turn.ended", turn: { status: "cancelled" } });
  });
});

describe("afterwards", () => {
  test("the stopped hub logs its end, and its token is in no log or argument list", async () => {
    const log = join(dirname(hubFile(skein)), "hub.log");
    const token = readFileSync(hub.token_file, "utf8");
    await hub[Symbol.asyncDispose]();
    const logText = readFileSync(log, "utf8");
    expect(logText).toContain("stopped");
    expect(logText).not.toContain(token);
    expect(watch.lists().filter((list) => list.includes(token))).toEqual([]);
  });

  test("no feed or answer of the hub contained a key", () => {
    expect(received.length).toBeGreaterThan(100);
    expect(received.filter((frame) => canaryPattern.test(frame)).map(excerptAround)).toEqual([]);
  });

  test("no argument list of a process contained a key", () => {
    expect(watch.lists().some((list) => list.includes("__executor"))).toBe(true);
    expect(watch.lists().filter((list) => canaryPattern.test(list))).toEqual([]);
  });

  test("no request body contained a key", () => {
    expect(server.requests.filter(({ text }) => canaryPattern.test(text)).map(({ text }) => excerptAround(text))).toEqual([]);
  });

  test("no file contains a key", async () => {
    expect(await skein.leaks()).toEqual([]);
  });
});
