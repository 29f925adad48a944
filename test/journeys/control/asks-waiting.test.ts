// Turns of the hub that wait for an answer: they are answered from another process, expire, or are killed.
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { startModelServer, type ModelServer, type ScriptSource } from "../../../src/scripted-model/model-server.ts";
import type { ScriptCall } from "../../../src/scripted-model/script.ts";
import { connectApi } from "../../../src/hub/api-client.ts";
import type { HubFile } from "../../../src/hub/hub-file.ts";
import type { Api, TurnStartParams } from "../../../src/protocol/api/api.ts";
import type { Event } from "../../../src/protocol/tree/event.ts";
import { defaultPolicy } from "../../../src/protocol/api/policy.ts";
import { bareTurn } from "../../../src/protocol/api/turn-options.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";

type Hub = { skein: TemporaryHome; server: ModelServer; api: Api; pid: number };
type OpenAsk = { id: string; session_id: string; question: string; waiting: boolean };

const question: ScriptCall = { name: "ask_user", input: { question: "Which?", options: ["red", "blue"] } };

async function withHub(script: ScriptSource, check: (hub: Hub) => Promise<void>): Promise<void> {
  const server = startModelServer(script);
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    await skein.run(["hub", "start"]);
    const { socket, pid } = JSON.parse(readFileSync(join(skein.env["SKEIN_HOME"] as string, "state", "hub.json"), "utf8")) as HubFile;
    const api = await connectApi({ socket }, { client: "journey", directory: skein.project, env: skein.env });
    await check({ skein, server, api, pid });
    await api.close();
  } finally {
    await skein.run(["hub", "stop", "--wait", "0"]);
    await server.stop();
  }
}

async function start({ api, skein }: Hub, limitMs: number | null, overrides: Partial<TurnStartParams> = {}): Promise<AsyncIterator<Event>> {
  const { id } = await api.session.open({
    find: { by: "new" },
    directory: skein.project,
    task: "paint it",
    agent: "native",
    model: wireModels.anthropic,
    toolLevel: "orchestrator",
    parentSession: null,
    transcriptDir: null,
  });
  const turn = {
    ...bareTurn(id, defaultPolicy),
    toolLevel: "orchestrator" as const,
    prompt: "paint it",
    asks: { how: "wait" as const, limitMs },
  };
  return api.turn.start({ ...turn, ...overrides })[Symbol.asyncIterator]();
}

async function until(events: AsyncIterator<Event>, matches: (event: Event) => boolean): Promise<Event> {
  for (let next = await events.next(); next.done !== true; next = await events.next()) if (matches(next.value)) return next.value;
  throw new Error("the turn is over");
}

/** Resolves with the first open question. */
async function waitForAsk(skein: TemporaryHome): Promise<OpenAsk> {
  for (;;) {
    const [ask] = JSON.parse((await skein.run(["asks", "--json"])).out) as OpenAsk[];
    if (ask?.waiting === true) return ask;
    await Bun.sleep(20);
  }
}

const isEnded = ({ type }: Event) => type === "turn.ended";

test("a waiting turn that is answered from another process continues by itself", async () => {
  await withHub({ steps: [{ calls: [question] }], final: "thanks" }, async (hub) => {
    const events = await start(hub, null);
    await until(events, ({ type }) => type === "ask.opened");
    const ask = await waitForAsk(hub.skein);
    expect((await hub.skein.run(["asks"])).out).toContain("its turn waits");
    expect(await hub.skein.run(["answer", ask.id, "2"])).toMatchObject({
      code: 0,
      out: "answered: blue\n",
      err: "the waiting turn continues\n",
    });
    expect(await until(events, isEnded)).toMatchObject({ turn: { status: "ok" }, answer: "thanks" });
    expect(hub.server.main().at(-1)?.text).toContain('"content":"blue"');
  });
});

test("a turn that gets no answer in time tells the model so and continues", async () => {
  await withHub({ steps: [{ calls: [question] }], final: "on my own" }, async (hub) => {
    const events = await start(hub, 30);
    expect(await until(events, ({ type }) => type === "ask.closed")).toMatchObject({ ask: { outcome: "expired", answer: null } });
    expect(await until(events, isEnded)).toMatchObject({ turn: { status: "ok" }, answer: "on my own" });
    expect(hub.server.main().at(-1)?.text).toContain("Nobody answered in time");
    expect((await hub.skein.run(["asks"])).out).toBe("no question waits for an answer\n");
  });
});

test("a turn that was killed with SIGKILL while it waited can still be answered and resumed", async () => {
  await withHub({ steps: [{ calls: [question, { input: { command: "echo painted" } }] }], final: "thanks" }, async (hub) => {
    const { skein, server } = hub;
    const events = await start(hub, null);
    await until(events, (event) => event.type === "node.added" && event.node.author === "tool");
    const { id, session_id: session } = await waitForAsk(skein);
    process.kill(hub.pid, "SIGKILL");
    await until(events, () => false).catch(() => null);
    expect((await skein.run(["run", "--resume", session])).err).toContain("a question waits for an answer: Which?");
    expect(await skein.run(["answer", id, "1"])).toMatchObject({ code: 0, err: `to continue: skein run --resume ${session.slice(-8)}\n` });
    expect(await skein.run(["run", "--resume", session])).toMatchObject({ code: 0, out: "thanks\n" });
    const sent = server.main().at(-1)?.text ?? "";
    expect(sent).toContain('"content":"red"');
    expect(sent).toContain("painted");
    expect(sent).not.toContain("Interrupted");
    expect((await skein.run(["verify"])).code).toBe(0);
  });
});

test("a sub-session's question is listed with the others, and its parent gets the sub-session's result", async () => {
  const script: ScriptSource = ({ position }) =>
    position.prompt === "part"
      ? { steps: [{ calls: [question] }], final: "the part is blue" }
      : { steps: [{ calls: [{ name: "spawn_session", input: { task: "part" } }] }], final: "whole" };
  await withHub(script, async (hub) => {
    const events = await start(hub, null, { spawn: true });
    const ask = await waitForAsk(hub.skein);
    expect(await hub.skein.run(["answer", ask.id.slice(-8), "2"])).toMatchObject({ code: 0, err: "the waiting turn continues\n" });
    expect(await until(events, isEnded)).toMatchObject({ turn: { status: "ok" }, answer: "whole" });
    expect(hub.server.main().at(-1)?.text).toContain("the part is blue");
  });
});

test("answer refuses the end of an id that two questions share", async () => {
  await withHub({ steps: [{ calls: [question, question] }], final: "thanks" }, async (hub) => {
    await until(await start(hub, null, { asks: { how: "later" } }), isEnded);
    using db = new Database(join(hub.skein.env["SKEIN_HOME"] as string, "data", "skein.db"));
    db.run("update asks set id = substr(id, 1, 32) || 'beef'");
    const ran = await hub.skein.run(["answer", "beef", "1"]);
    expect(ran).toMatchObject({ code: 2, out: "" });
    expect(ran.err).toContain('more than one question ends with "beef"');
  });
});
