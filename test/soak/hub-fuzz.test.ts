// Calls every method of a real hub over both transports, with params that are made from its schema and then damaged. The hub
// must return a result or a clear error and stay healthy. SKEIN_SEED repeats the choices.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { z } from "zod";
import { startModelServer } from "../../src/scripted-model/model-server.ts";
import { isFeed, type MethodName } from "../../src/protocol/api/api.ts";
import { findMethod, methodNames } from "../../src/protocol/schema/check-params.ts";
import { methods } from "../../src/protocol/schema/methods/index.ts";
import { snakeCase } from "../../src/protocol/json/field-names.ts";
import { startHub, connectToHub, type Answer, type Item, type HubClient } from "../support/hub-client.ts";
import { temporaryHome, vendorEnv, wireModels } from "../support/temporary-home.ts";
import { randomOf, invalidParams, validParams, type Json, type Random } from "../support/invalid-params.ts";

const seed = Number(process.env["SKEIN_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
console.log(`seed ${seed}`);
const transports = ["web", "unix"] as const;

const server = startModelServer({ steps: [{ calls: [{ input: { command: "seq 20000" } }] }], final: "done" });
const skein = temporaryHome({ ...vendorEnv(server.url), SKEIN_MODEL: wireModels.anthropic });
const hub = await startHub(skein);
const clients = {} as Record<(typeof transports)[number], HubClient>;
/** Ids and paths that exist, so that some valid params refer to real things. */
const pool = { names: ["nobody"], paths: [skein.project, "/nowhere"] };

beforeAll(async () => {
  for (const transport of transports) clients[transport] = await connectToHub(transport, hub, greeting);
  const { result } = await clients.unix.ask("session.open", { directory: skein.project, find: { by: "name", wanted: "main" } });
  const session = (result as { id: string }).id;
  const { items } = await clients.unix.follow("turn.start", { session, prompt: "go" });
  expect(items.at(-1)).toMatchObject({ type: "turn.ended", turn: { status: "ok" } });
  const nodes = items.filter(({ type }) => type === "node.added").map(({ node }) => (node as Item)["id"] as string);
  pool.names.push(session, "main", ...nodes);
});

afterAll(async () => {
  for (const client of Object.values(clients)) client.close();
  await hub[Symbol.asyncDispose]();
  await server.stop();
  skein[Symbol.dispose]();
});

const greeting = { protocol: 1, client: "fuzz", directory: skein.project };

/** Methods that change nothing or return at once. Only they are called with valid params. */
const reading = methodNames.filter((method) =>
  /\.(list|tree|leaves|find|path|children|diff|planRestore|render|handles|compare|resolve|report|show|values|paths|schema|status|current|watch|check)$/.test(
    method,
  ),
);

function schemaOf(method: MethodName): Json {
  return z.toJSONSchema(methods[method].params, { io: "input", unrepresentable: "any" }) as Json;
}

const ajv = new Ajv2020({ strict: false, validateFormats: false });

/** Returns invalid params that a second validator (ajv) refuses too. */
function wrongParams(method: MethodName, random: Random): unknown[] {
  const isValid = ajv.compile(schemaOf(method));
  return invalidParams(schemaOf(method), random, pool).filter((params) => !isValid(params));
}

/** Expects a result or an error with a message, but no internal error. Closes a feed. */
async function expectNoInternalError(client: HubClient, method: string, params: unknown): Promise<Answer> {
  const answer = await client.ask(method, params);
  const sent = JSON.stringify(params)?.slice(0, 300);
  if (answer.error !== undefined) {
    const { code, message, data } = answer.error;
    const isExpected = [-32600, -32601, -32602, -32000].includes(code) && data?.code !== "internal";
    expect(isExpected && message !== "" && !message.includes("\n") ? "" : `${method} ${sent}: ${JSON.stringify(answer.error)}`).toBe("");
  } else if (isFeed(findMethod(method)!)) client.notify("feed.close", { feed: (answer.result as { feed: number }).feed });
  return answer;
}

function memoryOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) / 1024;
}

async function expectHealthy(client: HubClient): Promise<void> {
  expect((await client.ask("health.check")).result).toMatchObject({ status: "healthy", pid: hub.pid });
}

