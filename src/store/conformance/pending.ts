// Conformance of every store: turns that start later.
import { expect, test } from "bun:test";
import { beginTurn, faultCode } from "../fixtures/begin-turn.ts";
import { newTurn, okTurnEnd, userNode } from "../fixtures/samples.ts";
import type { NewPendingTurn, Store } from "../store.ts";

export function describePending(store: () => Store): void {
  const pending = (more: Partial<NewPendingTurn> = {}): NewPendingTurn => ({
    kind: "queued",
    request: { prompt: "later" },
    caller: { directory: "/w", trust: null },
    credential: "anthropic",
    wakeAt: null,
    giveUpAt: null,
    attempt: 0,
    ...more,
  });
  const killed = { status: "killed", error: null, nativeId: null, isInterrupted: "killed" } as const;

  test("turns are queued in order while another process runs a turn, and messages to the running turn are no part of them", async () => {
    const { session, lease, turn } = await beginTurn(store());
    const first = await store().queueTurn(session.id, pending({ request: { prompt: "one" } }));
    const second = await store().queueTurn(session.id, pending({ request: { prompt: "two" } }));
    await store().queueInput(lease, "now");
    expect([first.place, second.place]).toEqual([1, 2]);
    const listed = await store().pendingTurns(session.id);
    expect(listed.map(({ prompt, place, isSessionBusy }) => [prompt, place, isSessionBusy])).toEqual([
      ["one", 1, true],
      ["two", 2, true],
    ]);
    expect((await store().takeInputs(lease, turn.id)).value).toHaveLength(1);
    expect(await store().pendingTurns(session.id)).toEqual(listed);
    expect((await store().sessionView(session.id)).pending).toEqual(listed);
  });

  test("a pending turn starts once, under its own id", async () => {
    const { session, lease, turn } = await beginTurn(store());
    const { id } = await store().queueTurn(session.id, pending());
    await store().endTurn(lease, turn.id, okTurnEnd);
    const started = await store().startTurn(lease, { ...newTurn(userNode("later")), pending: id });
    expect(started.value.id).toBe(id);
    await store().endTurn(lease, id, okTurnEnd);
    expect(await faultCode(store().startTurn(lease, { ...newTurn(userNode("later")), pending: id }))).toBe("pending-unknown");
    expect(await store().pendingTurns(null)).toEqual([]);
    expect((await store().turnsOf(session.id)).map((each) => each.id)).toEqual([turn.id, id]);
  });

  test("a withdrawn turn does not start, and is found before by the end of its id", async () => {
    const { session, lease, turn } = await beginTurn(store());
    const { id } = await store().queueTurn(session.id, pending());
    expect((await store().findPendingTurn(id.slice(-8)))?.request).toEqual({ prompt: "later" });
    expect([await store().withdrawTurn(id), await store().withdrawTurn(id)]).toEqual([true, false]);
    expect(await store().findPendingTurn(id)).toBeNull();
    await store().endTurn(lease, turn.id, okTurnEnd);
    expect(await faultCode(store().startTurn(lease, { ...newTurn(userNode("x")), pending: id }))).toBe("pending-unknown");
  });

  test("an interrupted turn is continued before the queued ones, at most three times", async () => {
    const { session, lease, turn } = await beginTurn(store());
    await store().endTurn(lease, turn.id, okTurnEnd);
    const queued = await store().queueTurn(session.id, pending());
    let { value: running } = await store().startTurn(lease, {
      ...newTurn(userNode("go")),
      continueWith: pending({ kind: "continued", request: { prompt: null } }),
    });
    for (let attempt = 1; attempt <= 3; attempt++) {
      const { next } = await store().endTurn(lease, running.id, killed);
      expect(next).toMatchObject({ kind: "continued", prompt: null, place: 1 });
      expect((await store().pendingTurns(session.id)).map(({ id }) => id)).toEqual([next!.id, queued.id]);
      const stored = (await store().findPendingTurn(next!.id))!;
      expect(stored.attempt).toBe(attempt);
      const continueWith = pending({ kind: "continued", request: { prompt: null }, attempt: stored.attempt });
      ({ value: running } = await store().startTurn(lease, { ...newTurn(null), pending: next!.id, continueWith }));
    }
    expect((await store().endTurn(lease, running.id, killed)).next).toBeNull();
    expect((await store().pendingTurns(session.id)).map(({ id }) => id)).toEqual([queued.id]);
  });

  test("a turn that ended by itself, that was stopped, or that the user has replaced is not continued", async () => {
    const { session, lease, turn } = await beginTurn(store());
    await store().endTurn(lease, turn.id, okTurnEnd);
    const start = () => store().startTurn(lease, { ...newTurn(userNode("go")), continueWith: pending({ kind: "continued" }) });
    const ended = await start();
    expect((await store().endTurn(lease, ended.value.id, okTurnEnd)).next).toBeNull();
    const stopped = await start();
    await store().stopContinuing(session.id);
    expect((await store().endTurn(lease, stopped.value.id, killed)).next).toBeNull();
    const replaced = await start();
    expect((await store().endTurn(lease, replaced.value.id, killed)).next).not.toBeNull();
    const { value: manual } = await store().startTurn(lease, newTurn(userNode("by hand")));
    expect(await store().pendingTurns(session.id)).toEqual([]);
    await store().endTurn(lease, manual.id, okTurnEnd);
  });

  test("turns that wait for the same credential wake apart from each other, and the wait of a session can be ended", async () => {
    const wakeAt = 1_900_000_000_000;
    const wakes: number[] = [];
    for (let n = 0; n < 5; n++) {
      const { session, lease, turn } = await beginTurn(store());
      const close = { ...okTurnEnd, status: "rate-limited", next: pending({ kind: "waiting", wakeAt }) } as const;
      const { next } = await store().endTurn(lease, turn.id, close);
      wakes.push(next!.wakeAt!);
      if (n === 4) expect([await store().stopContinuing(session.id), await store().stopContinuing(session.id)]).toEqual([true, false]);
    }
    expect(new Set(wakes.map((wake) => Math.floor(wake / 1000))).size).toBe(5);
    expect(Math.min(...wakes)).toBe(wakeAt);
    const { session } = await beginTurn(store());
    const other = await store().queueTurn(session.id, pending({ kind: "waiting", wakeAt, credential: "openai" }));
    expect(other.wakeAt).toBe(wakeAt);
  });
}
