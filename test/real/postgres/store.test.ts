// Runs the conformance suite of stores against a real Postgres, and counts the round trips of each method that writes.
// Needs Debian's postgresql, so .ci/run runs it and npm test does not.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { describeStore } from "../../../src/store/conformance/store.ts";
import { beginTurn } from "../../../src/store/fixtures/begin-turn.ts";
import { agentNode, newSession, newTurn, okTurnEnd, userNode } from "../../../src/store/fixtures/samples.ts";
import { openPostgresStore, type PostgresStore } from "../../../src/store/postgres/postgres-store.ts";
import type { WorkerInfo } from "../../../src/store/postgres/leases/worker.ts";
import { emptyFleet, fleetDatabase } from "../../support/fleet-database.ts";
import { startPostgres, type TemporaryPostgres } from "../../support/temporary-postgres.ts";

let server: TemporaryPostgres;
let url = "";

beforeAll(async () => {
  server = await startPostgres({ fsync: "off" });
  url = await fleetDatabase(server);
}, 60_000);
afterAll(() => server.remove());

async function open(worker: WorkerInfo = {}): Promise<PostgresStore> {
  const store = await openPostgresStore({ url, worker });
  await emptyFleet(store.db);
  return store;
}

describeStore("a store in Postgres", async () => {
  const store = await open();
  return { store, close: () => store.close() };
});

test("each method that writes is one round trip", async () => {
  const store = await open({ beatMs: 600_000, ttlMs: 900_000 });
  const counts: Record<string, number> = {};
  const count = async <T>(name: string, act: () => Promise<T>): Promise<T> => {
    const before = store.db.roundTrips;
    const result = await act();
    counts[name] = store.db.roundTrips - before;
    return result;
  };
  const warm = await beginTurn(store); // registers this process
  await count("release", () => store.release(warm.lease));
  const session = await count("createSession", () => store.createSession(newSession()));
  const lease = await count("acquire", () => store.acquire(session.id));
  const { value: turn } = await count("startTurn", () => store.startTurn(lease, { ...newTurn(), cliSessions: { canFork: true } }));
  const node = await count("appendNode", () => store.appendNode(lease, turn.id, agentNode("a")));
  await count("saveDraft", () => store.saveDraft(lease, turn.id, { key: "text", text: "half" }));
  await count("recordNativeId", () => store.recordNativeId(lease, turn.id, "n"));
  await count("setState", () => store.setState(lease, "paused"));
  await count("saveTurnFiles", () => store.saveTurnFiles(lease, turn.id, { project: "/p", before: "a", after: null }));
  const call = { first: "n", last: null, project: "/p", before: "a", after: null, paths: null, startedAt: 1, endedAt: null };
  await count("saveCallFiles", () => store.saveCallFiles(lease, turn.id, call));
  const question = { call: "c", question: "Which?", options: [], expiresAt: null };
  const { value: ask } = await count("openAsk", () => store.openAsk(lease, turn.id, question));
  await count("closeAsk", () => store.closeAsk(lease, ask.id, { outcome: "left" }));
  const { value: input } = await count("queueInput", () => store.queueInput(lease, "one"));
  await count("dropInput", () => store.dropInput(lease, input.id));
  await count("forkSession", () => store.forkSession(session.id, node.value.id, { name: null }));
  await count("updateSession", () => store.updateSession(session.id, { name: "named", tip: node.value.id }));
  const later = { kind: "queued", request: { prompt: "x" }, caller: { directory: "/w", trust: null }, credential: null } as const;
  const times = { wakeAt: null, giveUpAt: null, attempt: 0 };
  const pending = await count("queueTurn", () => store.queueTurn(session.id, { ...later, ...times }));
  await count("setPendingProblem", () => store.setPendingProblem(pending.id, "busy"));
  await count("withdrawTurn", () => store.withdrawTurn(pending.id));
  await count("stopContinuing", () => store.stopContinuing(session.id));
  await count("saveDescription", () => store.saveDescription(session.id, "r", { stamp: "s", body: "b" }));
  await count("recordShownHits", () => store.recordShownHits("a", ["h"], 0));
  const handle = { source: "bash", sourceVersion: "1", identifier: `${session.id}/9`, metadata: {} };
  await count("importOutput", () => store.importOutput(lease, { handle, call: "c", bytes: Buffer.from("x") }));
  await count("sessionView", () => store.sessionView(session.id));
  await count("events", () => store.events(session.id, 0));
  await count("path", () => store.path(node.value.id));
  await count("listTurns", () => store.listTurns(0));
  await count("endTurn", () => store.endTurn(lease, turn.id, okTurnEnd));
  await store.close();
  expect(counts).toEqual(Object.fromEntries(Object.keys(counts).map((name) => [name, 1])));
});

test("text with NUL and lone surrogates comes back unchanged, wherever it is raw", async () => {
  const store = await open();
  const text = "a\0b \ud800 \u0001j end";
  const { session, lease, turn } = await beginTurn(store, { name: null, task: text });
  expect((await store.session(session.id))?.task).toBe(text);
  const { value: ask } = await store.openAsk(lease, turn.id, { call: text, question: text, options: [text], expiresAt: null });
  await store.closeAsk(lease, ask.id, { outcome: "answered", answer: text });
  expect(await store.asks(session.id)).toMatchObject([{ question: text, options: [text], answer: text }]);
  for (const part of ["x\ud83d", `x\ud83d\ude00${text}`]) await store.saveDraft(lease, turn.id, { key: "text", text: part });
  expect(await store.drafts(turn.id)).toEqual([{ key: "text", text: `x\ud83d\ude00${text}` }]);
  await store.queueInput(lease, text);
  expect((await store.takeInputs(lease, turn.id)).value).toMatchObject([{ parts: [{ text }] }]);
  const error = { kind: "broken", message: text } as const;
  await store.endTurn(lease, turn.id, { status: "broken", error, nativeId: text });
  expect(await store.turn(turn.id)).toMatchObject({ error, nativeId: text });
  await store.close();
});

test("a path of 300 nodes among branches is complete, and search finds its words also in paths and URLs", async () => {
  const store = await open();
  const { session, lease, turn } = await beginTurn(store);
  const ids: string[] = [];
  for (let index = 0; index < 300; index += 1) {
    const { value } = await store.appendNode(
      lease,
      turn.id,
      userNode(`see src/store/file${index}.ts and https://example.com/page${index}`),
    );
    ids.push(value.id);
    if (index % 10 === 0) {
      for (let side = 0; side < 90; side += 1) await store.appendNode(lease, turn.id, userNode("side"));
      await store.updateSession(session.id, { tip: value.id });
    }
  }
  expect((await store.path(ids.at(-1)!)).slice(1).map((node) => node.id)).toEqual(ids);
  const found = async (query: string) => (await store.search(query, { project: null, limit: 5 })).map((hit) => hit.node.id);
  expect(await found("file77")).toEqual([ids[77]!]);
  expect(await found("example page123")).toEqual([ids[123]!]);
  await store.release(lease);
  expect((await store.verify({})).problems).toEqual([]);
  await store.close();
}, 120_000);
