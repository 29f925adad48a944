// Conformance of every store: questions, queued messages, running turns and sub-sessions.
import { expect, test } from "bun:test";
import { zeroSpent } from "../../protocol/tree/usage.ts";
import { beginTurn, faultCode } from "../fixtures/begin-turn.ts";
import { agentNode, okTurnEnd, newSession, newTurn, usage, userNode } from "../fixtures/samples.ts";
import type { Store } from "../store.ts";

export function describeControl(store: () => Store): void {
  const question = { call: "c1", question: "Which?", options: ["a", "b"], expiresAt: null };

  test("opening and closing a question are events, also for later readers", async () => {
    const { session, lease, turn } = await beginTurn(store());
    const opened = await store().openAsk(lease, turn.id, question);
    expect(opened.value).toMatchObject({ session: session.id, turn: turn.id, question: "Which?", options: ["a", "b"], closedAt: null });
    const closed = await store().closeAsk(lease, opened.value.id, { outcome: "answered", answer: "b" });
    expect(closed.value).toMatchObject({ outcome: "answered", answer: "b" });
    const events = await store().events(session.id, 0);
    expect(events.slice(-2)).toEqual([...opened.events, ...closed.events]);
    expect(await faultCode(store().closeAsk(lease, opened.value.id, { outcome: "expired" }))).toBe("ask-closed");
  });

  test("an open question is found by id and by tail, and stays open after its turn has ended", async () => {
    const { lease, turn } = await beginTurn(store());
    const { value: ask } = await store().openAsk(lease, turn.id, question);
    await store().endTurn(lease, turn.id, okTurnEnd);
    expect(await store().findAsk(ask.id)).toEqual(ask);
    expect(await store().findAsk(ask.id.slice(-8))).toEqual(ask);
    expect((await store().asks(null)).map(({ id }) => id)).toEqual([ask.id]);
    expect(await faultCode(store().findAsk("ffff"))).toBe("ask-unknown");
    await store().closeAsk(lease, ask.id, { outcome: "left" });
    expect(await store().asks(null)).toEqual([]);
    expect((await store().asks(ask.session)).map(({ outcome }) => outcome)).toEqual(["left"]);
  });

  test("the prompt of each turn is found, and that of a session's tip, also in a fork and after a move back", async () => {
    const { session, lease, turn } = await beginTurn(store());
    const { value: answer } = await store().appendNode(lease, turn.id, agentNode("one"));
    await store().endTurn(lease, turn.id, okTurnEnd);
    const { value: second } = await store().startTurn(lease, newTurn(userNode("second")));
    await store().endTurn(lease, second.id, okTurnEnd);
    const { value: resumed } = await store().startTurn(lease, newTurn(null));
    const other = await beginTurn(store());
    expect(Object.fromEntries(await store().prompts([turn.id, second.id, resumed.id, other.turn.id]))).toEqual({
      [turn.id]: "please",
      [second.id]: "second",
      [other.turn.id]: "please",
    });
    const forked = await store().forkSession(session.id, answer.id, { name: null });
    const empty = await store().createSession(newSession());
    expect(Object.fromEntries(await store().latestPrompts([session.id, forked.id, empty.id]))).toEqual({
      [session.id]: "second",
      [forked.id]: "please",
    });
    await store().updateSession(session.id, { tip: answer.id });
    expect(Object.fromEntries(await store().latestPrompts([session.id]))).toEqual({ [session.id]: "please" });
  });

  test("a message is queued until a turn takes it, and is taken once", async () => {
    const { session, lease, turn } = await beginTurn(store());
    const first = await store().queueInput(lease, "one");
    await store().queueInput(lease, "two");
    expect((await store().queue(session.id)).map(({ text }) => text)).toEqual(["one", "two"]);
    const taken = await store().takeInputs(lease, turn.id);
    expect(taken.value.map((node) => node.parts)).toEqual([[{ kind: "text", text: "one" }], [{ kind: "text", text: "two" }]]);
    expect(taken.events.map(({ type }) => type)).toEqual(["node.added", "node.added", "queue.changed"]);
    expect(await store().queue(session.id)).toEqual([]);
    expect((await store().takeInputs(lease, turn.id)).value).toEqual([]);
    const events = await store().events(session.id, first.events[0]!.seq - 1);
    expect(events.map((event) => (event.type === "queue.changed" ? event.queue.map(({ text }) => text) : event.type))).toEqual([
      ["one"],
      ["one", "two"],
      "node.added",
      "node.added",
      [],
    ]);
    expect(events.slice(-3)).toEqual(taken.events);
  });

  test("a message can be withdrawn while it is queued, without any other", async () => {
    const { session, lease, turn } = await beginTurn(store());
    const { value: first } = await store().queueInput(lease, "one");
    const { value: second } = await store().queueInput(lease, "two");
    const dropped = await store().dropInput(lease, first.id);
    expect(dropped).toMatchObject({ value: { text: "one" }, events: [{ type: "queue.changed", queue: [{ text: "two" }] }] });
    expect(await store().dropInput(lease, first.id)).toEqual({ value: null, events: [] });
    await store().takeInputs(lease, turn.id);
    expect((await store().dropInput(lease, second.id)).value).toBeNull();
    expect((await store().sessionPath(session.id)).flatMap(({ parts }) => parts).at(-1)).toEqual({
      kind: "text",
      text: "two",
    });
  });

  test("a queued message can become the prompt of a turn", async () => {
    const { session, lease, turn } = await beginTurn(store());
    const { value: later } = await store().queueInput(lease, "later");
    await store().endTurn(lease, turn.id, okTurnEnd);
    const prompt = { author: "user" as const, parts: [{ kind: "text" as const, text: "later" }] };
    const { agent, model, policy, enforced } = turn;
    const started = await store().startTurn(lease, { agent, model, policy, enforced, prompt, fromQueue: later.id });
    expect(started.events.map(({ type }) => type)).toEqual(["turn.started", "node.added", "queue.changed"]);
    expect(await store().queue(session.id)).toEqual([]);
    expect((await store().events(session.id, started.events[0]!.seq - 1)).slice(1)).toEqual(started.events.slice(1));
  });

  test("running turns are listed with state and process, and ended turns only on request", async () => {
    const { session, lease, turn } = await beginTurn(store());
    await store().appendNode(lease, turn.id, agentNode("x"));
    const info = { state: "running", pid: process.pid, session: { id: session.id }, turn: { id: turn.id, steps: 1 } };
    expect(await store().listTurns(null)).toMatchObject([info]);
    await store().setState(lease, "paused");
    expect(await store().listTurns(null)).toMatchObject([{ ...info, state: "paused" }]);
    const retryAt = Date.now() + 60_000;
    await store().setState(lease, { retryAt });
    expect(await store().listTurns(null)).toMatchObject([{ ...info, retryAt }]);
    await store().setState(lease, { retryAt: Date.now() - 1 });
    expect((await store().listTurns(null))[0]).not.toHaveProperty("retryAt");
    await store().release(lease);
    expect(await store().listTurns(null)).toMatchObject([{ ...info, state: "interrupted", pid: null }]);
    const again = await store().acquire(session.id);
    await store().endTurn(again, turn.id, okTurnEnd);
    expect(await store().listTurns(null)).toEqual([]);
    expect(await store().listTurns(0)).toMatchObject([{ state: "ended", pid: null, turn: { status: "ok" } }]);
  });

  test("a session view has the path with its turns, the queue, and the open turn of a dead process", async () => {
    const { session, lease, turn } = await beginTurn(store());
    await store().appendNode(lease, turn.id, agentNode("x"));
    await store().queueInput(lease, "later");
    await store().openAsk(lease, turn.id, question);
    await store().saveDraft(lease, turn.id, { key: "text", text: "half" });
    const view = await store().sessionView(session.id);
    expect(view).toMatchObject({ session: { id: session.id, tip: view.nodes[1]!.id }, turns: [{ id: turn.id, steps: 1 }] });
    expect([view.asks.map((ask) => ask.question), view.queue.map(({ text }) => text)]).toEqual([["Which?"], ["later"]]);
    expect(view.open).toEqual({ turn: turn.id, state: "running", pid: process.pid, drafts: [{ key: "text", text: "half" }] });
    expect(await store().events(session.id, view.seq)).toEqual([]);
    await store().release(lease);
    expect((await store().sessionView(session.id)).open).toEqual({ ...view.open!, state: "interrupted", pid: null });
    const again = await store().acquire(session.id);
    await store().endTurn(again, turn.id, okTurnEnd);
    const fork = await store().forkSession(session.id, view.nodes[1]!.id, { name: null });
    expect(await store().sessionView(fork.id)).toMatchObject({ nodes: view.nodes, turns: [{ id: turn.id }], seq: 0, asks: [], open: null });
  });

  test("the spending of sub-sessions is counted once, without sessions that execute a plan", async () => {
    const { session, lease, turn } = await beginTurn(store());
    for (const [plan, costUsd] of [
      [{}, 0.5],
      [{ plan: "do it" }, 8],
    ] as const) {
      const child = await beginTurn(store(), { parentSession: session.id, ...plan });
      await store().appendNode(child.lease, child.turn.id, agentNode("y", costUsd));
      await store().endTurn(child.lease, child.turn.id, okTurnEnd);
    }
    await store().endTurn(lease, turn.id, okTurnEnd);
    expect((await store().sessionView(session.id)).below).toEqual({ usage, costUsd: 0.5 });
    expect((await store().turn(turn.id))?.below).toEqual({ usage, costUsd: 0.5 });
    expect((await store().events(session.id, 0)).at(-1)).toMatchObject({ type: "turn.ended", turn: { below: { costUsd: 0.5 } } });
    expect((await store().events(session.id, 0))[0]).not.toMatchObject({ turn: { below: {} } });
    const unrelated = await beginTurn(store());
    expect(await store().sessionView(unrelated.session.id)).toMatchObject({ below: { costUsd: 0 }, spawned: [] });
  });

  test("a session view has the sub-sessions of its turns, each with its state and the turn that spawned it", async () => {
    const { session, lease, turn } = await beginTurn(store());
    await store().appendNode(lease, turn.id, agentNode("go"));
    const spawn = () => beginTurn(store(), { parentSession: session.id, task: "count" });
    const done = await spawn();
    await store().appendNode(done.lease, done.turn.id, agentNode("x".repeat(1000) + "3 files", 0.5));
    await store().endTurn(done.lease, done.turn.id, { ...okTurnEnd, status: "network" });
    const running = await spawn();
    await store().appendNode(running.lease, running.turn.id, agentNode("so far", 0.25));
    await store().setState(running.lease, "asking");
    const died = await spawn();
    await store().release(died.lease);
    const idle = await store().createSession(newSession({ parentSession: session.id }));
    await beginTurn(store(), { parentSession: session.id, plan: "do it" });
    await beginTurn(store(), { parentSession: done.session.id });
    const view = await store().sessionView(session.id);
    const all = { turn: turn.id, task: "count", spent: zeroSpent, current: zeroSpent, said: "" };
    expect(view.spawned).toMatchObject([
      { ...all, id: done.session.id, state: "network", spent: { usage, costUsd: 0.5 }, said: expect.stringMatching(/^x{393}3 files$/) },
      { ...all, id: running.session.id, state: "asking", current: { usage, costUsd: 0.25 }, said: "so far" },
      { ...all, id: died.session.id, state: "interrupted" },
      { ...all, id: idle.id, task: idle.task ?? "", state: "running" },
    ]);
    for (const { id, seq } of view.spawned) expect(await store().events(id, seq)).toEqual([]);
    await store().endTurn(lease, turn.id, okTurnEnd);
    await Bun.sleep(2); // a session created in the same millisecond may belong to either turn
    const second = (await store().startTurn(lease, newTurn())).value;
    const later = await beginTurn(store(), { parentSession: session.id });
    const now = (await store().sessionView(session.id)).spawned;
    expect(now.map(({ id, turn: spawner, state }) => [id, spawner, state])).toEqual([
      ...view.spawned.slice(0, 3).map(({ id, state }) => [id, turn.id, state]),
      [idle.id, turn.id, "interrupted"],
      [later.session.id, second.id, "running"],
    ]);
    const fork = await store().forkSession(session.id, view.nodes.at(-1)!.id, { name: null });
    expect((await store().sessionView(fork.id)).spawned.map(({ id }) => id)).toEqual(view.spawned.map(({ id }) => id));
  });

  test("an open turn with a budget has its remaining budget, without the spending of earlier turns", async () => {
    const { session, lease, turn } = await beginTurn(store());
    await store().appendNode(lease, turn.id, agentNode("before", 0.5));
    await store().endTurn(lease, turn.id, okTurnEnd);
    await Bun.sleep(2); // the spending of turns is divided by their start time
    const budget = { maxTokens: 1000, maxBudgetUsd: 0.6 };
    const { value: limited } = await store().startTurn(lease, { ...newTurn(), budget });
    const child = await beginTurn(store(), { parentSession: session.id });
    const remaining = async () => (await store().listTurns(0)).map((info) => [info.turn.id, info.left]);
    expect(await remaining()).toEqual([
      [child.turn.id, undefined],
      [limited.id, { tokens: 1000, costUsd: 0.6 }],
      [turn.id, undefined],
    ]);
    await store().appendNode(lease, limited.id, agentNode("x", 0.25));
    await store().appendNode(child.lease, child.turn.id, agentNode("y", 0.25));
    expect((await remaining())[1]).toEqual([limited.id, { tokens: 1000 - 2 * 127, costUsd: expect.closeTo(0.1) }]);
    await store().endTurn(child.lease, child.turn.id, okTurnEnd);
    await store().appendNode(lease, limited.id, agentNode("z", 0.25));
    expect((await remaining())[0]).toEqual([limited.id, { tokens: 1000 - 3 * 127, costUsd: 0 }]);
    await store().endTurn(lease, limited.id, okTurnEnd);
    expect((await remaining()).map(([, budget]) => budget)).toEqual([undefined, undefined, undefined]);
  });

  test("latestTurnsBy returns an agent's latest turn of each session, and subSessions the spending of each", async () => {
    const opened = store();
    const startTurn = async (agent: string, change: Parameters<typeof beginTurn>[1] = {}) => {
      const session = await opened.createSession(newSession(change));
      const lease = await opened.acquire(session.id);
      const { value: turn } = await opened.startTurn(lease, { ...newTurn(), agent });
      return { session, lease, turn };
    };
    const first = await startTurn("team");
    await opened.endTurn(first.lease, first.turn.id, okTurnEnd);
    const { value: again } = await opened.startTurn(first.lease, { ...newTurn(), agent: "team" });
    const other = await startTurn("team", { project: "/other" });
    await startTurn("native");
    const ids = async (filter: Parameters<Store["latestTurnsBy"]>[1]) =>
      (await opened.latestTurnsBy("team", filter)).map(({ turn }) => turn.id);
    expect(await ids({})).toEqual([other.turn.id, again.id]);
    expect(await ids({ project: "/project" })).toEqual([again.id]);
    expect(await ids({ session: other.session.id })).toEqual([other.turn.id]);
    expect(await ids({ limit: 1 })).toEqual([other.turn.id]);

    const child = await startTurn("native", { parentSession: first.session.id });
    await opened.appendNode(child.lease, child.turn.id, agentNode("x", 0.5));
    const grandchild = await startTurn("native", { parentSession: child.session.id });
    const { value: closed } = await opened.endTurn(grandchild.lease, grandchild.turn.id, okTurnEnd);
    await startTurn("native", { parentSession: first.session.id, plan: "apart" });
    expect(await opened.subSessions(first.session.id)).toEqual([
      {
        session: child.session.id,
        parent: first.session.id,
        spent: { usage, costUsd: 0.5 },
        steps: 1,
        startedAt: child.turn.startedAt,
        endedAt: null,
      },
      {
        session: grandchild.session.id,
        parent: child.session.id,
        spent: zeroSpent,
        steps: 0,
        startedAt: grandchild.turn.startedAt,
        endedAt: closed.endedAt,
      },
    ]);
  });
}
