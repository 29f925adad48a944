// Turns that stand still, at the engine: agents that do just what a test needs, real store, real processes.
import { expect, test } from "bun:test";
import { createTestClock } from "../../kit/flow/fixtures/test-clock.ts";
import type { AgentEvent } from "../../protocol/api/ports.ts";
import { createTestEngine, ok, type TakeTurn, text } from "../fixtures/engine-with.ts";

const delta = (words: string): AgentEvent => ({ type: "transient", event: { type: "text.delta", text: words } });

/** Lets everything run that can. */
const settled = () => Bun.sleep(30);

test("an agent that stands still is asked for nothing more, and goes on where it was", async () => {
  const asked: number[] = [];
  const { api, session, run } = await createTestEngine(async function* () {
    for (let at = 0; at < 3; at += 1) {
      asked.push(at);
      yield delta(`${at}`);
      if (at === 0) await begun.promise;
    }
    yield { type: "node", node: text("done"), recorded: () => {} };
    yield ok;
  });
  const begun = Promise.withResolvers<void>();
  const done = run();
  while (asked.length === 0) await Bun.sleep(1);
  expect(await api.turn.pause({ session: session.id, force: false })).toMatchObject({ state: "paused", pid: process.pid });
  begun.resolve();
  await settled();
  expect(asked.length).toBeLessThanOrEqual(2);
  expect((await api.turn.list({ endedSince: null })).map(({ state }) => state)).toEqual(["paused"]);
  const stood = asked.length;
  await settled();
  expect(asked.length).toBe(stood);
  expect(await api.turn.resume({ session: session.id })).toMatchObject({ state: "running" });
  const events = await done;
  expect(asked).toEqual([0, 1, 2]);
  expect(events.map(({ type }) => type).filter((type) => /paused|resumed|ended/.test(type))).toEqual([
    "turn.paused",
    "turn.resumed",
    "turn.ended",
  ]);
});

test("no limit of time passes while a turn stands still, and a stop ends it all the same", async () => {
  const seen: string[] = [];
  const clock = createTestClock();
  const takeTurn: TakeTurn = async function* (_input, context) {
    context.registerPausable({ pause: () => void seen.push("stop"), resume: () => void seen.push("go") });
    yield delta("begun");
    if (!context.signal.aborted) await new Promise((resolve) => context.signal.addEventListener("abort", resolve, { once: true }));
    yield { type: "end", end: { status: "cancelled" } };
  };
  const { api, session, run } = await createTestEngine(takeTurn, { clock });
  const done = run({ timeoutMs: 2_000, idleMs: 1_500 });
  while ((await api.turn.list({ endedSince: null })).length === 0) await Bun.sleep(1);
  await api.turn.pause({ session: session.id, force: false });
  await api.turn.pause({ session: session.id, force: false });
  await clock.advance(2_300);
  expect((await api.turn.list({ endedSince: null })).map(({ state }) => state)).toEqual(["paused"]);
  expect(seen).toEqual(["stop"]);
  await api.turn.cancel({ session: session.id });
  const events = await done;
  expect(events.at(-1)).toMatchObject({ type: "turn.ended", turn: { status: "cancelled" } });
  expect(seen).toEqual(["stop", "go"]);
});

test("where nothing runs there is nothing to pause or to let go on", async () => {
  const { api, session } = await createTestEngine(async function* () {
    yield ok;
  });
  const nothing = { session: session.id, state: "not-running", pid: null } as const;
  expect(await api.turn.pause({ session: session.id, force: false })).toEqual(nothing);
  expect(await api.turn.pause({ session: session.id, force: true })).toEqual(nothing);
  expect(await api.turn.resume({ session: session.id })).toEqual(nothing);
});

test("who holds the session in this process for something else than a turn is no turn to pause", async () => {
  const { api, session, store } = await createTestEngine(async function* () {
    yield ok;
  });
  const lease = await store.acquire(session.id);
  expect(await api.turn.pause({ session: session.id, force: false })).toMatchObject({ state: "not-running" });
  await store.release(lease);
});

test("a question does not run out of time while its turn stands still, and can be answered meanwhile", async () => {
  const clock = createTestClock();
  const takeTurn: TakeTurn = async function* (_input, context) {
    const outcome = await context.ask({ call: "a", question: "a?", options: [] });
    yield { type: "node", node: text(outcome.type === "answered" ? outcome.text : outcome.type), recorded: () => {} };
    yield ok;
  };
  const { api, session, run } = await createTestEngine(takeTurn, { clock });
  const done = run({ asks: { how: "wait", limitMs: 2_000 } });
  const asks = () => api.ask.list({ session: session.id });
  while ((await asks()).length === 0) await Bun.sleep(1);
  await api.turn.pause({ session: session.id, force: false });
  await clock.advance(2_300);
  const [open] = await asks();
  await api.ask.answer({ ask: open!.id, text: "tabs" });
  await api.turn.resume({ session: session.id });
  expect((await done).at(-1)).toMatchObject({ type: "turn.ended", answer: "tabs" });
});
