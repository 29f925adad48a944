// Watching a session: before, during and after a turn, with a slow reader, and across turns.
import { expect, test } from "bun:test";
import { pollUntil } from "../../kit/flow/sleep.ts";
import type { Event } from "../../protocol/tree/event.ts";
import { createTestEngine, node, ok, text, turn } from "../fixtures/engine-with.ts";

const durableEvents = (events: Event[]) => events.filter((event) => !("n" in event)).map(({ seq, type }) => `${seq} ${type}`);

/** An agent of four steps. The test starts each step with `go`. */
function createStepAgent() {
  const steps: PromiseWithResolvers<void>[] = [];
  const step = (index: number) => (steps[index] ??= Promise.withResolvers<void>());
  const take = async function* () {
    for (let index = 0; index < 4; index++) {
      await step(index).promise;
      yield { type: "transient" as const, event: { type: "text.delta" as const, text: `${index}` } };
      yield node(text(`step ${index}`));
    }
    yield ok;
  };
  return { take, go: (index: number) => step(index).resolve() };
}

test("a watcher gets the same durable events whether it starts early, in the middle or after the end", async () => {
  const { take, go } = createStepAgent();
  const { api, session } = await createTestEngine(take);
  const running = Array.fromAsync(api.turn.start({ ...turn, session: session.id }));
  const watch = () => {
    const events: Event[] = [];
    const read = async () => {
      for await (const event of api.turn.watch({ session: session.id, afterSeq: 0, until: "idle" })) events.push(event);
      return events;
    };
    return { events, ended: read() };
  };
  const nodesOf = (events: Event[]) => events.filter(({ type }) => type === "node.added").length;
  const earlyWatch = watch();
  expect(await pollUntil(10_000, async () => earlyWatch.events.length > 0)).toBe(true);
  const stored = nodesOf(earlyWatch.events);
  go(0);
  go(1);
  expect(await pollUntil(10_000, async () => nodesOf(earlyWatch.events) === stored + 2)).toBe(true);
  const lateWatch = watch();
  expect(await pollUntil(10_000, async () => nodesOf(lateWatch.events) === stored + 2)).toBe(true);
  go(2);
  go(3);
  const [early, late] = [earlyWatch.ended, lateWatch.ended];
  const durable = durableEvents(await running);
  expect(durableEvents(await early)).toEqual(durable);
  expect(durableEvents(await late)).toEqual(durable);
  expect(durableEvents(await watch().ended)).toEqual(durable);
  const deltas = (events: Event[]) => events.flatMap((event) => (event.type === "text.delta" ? [event.text] : []));
  expect(deltas(await early)).toEqual(["0", "1", "2", "3"]);
  expect(deltas(await late)).toEqual(["2", "3"]);
});

test("a watcher that starts during an answer gets the text so far once", async () => {
  const end = Promise.withResolvers<void>();
  const { api, session } = await createTestEngine(async function* () {
    yield { type: "transient", event: { type: "text.delta", text: "half an " } };
    await end.promise;
    yield { type: "transient", event: { type: "text.delta", text: "answer" } };
    yield node(text("half an answer"));
    yield ok;
  });
  const running = Array.fromAsync(api.turn.start({ ...turn, session: session.id }));
  await Bun.sleep(20);
  const late = Array.fromAsync(api.turn.watch({ session: session.id, afterSeq: 0, until: "idle" }));
  await Bun.sleep(20);
  end.resolve();
  await running;
  const texts = (await late).flatMap((event) => (event.type === "draft.shown" || event.type === "text.delta" ? [event.text] : []));
  expect(texts).toEqual(["half an ", "answer"]);
});

