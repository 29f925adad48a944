// The conformance suite of every store. A test file gives the store a name and a function that opens it.
import { quarterHourMs } from "../../protocol/tree/usage.ts";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { beginTurn, faultCode } from "../fixtures/begin-turn.ts";
import { agentNode, okTurnEnd, sampleNodes, newSession, newTurn, usage, userNode } from "../fixtures/samples.ts";
import { describeControl } from "./control.ts";
import { describeImports } from "./imports.ts";
import { describeFiles } from "./files.ts";
import { describeHistory } from "./history.ts";
import { describeOutputs, describeSearch } from "./outputs.ts";
import { describePending } from "./pending.ts";
import type { Store } from "../store.ts";

/** `close` closes the store and removes its files. */
export type OpenedStore = { store: Store; close: () => Promise<void> };

export function describeStore(name: string, open: () => Promise<OpenedStore>): void {
  describe(name, () => {
    let opened: OpenedStore | null = null;
    beforeEach(async () => {
      opened = await open();
    });
    afterEach(async () => {
      await opened?.close();
      opened = null;
    });
    const store = () => opened!.store;
    describeSessions(store);
    describeMoves(store);
    describeLeases(store);
    describeNodes(store);
    describeTurns(store);
    describeControl(store);
    describePending(store);
    describeImports(store);
    describeOutputs(store);
    describeSearch(store);
    describeHistory(store);
    describeFiles(store);
  });
}

function describeSessions(store: () => Store): void {
  test("a session is returned as it was created", async () => {
    const session = await store().createSession(newSession({ name: "one" }));
    expect(session).toMatchObject({ ...newSession({ name: "one" }), tip: null, forkedFrom: null, archivedAt: null });
    expect(await store().session(session.id)).toEqual(session);
    expect(await store().session("0")).toBeNull();
  });

  test("a session keeps a given id, and no other session can have it", async () => {
    const id = Bun.randomUUIDv7();
    expect((await store().createSession(newSession({ id }))).id).toBe(id);
    expect(await faultCode(store().createSession(newSession({ id })))).toBe("session-exists");
  });

  test("a name is unique in a project, and free again when its session is archived", async () => {
    const first = await store().createSession(newSession({ name: "one" }));
    expect(await faultCode(store().createSession(newSession({ name: "one" })))).toBe("session-exists");
    await store().createSession(newSession({ name: "one", project: "/other" }));
    await store().updateSession(first.id, { archivedAt: 5 });
    const second = await store().createSession(newSession({ name: "one" }));
    expect((await store().findSession("one", "/project")).id).toBe(second.id);
    expect(await faultCode(store().updateSession(first.id, { archivedAt: null }))).toBe("session-exists");
  });

  test("a name has a visible character", async () => {
    const session = await store().createSession(newSession({ name: "one" }));
    for (const name of ["", " ", "\t", "\u200b"]) {
      expect(await faultCode(store().createSession(newSession({ name })))).toBe("usage");
      expect(await faultCode(store().updateSession(session.id, { name }))).toBe("usage");
    }
  });

  test("an archived session can't be acquired until it is restored", async () => {
    const { id } = await store().createSession(newSession({ name: "one" }));
    await store().updateSession(id, { archivedAt: 5 });
    expect(await faultCode(store().acquire(id))).toBe("session-archived");
    await store().updateSession(id, { archivedAt: null });
    await store().release(await store().acquire(id));
  });

  test("a session is found by id, by tail and by name, in the project first", async () => {
    const here = await store().createSession(newSession({ name: "fix" }));
    const there = await store().createSession(newSession({ name: "fix", project: "/other" }));
    expect((await store().findSession(here.id, null)).id).toBe(here.id);
    expect((await store().findSession(here.id.toUpperCase(), null)).id).toBe(here.id);
    expect((await store().findSession(here.id.slice(-8), null)).id).toBe(here.id);
    expect((await store().findSession(there.id.slice(-20), null)).id).toBe(there.id);
    expect((await store().findSession("fix", "/other")).id).toBe(there.id);
    expect(await faultCode(store().findSession("fix", null))).toBe("session-ambiguous");
    expect(await faultCode(store().findSession("nothing", null))).toBe("session-unknown");
    expect(await faultCode(store().findSession(here.id.slice(-3), null))).toBe("session-unknown");
  });

  test("a tail that two sessions share is refused, and a longer one is accepted", async () => {
    const ids = ["0190-aaaa-1beef", "0190-aaaa-2beef"];
    for (const id of ids) await store().createSession(newSession({ id }));
    expect(await faultCode(store().findSession("beef", null))).toBe("session-ambiguous");
    expect((await store().findSession("2beef", null)).id).toBe(ids[1]!);
  });

  test("a list has a project's sessions, newest first, without sub-sessions and archived ones", async () => {
    const [a, b] = [await store().createSession(newSession()), await store().createSession(newSession())];
    const child = await store().createSession(newSession({ parentSession: a.id }));
    const gone = await store().createSession(newSession());
    await store().createSession(newSession({ project: "/other" }));
    await store().updateSession(gone.id, { archivedAt: 5 });
    const ids = async (filter: Parameters<Store["listSessions"]>[0]) => (await store().listSessions(filter)).map((session) => session.id);
    expect(await ids({ project: "/project" })).toEqual([b.id, a.id]);
    expect(await ids({ project: "/project", limit: 1 })).toEqual([b.id]);
    expect(await ids({ project: "/project", archived: true })).toEqual([gone.id]);
    expect(await ids({ project: "/project", subSessions: true })).toEqual([child.id, b.id, a.id]);
    expect(await ids({ project: null })).toHaveLength(3);
  });

  test("a session that executes a plan keeps it, is listed beside its planner, and passes it to its forks", async () => {
    const { session: planner, lease, turn } = await beginTurn(store());
    const node = (await store().appendNode(lease, turn.id, agentNode("a"))).value;
    expect((await store().session(planner.id))?.plan).toBeUndefined();
    const session = await store().createSession(newSession({ parentSession: planner.id, plan: "1. look\n" }));
    expect(await store().session(session.id)).toMatchObject({ parentSession: planner.id, plan: "1. look\n" });
    expect((await store().listSessions({ project: "/project" })).map((session) => session.id)).toEqual([session.id, planner.id]);
    expect((await store().forkSession(planner.id, node.id, { name: null })).plan).toBeUndefined();
    const own = await beginTurn(store(), { plan: "2. do" });
    const at = (await store().appendNode(own.lease, own.turn.id, agentNode("b"))).value;
    expect((await store().forkSession(own.session.id, at.id, { name: null })).plan).toBe("2. do");
    expect((await store().updateSession(own.session.id, { name: "x" })).plan).toBe("2. do");
  });
}

