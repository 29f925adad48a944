// Every method of a real hub, over both transports, with params made from its own schema and then spoilt: whatever is sent,
// the answer is a result or an error that says what is wrong, and the hub stays well. SKEIN_SEED repeats the choices.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { z } from "zod";
import { startModelServer } from "../../src/scripted-model/model-server.ts";
import { isFeed, type MethodName } from "../../src/protocol/api/api.ts";
import { findMethod, methodNames } from "../../src/protocol/schema/check-params.ts";
import { methods } from "../../src/protocol/schema/methods/index.ts";
import { toMethodName } from "../../src/protocol/json/json-case.ts";
import { startHub, connectToHub, type Answer, type Item, type HubClient } from "../support/hub-client.ts";
import { temporaryHome, vendorEnv, wireModels } from "../support/temporary-home.ts";
import { randomOf, invalidParams, validParams, type Json, type Random } from "../support/invalid-params.ts";

const seed = Number(process.env["SKEIN_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
console.log(`seed ${seed}`);
const rows = methodNames;
const transports = ["web", "unix"] as const;

const server = startModelServer({ steps: [{ calls: [{ input: { command: "seq 20000" } }] }], final: "done" });
const skein = temporaryHome({ ...vendorEnv(server.url), SKEIN_MODEL: wireModels.anthropic });
const hub = await startHub(skein);
const talks = {} as Record<(typeof transports)[number], HubClient>;
/** Ids and places that exist, so that valid params mean something. */
const pool = { names: ["nobody"], paths: [skein.project, "/nowhere"] };

beforeAll(async () => {
  for (const transport of transports) talks[transport] = await connectToHub(transport, hub, greeting);
  const { result } = await talks.unix.ask("session.open", { directory: skein.project, find: { by: "name", wanted: "main" } });
  const session = (result as { id: string }).id;
  const { items } = await talks.unix.follow("turn.start", { session, prompt: "go" });
  expect(items.at(-1)).toMatchObject({ type: "turn.ended", turn: { status: "ok" } });
  const nodes = items.filter(({ type }) => type === "node.added").map(({ node }) => (node as Item)["id"] as string);
  pool.names.push(session, "main", ...nodes);
});

afterAll(async () => {
  for (const talk of Object.values(talks)) talk.close();
  await hub[Symbol.asyncDispose]();
  await server.stop();
  skein[Symbol.dispose]();
});

const greeting = { protocol: 1, client: "fuzz", directory: skein.project };

/** Asked with valid params only where that changes nothing, or is over at once. */
const reading = rows.filter((row) =>
  /\.(list|tree|leaves|find|path|children|diff|planRestore|render|handles|compare|resolve|report|show|values|paths|schema|status|current|watch|check)$/.test(
    row,
  ),
);

function schemaOf(row: MethodName): Json {
  return z.toJSONSchema(methods[row].params, { io: "input", unrepresentable: "any" }) as Json;
}

const ajv = new Ajv2020({ strict: false, validateFormats: false });

/** What another validator refuses, too. */
function wrongParams(row: MethodName, random: Random): unknown[] {
  const isValid = ajv.compile(schemaOf(row));
  return invalidParams(schemaOf(row), random, pool).filter((params) => !isValid(params));
}

/** A result, or an error in words; never one of our own mistakes. A feed is closed and ends. */
async function survives(talk: HubClient, method: string, params: unknown): Promise<Answer> {
  const answer = await talk.ask(method, params);
  const sent = JSON.stringify(params)?.slice(0, 300);
  if (answer.error !== undefined) {
    const { code, message, data } = answer.error;
    const isKnown = [-32600, -32601, -32602, -32000].includes(code) && data?.code !== "internal";
    expect(isKnown && message !== "" && !message.includes("\n") ? "" : `${method} ${sent}: ${JSON.stringify(answer.error)}`).toBe("");
  } else if (isFeed(findMethod(method)!)) talk.notify("feed.close", { feed: (answer.result as { feed: number }).feed });
  return answer;
}

function memoryOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) / 1024;
}

async function isWell(talk: HubClient): Promise<void> {
  expect((await talk.ask("health.check")).result).toMatchObject({ status: "healthy", pid: hub.pid });
}

