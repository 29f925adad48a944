// Tests who may write a session of a fleet: heartbeats, take-over, restarts of the server, and thieves against the fence.
// Needs Debian's postgresql, so .ci/run runs it and npm test does not.
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import type { Fault } from "../../../src/protocol/api/error.ts";
import { beginTurn, faultCode } from "../../../src/store/fixtures/begin-turn.ts";
import { agentNode, newSession, newTurn, okTurnEnd, userNode } from "../../../src/store/fixtures/samples.ts";
import type { HeartbeatHooks, WorkerInfo } from "../../../src/store/postgres/leases/worker.ts";
import { openPostgresStore, type PostgresStore } from "../../../src/store/postgres/postgres-store.ts";
import type { Lease } from "../../../src/store/store.ts";
import { emptyFleet, fleetDatabase } from "../../support/fleet-database.ts";
import { startPostgres, type TemporaryPostgres } from "../../support/temporary-postgres.ts";

let server: TemporaryPostgres;
let url = "";
const stores: PostgresStore[] = [];

beforeAll(async () => {
  server = await startPostgres({ fsync: "off" });
  url = await fleetDatabase(server);
}, 60_000);
beforeEach(async () => {
  const store = await openPostgresStore({ url });
  await emptyFleet(store.db);
  await store.close();
});
afterAll(async () => {
  for (const store of stores) await store.close();
  await server.remove();
});

/** A machine of its own, because its boot id is. It sends heartbeats only when a test asks for one. */
async function machine(name: string, worker: WorkerInfo = {}, heartbeat: HeartbeatHooks = {}): Promise<PostgresStore> {
  const info = { machine: name, holder: { boot: name }, beatMs: 600_000, ttlMs: 900_000, slots: 1, ...worker };
  const store = await openPostgresStore({ url, worker: info, heartbeat });
  stores.push(store);
  return store;
}

/** Makes the worker silent for longer than its time, by the clock of the database. */
async function makeSilent(store: PostgresStore, worker: string): Promise<void> {
  await store.db.run("update skein.workers set seen_at = seen_at - interval '1 hour', ttl_ms = 1 where id = $1::text", worker);
}

const faultOf = (act: Promise<unknown>) =>
  act.then(
    () => null,
    (error: unknown) => error as Fault,
  );

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + 60_000; !(await holds());) {
    if (performance.now() > deadline) throw new Error("waited for 60 seconds");
    await Bun.sleep(20);
  }
}

test("another machine's session is busy and names its machine, until that is silent; then its late write is refused", async () => {
  const [one, two] = [await machine("m1"), await machine("m2")];
  const { session, lease, turn } = await beginTurn(one);
  const busy = await faultOf(two.acquire(session.id));
  expect(busy).toMatchObject({ code: "session-busy", message: expect.stringContaining("on m1") });
  expect(await two.holder(session.id)).toMatchObject({ pid: null, socket: `fleet:${one.worker}`, machine: "m1" });
  await makeSilent(two, one.worker);
  expect(await two.holder(session.id)).toBeNull();
  expect((await two.listTurns(null)).map(({ state }) => state)).toEqual(["interrupted"]);
  const taken = await two.acquire(session.id);
  expect(taken.epoch).toBe(lease.epoch + 1);
  expect(await faultCode(one.appendNode(lease, turn.id, agentNode("late")))).toBe("lease-lost");
  await two.appendNode(taken, turn.id, agentNode("mine"));
});

test("a heartbeat takes the sessions of silent workers, and tells the sleeper which leases it has lost", async () => {
  const lost: Lease[] = [];
  const reaped: unknown[] = [];
  const one = await machine("m1", {}, { onLost: (leases) => lost.push(...leases) });
  const two = await machine("m2", {}, { onReaped: (sessions) => reaped.push(...sessions) });
  const { session, lease, turn } = await beginTurn(one);
  await two.beatNow();
  expect(reaped).toEqual([]);
  await makeSilent(two, one.worker);
  await two.beatNow();
  expect(reaped).toEqual([{ session: session.id, epoch: lease.epoch + 1, worker: one.worker }]);
  expect(await faultCode(one.appendNode(lease, turn.id, agentNode("late")))).toBe("lease-lost");
  await one.beatNow();
  expect(lost).toEqual([lease]);
  expect((await one.acquire(session.id)).epoch).toBe(lease.epoch + 2);
});