function describeMoves(store: () => Store): void {
  test("a session moves within its tree only", async () => {
    const { session, lease, turn } = await beginTurn(store());
    const first = (await store().appendNode(lease, turn.id, agentNode("a"))).value;
    await store().appendNode(lease, turn.id, agentNode("b"));
    const moved = await store().updateSession(session.id, { tip: first.id, name: "moved", transcript: "/t.jsonl" });
    expect(moved).toMatchObject({ tip: first.id, name: "moved", transcript: "/t.jsonl" });
    expect((await store().appendNode(lease, turn.id, agentNode("c"))).value.parent).toBe(first.id);
    expect(await store().children(first.id)).toHaveLength(2);
    const other = await beginTurn(store());
    expect(await faultCode(store().updateSession(other.session.id, { tip: first.id }))).toBe("node-unknown");
    expect(await faultCode(store().updateSession("none", { name: "x" }))).toBe("session-unknown");
  });

  test("a fork copies no nodes", async () => {
    const { session, lease, turn } = await beginTurn(store());
    const first = (await store().appendNode(lease, turn.id, agentNode("a"))).value;
    await store().appendNode(lease, turn.id, agentNode("b"));
    const before = await store().treeNodes(session.tree);
    const fork = await store().forkSession(session.id, first.id, { name: "side" });
    expect(fork).toMatchObject({ tip: first.id, tree: session.tree, name: "side", forkedFrom: { session: session.id, node: first.id } });
    expect(await store().treeNodes(session.tree)).toEqual(before);
    const own = await store().acquire(fork.id);
    const added = (await store().appendNode(own, null, userNode("other way"))).value;
    expect((await store().path(added.id)).slice(0, 2)).toEqual(before.slice(0, 2));
    expect((await store().sessionNodes(fork.id)).map((node) => node.id)).toEqual([added.id]);
    expect((await store().session(session.id))?.tip).toBe(before.at(-1)!.id);
    expect(await faultCode(store().forkSession(session.id, "none", { name: null }))).toBe("node-unknown");
  });
}