describe.each(transports)("over %s", (transport) => {
  test.each(rows)("%s refuses spoilt params and stays well", async (row) => {
    const random = randomOf(`${seed} ${row}`);
    const method = toMethodName(row);
    for (const params of wrongParams(row, random)) {
      const { error } = await survives(talks[transport], method, params);
      expect(error?.code === -32602 ? "" : `${method} ${JSON.stringify(params)?.slice(0, 300)}: ${JSON.stringify(error)}`).toBe("");
      expect(error!.message).toStartWith(`${method}: `);
    }
    await isWell(talks[transport]);
  });

  test.each(reading)("%s answers random params that are valid", async (row) => {
    const random = randomOf(`${seed} valid ${row}`);
    const rounds = Object.keys(schemaOf(row).properties ?? {}).length === 0 ? 1 : 20;
    for (let round = 0; round < rounds; round++)
      await survives(talks[transport], toMethodName(row), validParams(schemaOf(row), random, pool));
    await isWell(talks[transport]);
  });

  test("methods that change something answer ids that nobody has with a fault", async () => {
    const random = randomOf(`${seed} strangers`);
    const strangers = {
      names: ["01a1e22c-d890-73cc-8df8-09de92534c2e", "no such thing", "💥", "'; drop table nodes; --"],
      paths: ["/nowhere"],
    };
    for (const row of rows.filter((each) => !reading.includes(each) && !harmful.has(each)))
      for (let round = 0; round < 10; round++) {
        const params = validParams(schemaOf(row), random, strangers);
        const method = toMethodName(row);
        if (isFeed(row)) {
          const { items, error } = await talks[transport].follow(method, params);
          expect({ method, items, code: error?.code, isOurs: error?.data?.code === "internal" }).toEqual({
            method,
            items: [],
            code: -32000,
            isOurs: false,
          });
        } else await survives(talks[transport], method, params);
      }
    await isWell(talks[transport]);
  });

  test("a greeting that is none is refused", async () => {
    const wrong = [
      {},
      [],
      "x",
      5,
      null,
      { protocol: "1" },
      { protocol: 2 },
      { protocol: 1e300 },
      { client: 5 },
      { directory: "a" },
      { window: -1 },
    ];
    const more = [{ env: { A: 1 } }, { env: [] }, { trust: "yes" }, { nobody: 1 }, JSON.parse('{"__proto__": 1}') as object];
    for (const each of [...wrong, ...more]) {
      const isWhole = typeof each === "object" && each !== null && !Array.isArray(each) && Object.keys(each).length > 0;
      await expect(connectToHub(transport, hub, isWhole ? { ...greeting, ...each } : each)).rejects.toThrow(/^hub\.hello: \S/);
    }
    await isWell(talks[transport]);
  });

  test("hub.stop stops nothing when it is asked wrongly", async () => {
    for (const params of [5, "x", [], [0], { wait_ms: -1 }, { wait_ms: "0" }, { wait_ms: {} }, { wait: 0 }]) {
      const { error } = await survives(talks[transport], "hub.stop", params);
      expect(error).toBeDefined();
    }
    await isWell(talks[transport]);
  });

  test("what is no request is refused, and what follows is answered", async () => {
    const talk = await connectToHub(transport, hub, greeting);
    const frames = [
      "{",
      "null",
      "[]",
      '"x"',
      "5",
      "{}",
      '{"id":{},"method":"a"}',
      '{"jsonrpc":"2.0"}',
      "[".repeat(100_000),
      "\u0000",
      "{".repeat(50),
    ];
    for (const frame of frames) talk.raw(frame);
    for (const method of [
      "",
      "x",
      "session",
      "session.",
      "session.open.x",
      "__proto__",
      "constructor.name",
      "hub.cancel",
      "x".repeat(100_000),
    ])
      expect((await talk.ask(method, {})).error?.code).toBe(-32601);
    for (const params of [5, "x", true, [[]], [null, null, null, null, null]])
      expect((await talk.ask("session.move", params)).error?.code).toBe(-32602);
    expect(talk.loose.length).toBeGreaterThan(5);
    expect(talk.loose.every(({ error }) => error !== undefined)).toBe(true);
    await isWell(talk);
    talk.close();
  });

  test("a text that is too long is refused, and a frame that is too large ends the connection", async () => {
    const talk = await connectToHub(transport, hub, greeting);
    const { error } = await talk.ask("turn.steer", { session: "main", text: "x".repeat(10_000_001) });
    expect(error).toMatchObject({ code: -32602, message: "turn.steer: text must have at most 10000000 characters" });
    expect((await talk.ask("turn.steer", { session: "main", text: "x".repeat(17 << 20) })).error!.message).toContain(
      "the connection was lost",
    );
    await isWell(talks[transport]);
  });
});

function chunked<Item>(items: Item[], size: number): Item[][] {
  return items.length === 0 ? [] : [items.slice(0, size), ...chunked(items.slice(size), size)];
}

/** Takes minutes, or does what it is told with any words: it has walks of its own. */
const harmful = new Set<MethodName>(["doctor.tryAgents", "session.open", "config.set", "trust.grant", "session.purge", "store.verify"]);

test("after three times as much, the hub has not grown", async () => {
  const rounds = async (count: number, name: string) => {
    for (let round = 0; round < count; round++)
      for (const row of rows) {
        const random: Random = randomOf(`${seed} ${name} ${round} ${row}`);
        for (const some of chunked(wrongParams(row, random), 32))
          await Promise.all(some.map((params) => survives(talks.web, toMethodName(row), params)));
      }
  };
  await rounds(2, "warm");
  const before = memoryOf(hub.pid);
  await rounds(6, "more");
  const after = memoryOf(hub.pid);
  console.log(`${Math.round(before)} MB, then ${Math.round(after)} MB`);
  expect(after - before).toBeLessThan(100);
  await isWell(talks.unix);
});
