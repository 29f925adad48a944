// Keys that can be recognised, in the environment of the hub, in that of its callers and in the config: after runs through
// the hub that went well, failed and were killed, no file, log, feed, argument list or request body holds one of them.
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

/** Brought by a caller, and nowhere else. */
const callers = { ...skein.env, ANTHROPIC_API_KEY: secret("caller"), CALLERS_SECRET: secret("caller of another") };
const ways: Record<string, { transport: "web" | "unix"; greeting: object; model: string; key: string }> = {
  "the hub's own key, over the WebSocket": {
    transport: "web",
    greeting: hello,
    model: "anthropic/claude-sonnet-4-5",
    key: secret("ANTHROPIC_API_KEY"),
  },
  "a key that the caller brings, over the socket": {
    transport: "unix",
    greeting: { ...hello, env: callers },
    model: "anthropic/claude-sonnet-4-5",
    key: secret("caller"),
  },
  "a key of the config": { transport: "unix", greeting: hello, model: "mine/one", key: secret("config") },
};

const heard: string[] = [];
let talk: HubClient;

beforeAll(() => expect(Object.values(callers).filter((value) => canaryPattern.test(value)).length).toBeGreaterThan(10));

afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await watch.stop();
  await server.stop();
  skein[Symbol.dispose]();
});

async function take(model: string, more: object = {}): Promise<Item> {
  const { result } = await talk.ask("session.open", { directory: skein.project, model });
  const { items, error } = await talk.follow("turn.start", { session: (result as Item)["id"], prompt: "look around", ...more });
  expect(error).toBeUndefined();
  return items.at(-1)!["turn"] as Item;
}

const leaks = ["env; set; export -p", "cat /proc/self/environ /proc/$PPID/environ", "cat ~/.config/skein/* $SKEIN_HOME/config/*; true"];

describe.each(Object.entries(ways))("with %s", (_title, { transport, greeting, model, key }) => {
  beforeAll(async () => {
    talk = await connectToHub(transport, hub, { ...greeting, directory: skein.project });
  });

  afterAll(() => {
    heard.push(...talk.frames);
    talk.close();
  });

  test("tools that print all they can find do not find it", async () => {
    server.setScript(shellScript(leaks, "nothing to see"));
    const before = server.requests.length;
    expect((await take(model))["status"]).toBe("ok");
    expect(talk.frames.join("")).toContain("PATH=");
    expect(server.requests.slice(before).some(({ headers }) => Object.values(headers).join(" ").includes(key))).toBe(true);
  });

  test("a vendor that repeats it is not repeated", async () => {
    server.setScript({ steps: [], final: "a long answer that will never be whole" });
    const faults: ServerFault[] = [
      { type: "status", status: 401, message: `the key is wrong: ${key}` },
      { type: "status", status: 400, message: `failed for ${key}, Bearer ${key}` },
      { type: "error-event", message: `in the middle of ${key}` },
    ];
    for (const fault of faults) {
      server.setFault(fault);
      const { status, error } = await take(model);
      expect(status).not.toBe("ok");
      expect((error as Item)["message"]).toContain("[key]");
    }
    server.setFault(null);
  });

  test("methods that speak about keys and settings do not tell it", async () => {
    for (const method of ["auth.status", "config.show", "config.values", "models.list", "agents.list", "doctor.check", "turn.list"])
      expect((await talk.ask(method, {})).error).toBeUndefined();
    expect((await talk.ask("session.tree", { session: "nobody", token: key })).error!.code).toBe(-32602);
    expect(talk.frames.join("")).toContain("ANTHROPIC_API_KEY");
  });

  test("a turn that is killed leaves none", async () => {
    server.setScript(shellScript(["env; sleep 60"]));
    const { result } = await talk.ask("session.open", { directory: skein.project, model });
    const session = (result as Item)["id"];
    const turn = talk.follow("turn.start", { session, prompt: "wait" });
    while (!talk.frames.some((frame) => frame.includes('"tool.output"') && frame.includes(String(session)))) await Bun.sleep(20);
    expect((await talk.ask("turn.kill", { session })).result).toMatchObject({ outcome: "stopped" });
    expect((await turn).items.at(-1)).toMatchObject({ type: "turn.ended", turn: { status: "cancelled" } });
  });
});

describe("afterwards", () => {
  test("the hub has stopped, and said so in its log", async () => {
    const log = join(dirname(hubFile(skein)), "hub.log");
    const token = readFileSync(hub.token_file, "utf8");
    await hub[Symbol.asyncDispose]();
    const said = readFileSync(log, "utf8");
    expect(said).toContain("stopped");
    expect(said).not.toContain(token);
    expect(watch.lists().filter((list) => list.includes(token))).toEqual([]);
  });

  test("no feed and no answer held a key", () => {
    expect(heard.length).toBeGreaterThan(100);
    expect(heard.filter((frame) => canaryPattern.test(frame)).map(excerptAround)).toEqual([]);
  });

  test("no argument list held a key", () => {
    expect(watch.lists().some((list) => list.includes("__executor"))).toBe(true);
    expect(watch.lists().filter((list) => canaryPattern.test(list))).toEqual([]);
  });

  test("no request body held a key", () => {
    expect(server.requests.filter(({ text }) => canaryPattern.test(text)).map(({ text }) => excerptAround(text))).toEqual([]);
  });

  test("no file holds a key", async () => {
    expect(await skein.leaks()).toEqual([]);
  });
});
