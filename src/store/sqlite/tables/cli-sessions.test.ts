// Tests which session of an external CLI a turn resumes or forks.
import { expect, test } from "bun:test";
import { agentNode, okTurnEnd, newSession, newTurn, userNode } from "../../fixtures/samples.ts";
import { openStore } from "../sqlite-store.ts";
import type { TurnStatus } from "../../../protocol/api/error.ts";
import type { Store } from "../../store.ts";

const claude = { ...newTurn(), agent: "claude", cliSessions: { canFork: true } };

const openMemoryStore = () => openStore({ path: ":memory:", outputsDir: null });

async function newClaudeSession(store: Store): Promise<string> {
  return (await store.createSession(newSession({ agent: "claude" }))).id;
}

type Outcome = { status?: TurnStatus; nativeId?: string | null; agent?: string; canFork?: boolean; isAnswered?: boolean };

/** Runs one turn to its end. Returns the CLI session that it got and the session's new tip. */
async function takeTurn(store: Store, session: string, outcome: Outcome = {}) {
  const { status = "ok", nativeId = null, agent: name = "claude", canFork = true, isAnswered = status === "ok" } = outcome;
  const lease = await store.acquire(session);
  const { value, cliSession } = await store.startTurn(lease, {
    ...claude,
    agent: name,
    cliSessions: { canFork },
    prompt: userNode("do it"),
  });
  if (nativeId !== null) await store.recordNativeId(lease, value.id, nativeId);
  if (isAnswered) await store.appendNode(lease, value.id, agentNode("done"));
  await store.endTurn(lease, value.id, { ...okTurnEnd, status, nativeId: null });
  await store.release(lease);
  const { tip } = (await store.session(session))!;
  return { cliSession, tip: tip! };
}

test("the first turn starts a new CLI session", async () => {
  const store = await openMemoryStore();
  expect((await takeTurn(store, await newClaudeSession(store), { nativeId: "a" })).cliSession).toBe(null);
});

test("a turn resumes the CLI session that ended at its node", async () => {
  const store = await openMemoryStore();
  const session = await newClaudeSession(store);
  await takeTurn(store, session, { nativeId: "a" });
  expect((await takeTurn(store, session)).cliSession).toEqual({ how: "resume", id: "a" });
  expect((await takeTurn(store, session)).cliSession).toEqual({ how: "resume", id: "a" });
});

test("after a turn of another agent the next turn starts a new CLI session", async () => {
  const store = await openMemoryStore();
  const session = await newClaudeSession(store);
  await takeTurn(store, session, { nativeId: "a" });
  expect((await takeTurn(store, session, { agent: "codex", nativeId: "c" })).cliSession).toBe(null);
  expect((await takeTurn(store, session)).cliSession).toBe(null);
});

test("a CLI session that is being forked is forked again, so that nothing is added while it is read", async () => {
  const store = await openMemoryStore();
  const session = await newClaudeSession(store);
  const { tip } = await takeTurn(store, session, { nativeId: "a" });
  const fork = await store.forkSession(session, tip, { name: null });
  const lease = await store.acquire(fork.id);
  const { value, cliSession } = await store.startTurn(lease, { ...claude, prompt: userNode("on the fork") });
  expect(cliSession).toEqual({ how: "fork", id: "a" });
  expect((await takeTurn(store, session, { nativeId: "c" })).cliSession).toEqual({ how: "fork", id: "a" });
  await store.endTurn(lease, value.id, okTurnEnd);
});

test("with two sessions at one node the next turn forks the CLI session, and a turn of the other session resumes it", async () => {
  const store = await openMemoryStore();
  const session = await newClaudeSession(store);
  const { tip } = await takeTurn(store, session, { nativeId: "a" });
  const fork = await store.forkSession(session, tip, { name: null });
  expect((await takeTurn(store, fork.id, { nativeId: "b" })).cliSession).toEqual({ how: "fork", id: "a" });
  expect((await takeTurn(store, session)).cliSession).toEqual({ how: "resume", id: "a" });
  expect((await takeTurn(store, fork.id)).cliSession).toEqual({ how: "resume", id: "b" });
});

test("an agent that can't fork resumes in the first of two sessions at one node, and starts anew in the second", async () => {
  const store = await openMemoryStore();
  const session = await newClaudeSession(store);
  const { tip } = await takeTurn(store, session, { nativeId: "a", canFork: false });
  const fork = await store.forkSession(session, tip, { name: null });
  expect((await takeTurn(store, fork.id, { canFork: false })).cliSession).toEqual({ how: "resume", id: "a" });
  expect((await takeTurn(store, session, { canFork: false })).cliSession).toBe(null);
});

test("a fork at an earlier node starts a new CLI session, because the old one has later nodes", async () => {
  const store = await openMemoryStore();
  const session = await newClaudeSession(store);
  const { tip } = await takeTurn(store, session, { nativeId: "a" });
  await takeTurn(store, session);
  const fork = await store.forkSession(session, tip, { name: null });
  expect((await takeTurn(store, fork.id)).cliSession).toBe(null);
});

test("after a failed turn the CLI session is resumed, with the node after which it may be incomplete", async () => {
  const store = await openMemoryStore();
  const session = await newClaudeSession(store);
  const good = await takeTurn(store, session, { nativeId: "a" });
  await takeTurn(store, session, { status: "auth" });
  await takeTurn(store, session, { status: "auth", isAnswered: true });
  expect((await takeTurn(store, session)).cliSession).toEqual({ how: "resume", id: "a", mayLack: { nodesAfter: good.tip } });
});

test("after a turn whose prompt got no answer the CLI session is resumed, with that prompt", async () => {
  const store = await openMemoryStore();
  const session = await newClaudeSession(store);
  const good = await takeTurn(store, session, { nativeId: "a" });
  const { tip: unanswered } = await takeTurn(store, session, { status: "rate-limited" });
  expect((await takeTurn(store, session)).cliSession).toEqual({ how: "resume", id: "a", mayLack: { nodesAfter: good.tip, unanswered } });
});

test("a CLI session with nothing but an unanswered prompt is not resumed", async () => {
  const store = await openMemoryStore();
  const session = await newClaudeSession(store);
  await takeTurn(store, session, { nativeId: "a", status: "overloaded" });
  expect((await takeTurn(store, session)).cliSession).toBe(null);
});

test("the prompt of a turn that was killed is sent again, because the CLI may never have read it", async () => {
  const store = await openMemoryStore();
  const session = await newClaudeSession(store);
  const good = await takeTurn(store, session, { nativeId: "a" });
  await takeTurn(store, session, { status: "killed" });
  expect((await takeTurn(store, session)).cliSession).toEqual({ how: "resume", id: "a", mayLack: { nodesAfter: good.tip } });
});

test("a CLI session that began with a failed turn is resumed as possibly empty", async () => {
  const store = await openMemoryStore();
  const session = await newClaudeSession(store);
  await takeTurn(store, session, { nativeId: "a" });
  await takeTurn(store, session, { agent: "other", nativeId: "b", status: "auth", isAnswered: true });
  expect((await takeTurn(store, session, { agent: "other" })).cliSession).toEqual({
    how: "resume",
    id: "b",
    mayLack: { nodesAfter: null },
  });
});