function describeLeases(store: () => Store): void {
  test("a session has one writer at a time, and another after a release", async () => {
    const { session, lease } = await beginTurn(store());
    expect(await faultCode(store().acquire(session.id))).toBe("session-busy");
    expect(await store().holder(session.id)).toMatchObject({ pid: process.pid, namedPid: process.pid });
    await store().release(lease);
    expect(await store().holder(session.id)).toBeNull();
    const next = await store().acquire(session.id);
    expect(next.epoch).toBeGreaterThan(lease.epoch);
    await store().release(lease);
    expect(await faultCode(store().acquire(session.id))).toBe("session-busy");
    expect(await faultCode(store().acquire("none"))).toBe("session-unknown");
  });

  test("nothing can be written under a lost lease", async () => {
    const { session, lease, turn } = await beginTurn(store());
    await store().release(lease);
    await store().acquire(session.id);
    const before = await store().events(session.id, 0);
    expect(await faultCode(store().appendNode(lease, turn.id, agentNode("late")))).toBe("lease-lost");
    expect(await faultCode(store().saveDraft(lease, turn.id, { key: "text", text: "late" }))).toBe("lease-lost");
    expect(await faultCode(store().endTurn(lease, turn.id, okTurnEnd))).toBe("lease-lost");
    expect(await faultCode(store().startTurn(lease, newTurn()))).toBe("lease-lost");
    expect(await store().events(session.id, 0)).toEqual(before);
    expect(await store().drafts(turn.id)).toEqual([]);
  });
}

function describeNodes(store: () => Store): void {
  test("every kind of node is returned as it was written, below its parent", async () => {
    const { session, lease, turn } = await beginTurn(store());
    const prompt = (await store().session(session.id))!.tip!;
    const written = [];
    for (const node of sampleNodes) written.push((await store().appendNode(lease, turn.id, node)).value);
    for (const [index, node] of written.entries()) {
      expect(node).toMatchObject({
        ...sampleNodes[index]!,
        parent: written[index - 1]?.id ?? prompt,
        session: session.id,
        tree: session.tree,
        turn: turn.id,
      });
      expect(await store().node(node.id)).toEqual(node);
    }
    expect((await store().path(written.at(-1)!.id)).slice(1)).toEqual(written);
    expect(await store().children(prompt)).toEqual([written[0]!]);
    expect((await store().sessionNodes(session.id)).slice(1)).toEqual(written);
    expect(await store().sessionNodesFrom(session.id, written[1]!.id)).toEqual(written.slice(1));
    expect(await store().sessionNodesFrom(session.id, "none")).toEqual(await store().sessionNodes(session.id));
    expect((await store().session(session.id))?.tip).toBe(written.at(-1)!.id);
    expect(await store().node("none")).toBeNull();
  });

  test("the end of a path begins with its last answer, also of a fork's original", async () => {
    const { session, lease, turn } = await beginTurn(store());
    expect(await store().sessionPathEnd(session.id)).toEqual(await store().sessionPath(session.id));
    await store().appendNode(lease, turn.id, agentNode("first"));
    const last = (await store().appendNode(lease, turn.id, agentNode("last"))).value;
    expect(await store().sessionPathEnd(session.id)).toEqual([last]);
    const fork = await store().forkSession(session.id, last.id, { name: null });
    const added = (await store().appendNode(await store().acquire(fork.id), null, userNode("more"))).value;
    expect(await store().sessionPathEnd(fork.id)).toEqual([last, added]);
    const empty = await store().createSession(newSession());
    expect(await store().sessionPathEnd(empty.id)).toEqual([]);
  });

  test("a node is found by id and by tail", async () => {
    const { lease, turn } = await beginTurn(store());
    const node = (await store().appendNode(lease, turn.id, agentNode("a"))).value;
    expect(await store().findNode(node.id)).toEqual(node);
    expect(await store().findNode(node.id.slice(-8).toUpperCase())).toEqual(node);
    expect(await faultCode(store().findNode("zzzz"))).toBe("node-unknown");
    expect(await faultCode(store().path("none"))).toBe("node-unknown");
  });

  test("the path of a node is correct among many branches", async () => {
    const { session, lease, turn } = await beginTurn(store());
    const ids: string[] = [];
    for (let index = 0; index < 60; index++) {
      const tip = (await store().appendNode(lease, turn.id, userNode(`main ${index}`))).value.id;
      ids.push(tip);
      for (let side = 0; side < index % 7; side++) {
        await store().appendNode(lease, turn.id, userNode("side"));
        await store().updateSession(session.id, { tip });
      }
    }
    expect((await store().path(ids.at(-1)!)).slice(1).map((node) => node.id)).toEqual(ids);
  });
}

