// Pausing and resuming turns in the engine, with a real store and an agent that each test defines.
import { expect, test } from "bun:test";
import { createTestClock } from "../../kit/flow/fixtures/test-clock.ts";
import type { AgentEvent } from "../../protocol/api/ports.ts";
import { createTestEngine, ok, type TakeTurn, text } from "../fixtures/engine-with.ts";

const delta = (chunk: string): AgentEvent => ({ type: "transient", event: { type: "text.delta", text: chunk } });

/** Waits long enough for all pending work to run. */
const waitForPendingWork = () => Bun.sleep(30);

test("a paused turn asks its agent for no further event, and continues there after a resume", async () => {
  const yieldedIndexes: number[] = [];
  const { api, session, run } = await createTestEngine(async function* () {
    for (let index = 0; index < 3; index += 1) {
      yieldedIndexes.push(index);
      yield delta(`${index}`);
      if (index === 0) await firstEventHandled.promise;
    }
    yield { type: "node", node: text("done"), recorded: () => {} };
    yield ok;
  });
  const firstEventHandled = Promise.withResolvers<void>();
  const running = run();
  while (yieldedIndexes.length === 0) await Bun.sleep(1);
  expect(await api.turn.pause({ session: session.id, force: false })).toMatchObject({ state: "paused", pid: process.pid });
  firstEventHandled.resolve();
  await waitForPendingWork();
  expect(yieldedIndexes.length).toBeLessThanOrEqual(2);
  expect((await api.turn.list({ endedSince: null })).map(({ state }) => state)).toEqual(["paused"]);
  const countWhenPaused = yieldedIndexes.length;
  await waitForPendingWork();
  expect(yieldedIndexes.length).toBe(countWhenPaused);
  expect(await api.turn.resume({ session: session.id })).toMatchObject({ state: "running" });
  const events = await running;
  expect(yieldedIndexes).toEqual([0, 1, 2]);
  expect(events.map(({ type }) => type).filter((type) => /paused|resumed|ended/.test(type))).toEqual([
    "turn.paused",
    "turn.resumed",
    "turn.ended",
  ]);
});

test("time limits do not run while a turn is paused, and a paused turn can be cancelled", async () => {
  const calls: string[] = [];
  const clock = createTestClock();
  const takeTurn: TakeTurn = async function* (_input, context) {
    context.registerPausable({ pause: () => void calls.push("stop"), resume: () => void calls.push("go") });
    yield delta("begun");
    if (!context.signal.aborted) await new Promise((resolve) => context.signal.addEventListener("abort", resolve, { once: true }));
    yield { type: "end", end: { status: "cancelled" } };
  };
  const { api, session, run } = await createTestEngine(takeTurn, { clock });
  const running = run({ timeoutMs: 2_000, idleMs: 1_500 });
  while ((await api.turn.list({ endedSince: null })).length === 0) await Bun.sleep(1);
  await api.turn.pause({ session: session.id, force: false });
  await api.turn.pause({ session: session.id, force: false });
  await clock.advance(2_300);
  expect((await api.turn.list({ endedSince: null })).map(({ state }) => state)).toEqual(["paused"]);
  expect(calls).toEqual(["stop"]);
  await api.turn.cancel({ session: session.id });
  const events = await running;
  expect(events.at(-1)).toMatchObject({ type: "turn.ended", turn: { status: "cancelled" } });
  expect(calls).toEqual(["stop", "go"]);
});

test("pause and resume of an idle session report that nothing is running", async () => {
  const { api, session } = await createTestEngine(async function* () {
    yield ok;
  });
  const notRunning = { session: session.id, state: "not-running", pid: null, isChanged: false } as const;
  expect(await api.turn.pause({ session: session.id, force: false })).toEqual(notRunning);
  expect(await api.turn.pause({ session: session.id, force: true })).toEqual(notRunning);
  expect(await api.turn.resume({ session: session.id })).toEqual(notRunning);
});

test("pausing a session that this process holds without a turn reports not-running", async () => {
  const { api, session, store } = await createTestEngine(async function* () {
    yield ok;
  });
  const lease = await store.acquire(session.id);
  expect(await api.turn.pause({ session: session.id, force: false })).toMatchObject({ state: "not-running" });
  await store.release(lease);
});

test("a question does not expire while its turn is paused, and can be answered meanwhile", async () => {
  const clock = createTestClock();
  const takeTurn: TakeTurn = async function* (_input, context) {
    const outcome = await context.ask({ call: "a", question: "a?", options: [] });
    yield { type: "node", node: text(outcome.type === "answered" ? outcome.text : outcome.type), recorded: () => {} };
    yield ok;
  };
  const { api, session, run } = await createTestEngine(takeTurn, { clock });
  const running = run({ asks: { how: "wait", limitMs: 2_000 } });
  const asks = () => api.ask.list({ session: session.id });
  while ((await asks()).length === 0) await Bun.sleep(1);
  await api.turn.pause({ session: session.id, force: false });
  await clock.advance(2_300);
  const [open] = await asks();
  await api.ask.answer({ ask: open!.id, text: "tabs" });
  await api.turn.resume({ session: session.id });
  expect((await running).at(-1)).toMatchObject({ type: "turn.ended", answer: "tabs" });
});