describe.each(transports)("over %s", (transport) => {
  test.each(methodNames)("%s refuses invalid params, and the hub stays healthy", async (method) => {
    const random = randomOf(`${seed} ${method}`);
    const wireName = snakeCase(method);
    for (const params of wrongParams(method, random)) {
      const { error } = await expectNoInternalError(clients[transport], wireName, params);
      expect(error?.code === -32602 ? "" : `${wireName} ${JSON.stringify(params)?.slice(0, 300)}: ${JSON.stringify(error)}`).toBe("");
      expect(error!.message).toStartWith(`${wireName}: `);
    }
    await expectHealthy(clients[transport]);
  });

  test.each(reading)("%s answers random valid params", async (method) => {
    const random = randomOf(`${seed} valid ${method}`);
    const rounds = Object.keys(schemaOf(method).properties ?? {}).length === 0 ? 1 : 20;
    for (let round = 0; round < rounds; round++)
      await expectNoInternalError(clients[transport], snakeCase(method), validParams(schemaOf(method), random, pool));
    await expectHealthy(clients[transport]);
  });

  test("methods that change something answer unknown ids with an error", async () => {
    const random = randomOf(`${seed} unknown`);
    const unknown = {
      names: ["01a1e22c-d890-73cc-8df8-09de92534c2e", "no such thing", "💥", "'; drop table nodes; --"],
      paths: ["/nowhere"],
    };
    for (const method of methodNames.filter((each) => !reading.includes(each) && !harmful.has(each)))
      for (let round = 0; round < 10; round++) {
        const params = validParams(schemaOf(method), random, unknown);
        const wireName = snakeCase(method);
        if (isFeed(method)) {
          const { items, error } = await clients[transport].follow(wireName, params);
          expect({ method, items, code: error?.code, isInternal: error?.data?.code === "internal" }).toEqual({
            method,
            items: [],
            code: -32000,
            isInternal: false,
          });
        } else await expectNoInternalError(clients[transport], wireName, params);
      }
    await expectHealthy(clients[transport]);
  });

  test("an invalid greeting is refused", async () => {
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
      const isFields = typeof each === "object" && each !== null && !Array.isArray(each) && Object.keys(each).length > 0;
      await expect(connectToHub(transport, hub, isFields ? { ...greeting, ...each } : each)).rejects.toThrow(/^hub\.hello: \S/);
    }
    await expectHealthy(clients[transport]);
  });

  test("hub.stop with invalid params stops nothing", async () => {
    for (const params of [5, "x", [], [0], { wait_ms: -1 }, { wait_ms: "0" }, { wait_ms: {} }, { wait: 0 }]) {
      const { error } = await expectNoInternalError(clients[transport], "hub.stop", params);
      expect(error).toBeDefined();
    }
    await expectHealthy(clients[transport]);
  });

  test("invalid frames are refused, and the requests after them are answered", async () => {
    const client = await connectToHub(transport, hub, greeting);
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
    for (const frame of frames) client.raw(frame);
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
      expect((await client.ask(method, {})).error?.code).toBe(-32601);
    for (const params of [5, "x", true, [[]], [null, null, null, null, null]])
      expect((await client.ask("session.move", params)).error?.code).toBe(-32602);
    expect(client.loose.length).toBeGreaterThan(5);
    expect(client.loose.every(({ error }) => error !== undefined)).toBe(true);
    await expectHealthy(client);
    client.close();
  });

  test("a text that is too long is refused, and a frame that is too large ends the connection", async () => {
    const client = await connectToHub(transport, hub, greeting);
    const { error } = await client.ask("turn.steer", { session: "main", text: "x".repeat(10_000_001) });
    expect(error).toMatchObject({ code: -32602, message: "turn.steer: text must have at most 10000000 characters" });
    expect((await client.ask("turn.steer", { session: "main", text: "x".repeat(17 << 20) })).error!.message).toContain(
      "the connection was lost",
    );
    await expectHealthy(clients[transport]);
  });
});

function chunked<Item>(items: Item[], size: number): Item[][] {
  return items.length === 0 ? [] : [items.slice(0, size), ...chunked(items.slice(size), size)];
}

/** These methods take minutes or accept any text. Other tests cover them. */
const harmful = new Set<MethodName>(["doctor.tryAgents", "session.open", "config.set", "trust.grant", "session.purge", "store.verify"]);

test("the memory of the hub does not grow with four times as many invalid requests", async () => {
  const rounds = async (count: number, name: string) => {
    for (let round = 0; round < count; round++)
      for (const method of methodNames) {
        const random: Random = randomOf(`${seed} ${name} ${round} ${method}`);
        for (const chunk of chunked(wrongParams(method, random), 32))
          await Promise.all(chunk.map((params) => expectNoInternalError(clients.web, snakeCase(method), params)));
      }
  };
  await rounds(2, "warm");
  const before = memoryOf(hub.pid);
  await rounds(6, "more");
  const after = memoryOf(hub.pid);
  console.log(`${Math.round(before)} MB, then ${Math.round(after)} MB`);
  expect(after - before).toBeLessThan(100);
  await expectHealthy(clients.unix);
});