function describeTurns(store: () => Store): void {
  test("a turn sums up the usage and cost of its nodes", async () => {
    const { lease, turn } = await beginTurn(store());
    expect(turn).toMatchObject({ steps: 0, costUsd: 0, endedAt: null, status: null, parent: null });
    await store().appendNode(lease, turn.id, agentNode("a"));
    const last = (await store().appendNode(lease, turn.id, agentNode("b"))).value;
    await store().appendNode(lease, turn.id, {
      ...agentNode("c"),
      usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
      costUsd: null,
    });
    expect(await store().turn(turn.id)).toMatchObject({
      steps: 3,
      costUsd: 0.5,
      usage: { input: 200, output: 40, cacheRead: 10, cacheWrite: 14 },
    });
    await store().appendNode(lease, turn.id, agentNode("d", null));
    expect(await store().turn(turn.id)).toMatchObject({ steps: 4, costUsd: 0.5, costIsPartial: true });
    expect(last.usage).toEqual(usage);
  });

  test("a turn ends once, with its status and error", async () => {
    const { session, lease, turn } = await beginTurn(store());
    expect((await store().openTurns(session.id)).map((open) => open.id)).toEqual([turn.id]);
    const error = { kind: "budget" as const, message: "too much", limit: "money" as const };
    const ended = (await store().endTurn(lease, turn.id, { status: "budget", error, nativeId: "n1", enforced: null })).value;
    expect(ended).toMatchObject({ status: "budget", error, nativeId: "n1" });
    expect(await store().turnsOf(session.id)).toEqual([ended]);
    expect(await store().openTurns(session.id)).toEqual([]);
    expect(await faultCode(store().endTurn(lease, turn.id, okTurnEnd))).toBe("internal");
    expect(await faultCode(store().appendNode(lease, turn.id, agentNode("late")))).toBe("internal");
  });

  test("stored events equal the events that were published", async () => {
    const { session, lease, turn, events } = await beginTurn(store());
    const published = [...events];
    for (const node of sampleNodes) published.push(...(await store().appendNode(lease, turn.id, node)).events);
    published.push(...(await store().endTurn(lease, turn.id, okTurnEnd)).events);
    published.push(...(await store().appendNode(lease, null, userNode("outside"))).events);
    expect(await store().events(session.id, 0)).toEqual(published);
    expect(await store().events(session.id, 3)).toEqual(published.slice(3));
    expect(published.map((event) => event.seq)).toEqual(published.map((_, index) => index + 1));
    expect(published[0]).toMatchObject({ type: "turn.started", turnId: turn.id, turn: { endedAt: null, tip: null } });
  });

  test("a turn without a prompt continues at the tip", async () => {
    const { session, lease, turn } = await beginTurn(store());
    await store().endTurn(lease, turn.id, okTurnEnd);
    const tip = (await store().session(session.id))!.tip;
    const next = await store().startTurn(lease, newTurn(null));
    expect(next.value).toMatchObject({ parent: tip, tip: null });
    expect(next.events).toHaveLength(1);
  });

  test("a draft is stored until a node completes it", async () => {
    const { lease, turn } = await beginTurn(store());
    const save = (key: string, text: string) => store().saveDraft(lease, turn.id, { key, text });
    await save("text", "He");
    await save("text", "Hello \u0000 ü");
    await save("thinking", "hm");
    await save("c1", "one");
    await save("c2", "two");
    expect(await store().drafts(turn.id)).toContainEqual({ key: "text", text: "Hello \u0000 ü" });
    await store().appendNode(lease, turn.id, agentNode("Hello"));
    expect((await store().drafts(turn.id)).map((draft) => draft.key).sort()).toEqual(["c1", "c2"]);
    await store().appendNode(lease, turn.id, {
      author: "tool",
      parts: [{ kind: "result", call: "c1", name: "bash", text: "one", isError: false }],
    });
    expect(await store().drafts(turn.id)).toEqual([{ key: "c2", text: "two" }]);
  });

  test("the bill is broken down by agent, model, project and day", async () => {
    const one = await beginTurn(store());
    await store().appendNode(one.lease, one.turn.id, agentNode("a"));
    const two = await beginTurn(store(), { project: "/other" });
    await store().appendNode(two.lease, two.turn.id, agentNode("b", null));
    const sums = {
      turns: 2,
      usage: { input: 200, output: 40, cacheRead: 10, cacheWrite: 14 },
      costUsd: 0.25,
      costIsPartial: true as const,
      unpriced: 1,
    };
    expect(await store().usage("agent", null)).toEqual([{ key: "native", ...sums }]);
    expect(await store().usage("model", null)).toEqual([{ key: "replay/one", ...sums }]);
    expect((await store().usage("day", null))[0]?.key).toMatch(/^\d{4}-\d\d-\d\d$/);
    expect(await store().usage("project", null)).toHaveLength(2);
    const other = { key: "/other", turns: 1, usage, costUsd: 0, costIsPartial: true as const, unpriced: 1 };
    expect(await store().usage("project", "/other")).toEqual([other]);
    const [point, ...more] = await store().usageSeries({ by: "agent", since: null, project: null });
    expect(point!.key).toBe("native");
    expect([point!.at % quarterHourMs, point!.at <= one.turn.startedAt]).toEqual([0, true]);
    expect([point!, ...more].reduce((turns, each) => turns + each.turns, 0)).toBe(2);
    expect(await store().usageSeries({ by: "agent", since: two.turn.startedAt + 1, project: null })).toEqual([]);
  });
}