test("a watcher that starts while a turn is paused gets turn.paused", async () => {
  const ready = Promise.withResolvers<void>();
  const { api, session } = await createTestEngine(async function* () {
    yield node(text("started"));
    ready.resolve();
    await Bun.sleep(20);
    yield ok;
  });
  const running = Array.fromAsync(api.turn.start({ ...turn, session: session.id }));
  await ready.promise;
  await api.turn.pause({ session: session.id, force: false });
  const late = Array.fromAsync(api.turn.watch({ session: session.id, afterSeq: 0, until: "idle" }));
  await Bun.sleep(50);
  await api.turn.resume({ session: session.id });
  await running;
  expect((await late).map(({ type }) => type).filter((type) => /paused|resumed/.test(type))).toEqual(["turn.paused", "turn.resumed"]);
});

test("a slow watcher misses deltas but no durable event", async () => {
  const { api, session } = await createTestEngine(async function* () {
    for (let index = 0; index < 6000; index++) {
      yield { type: "transient", event: { type: "text.delta", text: "x" } };
      if (index % 2 === 0) yield node(text(`${index}`));
    }
    yield ok;
  });
  const running = api.turn.start({ ...turn, session: session.id })[Symbol.asyncIterator]();
  await running.next();
  const slow = api.turn.watch({ session: session.id, afterSeq: 0, until: "idle" })[Symbol.asyncIterator]();
  const received: Event[] = [(await slow.next()).value as Event];
  for (let event = await running.next(); event.done !== true; event = await running.next());
  for (let event = await slow.next(); event.done !== true; event = await slow.next()) received.push(event.value);
  const seqs = received.filter((event) => !("n" in event)).map(({ seq }) => seq);
  expect(seqs).toEqual(Array.from({ length: 3003 }, (_, index) => index + 1));
  expect(received.filter((event) => "n" in event).length).toBeLessThan(6000);
});

test("a watch without an end also gets the next turn, and can be left at any time", async () => {
  const { api, session, run } = await createTestEngine(async function* () {
    yield node(text("done"));
    yield ok;
  });
  await run();
  const received: string[] = [];
  for await (const event of api.turn.watch({ session: session.id, afterSeq: 0, until: "never" })) {
    received.push(event.type);
    if (event.type !== "turn.ended") continue;
    if (received.filter((type) => type === "turn.ended").length === 2) break;
    void run();
  }
  expect(received.filter((type) => type === "turn.started")).toHaveLength(2);
});

test("a watch includes the extra turn of a late message", async () => {
  const ready = Promise.withResolvers<void>();
  const steered = Promise.withResolvers<void>();
  const { api, session } = await createTestEngine(async function* () {
    yield node(text("done"));
    ready.resolve();
    await steered.promise;
    yield ok;
  });
  const running = Array.fromAsync(api.turn.start({ ...turn, session: session.id, steerable: true }));
  await ready.promise;
  const watching = Array.fromAsync(api.turn.watch({ session: session.id, afterSeq: 0, until: "idle" }));
  await api.turn.steer({ session: session.id, text: "one more thing" });
  steered.resolve();
  const durable = durableEvents(await running);
  expect(durable.filter((line) => line.endsWith("turn.ended"))).toHaveLength(2);
  expect(durableEvents(await watching)).toEqual(durable);
});

test("watching an unknown session is a fault", async () => {
  const { api } = await createTestEngine(async function* () {
    yield ok;
  });
  const watching = Array.fromAsync(api.turn.watch({ session: Bun.randomUUIDv7(), afterSeq: 0, until: "idle" }));
  await expect(watching).rejects.toThrow("there is no session");
});

test("a watcher can unsubscribe at once from an idle session and from a silent turn", async () => {
  const end = Promise.withResolvers<void>();
  const { api, session } = await createTestEngine(async function* () {
    await end.promise;
    yield ok;
  });
  const watchAndUnsubscribe = async (): Promise<void> => {
    const feed = api.turn.watch({ session: session.id, afterSeq: 0, until: "never" })[Symbol.asyncIterator]();
    const read = (async () => {
      while (!(await feed.next()).done);
    })();
    await Bun.sleep(20);
    await feed.return!();
    await read;
  };
  await watchAndUnsubscribe();
  const running = Array.fromAsync(api.turn.start({ ...turn, session: session.id }));
  await Bun.sleep(20);
  await watchAndUnsubscribe();
  end.resolve();
  await running;
});
