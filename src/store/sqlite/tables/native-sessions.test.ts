// Where another agent's own session goes on. The rule is one query; these are the branches of it.
import { expect, test } from "bun:test";
import { agentNode, okTurnEnd, newSession, newTurn, userNode } from "../../fixtures/samples.ts";
import { openStore } from "../sqlite-store.ts";
import type { Store } from "../../store.ts";

const claude = { ...newTurn(), agent: "claude", native: { canFork: true } };

const memory = () => openStore({ path: ":memory:", outputsDir: null });

async function sessionIn(store: Store): Promise<string> {
  return (await store.createSession(newSession({ agent: "claude" }))).id;
}

type Outcome = { status?: "ok" | "auth"; nativeId?: string | null; agent?: string; canFork?: boolean };

/** One turn to its end; says how it could begin, and where it left the session. */
async function turnOn(store: Store, session: string, outcome: Outcome = {}) {
  const { status = "ok", nativeId = null, agent: name = "claude", canFork = true } = outcome;
  const lease = await store.acquire(session);
  const { value, native } = await store.startTurn(lease, { ...claude, agent: name, native: { canFork }, prompt: userNode("do it") });
  if (nativeId !== null) await store.recordNativeId(lease, value.id, nativeId);
  if (status === "ok") await store.appendNode(lease, value.id, agentNode("done"));
  await store.endTurn(lease, value.id, { ...okTurnEnd, status, nativeId: null });
  await store.release(lease);
  const { tip } = (await store.session(session))!;
  return { native, tip: tip! };
}

test("the first turn starts a new native session", async () => {
  const store = await memory();
  expect((await turnOn(store, await sessionIn(store), { nativeId: "a" })).native).toBe(null);
});

test("a turn resumes the native session that ended at its node", async () => {
  const store = await memory();
  const session = await sessionIn(store);
  await turnOn(store, session, { nativeId: "a" });
  expect((await turnOn(store, session)).native).toEqual({ how: "resume", id: "a" });
  expect((await turnOn(store, session)).native).toEqual({ how: "resume", id: "a" });
});

test("after a turn of another agent the next turn starts a new native session", async () => {
  const store = await memory();
  const session = await sessionIn(store);
  await turnOn(store, session, { nativeId: "a" });
  expect((await turnOn(store, session, { agent: "codex", nativeId: "c" })).native).toBe(null);
  expect((await turnOn(store, session)).native).toBe(null);
});

test("a native session that is being forked is forked again, so that nothing is added while it is read", async () => {
  const store = await memory();
  const session = await sessionIn(store);
  const { tip } = await turnOn(store, session, { nativeId: "a" });
  const fork = await store.forkSession(session, tip, { name: null });
  const lease = await store.acquire(fork.id);
  const { value, native } = await store.startTurn(lease, { ...claude, prompt: userNode("on the fork") });
  expect(native).toEqual({ how: "fork", id: "a" });
  expect((await turnOn(store, session, { nativeId: "c" })).native).toEqual({ how: "fork", id: "a" });
  await store.endTurn(lease, value.id, okTurnEnd);
});

test("with two sessions at one node the first forks the native session, and the original stays as it was", async () => {
  const store = await memory();
  const session = await sessionIn(store);
  const { tip } = await turnOn(store, session, { nativeId: "a" });
  const fork = await store.forkSession(session, tip, { name: null });
  expect((await turnOn(store, fork.id, { nativeId: "b" })).native).toEqual({ how: "fork", id: "a" });
  expect((await turnOn(store, session)).native).toEqual({ how: "resume", id: "a" });
  expect((await turnOn(store, fork.id)).native).toEqual({ how: "resume", id: "b" });
});

test("an agent that can't fork resumes for the first session, and starts anew for the second", async () => {
  const store = await memory();
  const session = await sessionIn(store);
  const { tip } = await turnOn(store, session, { nativeId: "a", canFork: false });
  const fork = await store.forkSession(session, tip, { name: null });
  expect((await turnOn(store, fork.id, { canFork: false })).native).toEqual({ how: "resume", id: "a" });
  expect((await turnOn(store, session, { canFork: false })).native).toBe(null);
});

test("a branch at an earlier node never gets the nodes after it", async () => {
  const store = await memory();
  const session = await sessionIn(store);
  const { tip } = await turnOn(store, session, { nativeId: "a" });
  await turnOn(store, session);
  const fork = await store.forkSession(session, tip, { name: null });
  expect((await turnOn(store, fork.id)).native).toBe(null);
});

test("after a failed turn the native session is resumed, with the node after which it may be incomplete", async () => {
  const store = await memory();
  const session = await sessionIn(store);
  const good = await turnOn(store, session, { nativeId: "a" });
  await turnOn(store, session, { status: "auth" });
  await turnOn(store, session, { status: "auth" });
  expect((await turnOn(store, session)).native).toEqual({ how: "resume", id: "a", unsure: { since: good.tip } });
});

test("a native session that began with a failed turn may be empty", async () => {
  const store = await memory();
  const session = await sessionIn(store);
  await turnOn(store, session, { nativeId: "a" });
  await turnOn(store, session, { agent: "other", nativeId: "b", status: "auth" });
  expect((await turnOn(store, session, { agent: "other" })).native).toEqual({ how: "resume", id: "b", unsure: { since: null } });
});
