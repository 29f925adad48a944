// Watching a session: from before, from the middle, from after, too slowly, and across turns.
import { expect, test } from "bun:test";
import type { Event } from "../../protocol/tree/event.ts";
import { createTestEngine, node, ok, text, turn } from "../fixtures/engine-with.ts";

const lastingOf = (events: Event[]) => events.filter((event) => !("n" in event)).map(({ seq, type }) => `${seq} ${type}`);

/** An agent that goes on step by step, when the test says so. */
function stepwise() {
  const steps: PromiseWithResolvers<void>[] = [];
  const step = (at: number) => (steps[at] ??= Promise.withResolvers<void>());
  const take = async function* () {
    for (let at = 0; at < 4; at++) {
      await step(at).promise;
      yield { type: "transient" as const, event: { type: "text.delta" as const, text: `${at}` } };
      yield node(text(`step ${at}`));
    }
    yield ok;
  };
  return { take, go: (at: number) => step(at).resolve() };
}

test("whoever comes early, in the middle or after the end is told the same lasting events", async () => {
  const { take, go } = stepwise();
  const { api, session } = await createTestEngine(take);
  const running = Array.fromAsync(api.turn.start({ ...turn, session: session.id }));
  const watch = () => Array.fromAsync(api.turn.watch({ session: session.id, afterSeq: 0, until: "idle" }));
  await Bun.sleep(20);
  const early = watch();
  await Bun.sleep(20);
  go(0);
  go(1);
  await Bun.sleep(20);
  const late = watch();
  await Bun.sleep(20);
  go(2);
  go(3);
  const told = lastingOf(await running);
  expect(lastingOf(await early)).toEqual(told);
  expect(lastingOf(await late)).toEqual(told);
  expect(lastingOf(await watch())).toEqual(told);
  const deltas = (events: Event[]) => events.flatMap((event) => (event.type === "text.delta" ? [event.text] : []));
  expect(deltas(await early)).toEqual(["0", "1", "2", "3"]);
  expect(deltas(await late)).toEqual(["2", "3"]);
});

test("whoever comes in the middle of an answer is told once what is streaming", async () => {
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
  const words = (await late).flatMap((event) => (event.type === "draft.shown" || event.type === "text.delta" ? [event.text] : []));
  expect(words).toEqual(["half an ", "answer"]);
});

test("whoever comes while a turn stands still is told so", async () => {
  const ready = Promise.withResolvers<void>();
  const { api, session } = await createTestEngine(async function* () {
    yield node(text("begun"));
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

test("a watcher that does not read misses deltas, and no lasting event", async () => {
  const { api, session } = await createTestEngine(async function* () {
    for (let at = 0; at < 6000; at++) {
      yield { type: "transient", event: { type: "text.delta", text: "x" } };
      if (at % 2 === 0) yield node(text(`${at}`));
    }
    yield ok;
  });
  const running = api.turn.start({ ...turn, session: session.id })[Symbol.asyncIterator]();
  await running.next();
  const slow = api.turn.watch({ session: session.id, afterSeq: 0, until: "idle" })[Symbol.asyncIterator]();
  const seen: Event[] = [(await slow.next()).value as Event];
  for (let event = await running.next(); event.done !== true; event = await running.next());
  for (let event = await slow.next(); event.done !== true; event = await slow.next()) seen.push(event.value);
  const seqs = seen.filter((event) => !("n" in event)).map(({ seq }) => seq);
  expect(seqs).toEqual(Array.from({ length: 3003 }, (_, at) => at + 1));
  expect(seen.filter((event) => "n" in event).length).toBeLessThan(6000);
});

test("one that never ends is told of the next turn too, and leaving it leaves nothing behind", async () => {
  const { api, session, run } = await createTestEngine(async function* () {
    yield node(text("done"));
    yield ok;
  });
  await run();
  const seen: string[] = [];
  for await (const event of api.turn.watch({ session: session.id, afterSeq: 0, until: "never" })) {
    seen.push(event.type);
    if (event.type !== "turn.ended") continue;
    if (seen.filter((type) => type === "turn.ended").length === 2) break;
    void run();
  }
  expect(seen.filter((type) => type === "turn.started")).toHaveLength(2);
});

test("the turn of a message that came late belongs to the same watch", async () => {
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
  const told = lastingOf(await running);
  expect(told.filter((line) => line.endsWith("turn.ended"))).toHaveLength(2);
  expect(lastingOf(await watching)).toEqual(told);
});

test("an unknown session is a fault", async () => {
  const { api } = await createTestEngine(async function* () {
    yield ok;
  });
  const watching = Array.fromAsync(api.turn.watch({ session: Bun.randomUUIDv7(), afterSeq: 0, until: "idle" }));
  await expect(watching).rejects.toThrow("there is no session");
});

test("whoever leaves a session in which nothing happens, or a turn that is silent, is let go at once", async () => {
  const end = Promise.withResolvers<void>();
  const { api, session } = await createTestEngine(async function* () {
    await end.promise;
    yield ok;
  });
  const leave = async (): Promise<void> => {
    const feed = api.turn.watch({ session: session.id, afterSeq: 0, until: "never" })[Symbol.asyncIterator]();
    const read = (async () => {
      while (!(await feed.next()).done);
    })();
    await Bun.sleep(20);
    await feed.return!();
    await read;
  };
  await leave();
  const running = Array.fromAsync(api.turn.start({ ...turn, session: session.id }));
  await Bun.sleep(20);
  await leave();
  end.resolve();
  await running;
});