test("a machine that wakes up after its time pauses its turns first, and stops those that it has lost", async () => {
  const heard: string[] = [];
  const hooks = {
    onSilent: () => heard.push("paused"),
    onLost: () => heard.push("lost"),
    onHeard: () => heard.push("goes on"),
  };
  let sleptMs = 0;
  const clock = () => performance.now() + sleptMs;
  const one = await machine("laptop", { ttlMs: 60_000, clock }, hooks);
  const two = await machine("m2");
  const { session, lease, turn } = await beginTurn(one);
  sleptMs += 60_000;
  await until(() => heard.length === 1);
  await one.beatNow();
  await one.appendNode(lease, turn.id, agentNode("nobody took it meanwhile"));
  sleptMs += 60_000;
  await until(() => heard.length === 3);
  await makeSilent(two, one.worker);
  await two.acquire(session.id);
  await one.beatNow();
  expect(heard).toEqual(["paused", "goes on", "paused", "lost", "goes on"]);
  expect(await faultCode(one.appendNode(lease, turn.id, agentNode("late")))).toBe("lease-lost");
}, 60_000);

test("a session that a living worker has forgotten is given back by its heartbeats", async () => {
  const [one, two] = [await machine("m1"), await machine("m2")];
  const { session } = await beginTurn(one);
  const kept = await beginTurn(one);
  await one.db.run("update skein.sessions set epoch = epoch + 5 where id = $1::text", session.id);
  for (let beat = 0; beat < 2; beat += 1) await one.beatNow();
  await two.acquire(session.id);
  expect(await faultCode(two.acquire(kept.session.id))).toBe("session-busy");
  await one.appendNode(kept.lease, kept.turn.id, agentNode("goes on"));
});

test("the session of a process of this boot that was killed is free at once", async () => {
  const script = `
    const { openPostgresStore } = await import(${JSON.stringify(`${import.meta.dir}/../../../src/store/postgres/postgres-store.ts`)});
    const store = await openPostgresStore({ url: ${JSON.stringify(url)} });
    await store.acquire(process.argv.at(-1));
    console.log("held");
    setInterval(() => {}, 1000);`;
  const store = await machine("", { holder: {} });
  const { id } = await store.createSession(newSession());
  const child = Bun.spawn([process.execPath, "-e", script, id], { stdout: "pipe", stderr: "inherit" });
  for await (const _ of child.stdout) break;
  expect(await faultCode(store.acquire(id))).toBe("session-busy");
  expect(await store.holder(id)).toMatchObject({ pid: child.pid });
  child.kill("SIGKILL");
  await child.exited;
  expect((await store.acquire(id)).epoch).toBe(2);
}, 60_000);

test("a restart of the server loses nothing, takes no session away, and a running turn goes on", async () => {
  const heard: string[] = [];
  const hooks = { onSilent: () => heard.push("silent"), onHeard: () => heard.push("heard"), onLost: () => heard.push("lost") };
  const one = await machine("m1", { ttlMs: 2_000, beatMs: 200 }, hooks);
  const two = await machine("m2", { ttlMs: 2_000, beatMs: 200 });
  const { session, lease, turn } = await beginTurn(one);
  const written: string[] = [];
  let isDone = false;
  const writing = (async () => {
    while (!isDone) written.push((await one.appendNode(lease, turn.id, agentNode(`node ${written.length}`))).value.id);
  })();
  await until(() => written.length > 20);
  await server.stop("immediate");
  await until(() => heard.includes("silent"));
  await server.start();
  await until(() => heard.includes("heard"));
  const before = written.length;
  await until(() => written.length > before + 20);
  isDone = true;
  await writing;
  expect(heard).toEqual(["silent", "heard"]);
  expect(await faultCode(two.acquire(session.id))).toBe("session-busy");
  expect((await two.sessionPath(session.id)).slice(1).map(({ id }) => id)).toEqual(written);
  await one.endTurn(lease, turn.id, okTurnEnd);
  expect((await two.verify({})).problems).toEqual([]);
}, 120_000);

