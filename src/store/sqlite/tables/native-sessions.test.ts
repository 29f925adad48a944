// Tests which native session of an external agent a turn resumes or forks.
import { expect, test } from "bun:test";
import { agentNode, okTurnEnd, newSession, newTurn, userNode } from "../../fixtures/samples.ts";
import { openStore } from "../sqlite-store.ts";
import type { Store } from "../../store.ts";

const claude = { ...newTurn(), agent: "claude", native: { canFork: true } };

const openMemoryStore = () => openStore({ path: ":memory:", outputsDir: null });

async function newClaudeSession(store: Store): Promise<string> {
  return (await store.createSession(newSession({ agent: "claude" }))).id;
}

type Outcome = { status?: "ok" | "auth"; nativeId?: string | null; agent?: string; canFork?: boolean };

/** Runs one turn to its end. Returns its native start and the session's new tip. */
async function takeTurn(store: Store, session: string, outcome: Outcome = {}) {
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
  const store = await openMemoryStore();
  expect((await takeTurn(store, await newClaudeSession(store), { nativeId: "a" })).native).toBe(null);
});

test("a turn resumes the native session that ended at its node", async () => {
  const store = await openMemoryStore();
  const session = await newClaudeSession(store);
  await takeTurn(store, session, { nativeId: "a" });
  expect((await takeTurn(store, session)).native).toEqual({ how: "resume", id: "a" });
  expect((await takeTurn(store, session)).native).toEqual({ how: "resume", id: "a" });
});

test("after a turn of another agent the next turn starts a new native session", async () => {
  const store = await openMemoryStore();
  const session = await newClaudeSession(store);
  await takeTurn(store, session, { nativeId: "a" });
  expect((await takeTurn(store, session, { agent: "codex", nativeId: "c" })).native).toBe(null);
  expect((await takeTurn(store, session)).native).toBe(null);
});

test("a native session that is being forked is forked again, so that nothing is added while it is read", async () => {
  const store = await openMemoryStore();
  const session = await newClaudeSession(store);
  const { tip } = await takeTurn(store, session, { nativeId: "a" });
  const fork = await store.forkSession(session, tip, { name: null });
  const lease = await store.acquire(fork.id);
  const { value, native } = await store.startTurn(lease, { ...claude, prompt: userNode("on the fork") });
  expect(native).toEqual({ how: "fork", id: "a" });
  expect((await takeTurn(store, session, { nativeId: "c" })).native).toEqual({ how: "fork", id: "a" });
  await store.endTurn(lease, value.id, okTurnEnd);
});

test("with two sessions at one node the next turn forks the native session, and a turn of the other session resumes it", async () => {
  const store = await openMemoryStore();
  const session = await newClaudeSession(store);
  const { tip } = await takeTurn(store, session, { nativeId: "a" });
  const fork = await store.forkSession(session, tip, { name: null });
  expect((await takeTurn(store, fork.id, { nativeId: "b" })).native).toEqual({ how: "fork", id: "a" });
  expect((await takeTurn(store, session)).native).toEqual({ how: "resume", id: "a" });
  expect((await takeTurn(store, fork.id)).native).toEqual({ how: "resume", id: "b" });
});

test("an agent that can't fork resumes in the first of two sessions at one node, and starts anew in the second", async () => {
  const store = await openMemoryStore();
  const session = await newClaudeSession(store);
  const { tip } = await takeTurn(store, session, { nativeId: "a", canFork: false });
  const fork = await store.forkSession(session, tip, { name: null });
  expect((await takeTurn(store, fork.id, { canFork: false })).native).toEqual({ how: "resume", id: "a" });
  expect((await takeTurn(store, session, { canFork: false })).native).toBe(null);
});

test("a fork at an earlier node starts a new native session, because the old one has later nodes", async () => {
  const store = await openMemoryStore();
  const session = await newClaudeSession(store);
  const { tip } = await takeTurn(store, session, { nativeId: "a" });
  await takeTurn(store, session);
  const fork = await store.forkSession(session, tip, { name: null });
  expect((await takeTurn(store, fork.id)).native).toBe(null);
});

test("after a failed turn the native session is resumed, with the node after which it may be incomplete", async () => {
  const store = await openMemoryStore();
  const session = await newClaudeSession(store);
  const good = await takeTurn(store, session, { nativeId: "a" });
  await takeTurn(store, session, { status: "auth" });
  await takeTurn(store, session, { status: "auth" });
  expect((await takeTurn(store, session)).native).toEqual({ how: "resume", id: "a", mayLack: { nodesAfter: good.tip } });
});

test("a native session that began with a failed turn is resumed as possibly empty", async () => {
  const store = await openMemoryStore();
  const session = await newClaudeSession(store);
  await takeTurn(store, session, { nativeId: "a" });
  await takeTurn(store, session, { agent: "other", nativeId: "b", status: "auth" });
  expect((await takeTurn(store, session, { agent: "other" })).native).toEqual({ how: "resume", id: "b", mayLack: { nodesAfter: null } });
});