/** SKEIN_WRITES=100000 repeats it for longer. */
const writesOfThieves = Number(process.env["SKEIN_WRITES"] ?? 300);

test("with six thieves no write is out of the order of epochs, and path, nodes and events agree", async () => {
  const victim = await machine("victim");
  const { session } = await beginTurn(victim);
  await makeSilent(victim, victim.worker);
  const writes: { epoch: number; seq: number }[] = [];
  let thefts = 0;
  const thief = async (index: number) => {
    const store = await machine(`thief ${index}`);
    while (writes.length < writesOfThieves) {
      // Every thief takes the lease as if its holder were silent.
      await store.db.run("update skein.sessions set holder = null where id = $1::text", session.id);
      const lease = await store.acquire(session.id).catch((error: Fault) => {
        if (error.code !== "session-busy") throw error;
        return null;
      });
      if (lease === null) continue;
      thefts += 1;
      try {
        for (let count = 0; count < 5; count += 1) {
          const { events } = await store.appendNode(lease, null, userNode(`${index} ${count}`));
          writes.push({ epoch: lease.epoch, seq: events[0]!.seq });
        }
      } catch (error) {
        if ((error as Fault).code !== "lease-lost") throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: 6 }, (_, index) => thief(index)));
  const epochs = writes.toSorted((a, b) => a.seq - b.seq).map(({ epoch }) => epoch);
  console.log(`${writes.length} writes, ${thefts} thefts`);
  expect(thefts).toBeGreaterThan(10);
  expect(epochs).toEqual(epochs.toSorted((a, b) => a - b));
  const reader = await machine("reader");
  const path = await reader.sessionPath(session.id);
  expect(path.map(({ id }) => id)).toEqual((await reader.sessionNodes(session.id)).map(({ id }) => id));
  expect(path).toHaveLength(writes.length + 1);
  expect((await reader.events(session.id, 0)).map(({ seq }) => seq)).toEqual(path.map((_, index) => index + 1).concat(path.length + 1));
  await reader.db.exec("update skein.sessions set holder = null");
  expect((await reader.verify({})).problems).toEqual([]);
}, 450_000);

test("a write whose answer was lost is done once when it is sent again", async () => {
  const store = await machine("m1");
  const session = await store.createSession(newSession());
  const lease = await store.acquire(session.id);
  const calls: [string, unknown[]][] = [];
  const call = store.db.call.bind(store.db);
  // Sends each call twice, as after a connection that broke between a commit and its answer.
  store.db.call = async (name: string, ...params: never[]) => {
    calls.push([name, await call(name, ...params)]);
    return call(name, ...params);
  };
  const started = await store.startTurn(lease, newTurn());
  const added = await store.appendNode(lease, started.value.id, agentNode("once"));
  await store.saveDraft(lease, started.value.id, { key: "text", text: "a" });
  await store.saveDraft(lease, started.value.id, { key: "text", text: "ab" });
  expect(await store.drafts(started.value.id)).toEqual([{ key: "text", text: "ab" }]);
  const asked = await store.openAsk(lease, started.value.id, { call: "c", question: "?", options: [], expiresAt: null });
  await store.queueInput(lease, "message");
  const ended = await store.endTurn(lease, started.value.id, okTurnEnd);
  store.db.call = call;
  expect(calls.length).toBeGreaterThan(6);
  const stored = await store.events(session.id, 0);
  const published = [...started.events, ...added.events, ...asked.events, ...ended.events].map(({ type, seq }) => [type, seq]);
  expect(stored.filter(({ type }) => type !== "queue.changed").map(({ type, seq }) => [type, seq])).toEqual(published as never);
  expect(stored.map(({ type }) => type)).toEqual(["turn.started", "node.added", "node.added", "ask.opened", "queue.changed", "turn.ended"]);
});
