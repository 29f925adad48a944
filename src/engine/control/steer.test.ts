// Messages to a turn that runs: given at its next step, and none is lost at its end.
import { describe, expect, test } from "bun:test";
import type { QueuedInput } from "../../protocol/api/control.ts";
import { Fault } from "../../protocol/api/error.ts";
import { textOf } from "../../protocol/tree/node.ts";
import { endOf, createTestEngine, node, ok, text, turn, typesOf } from "../fixtures/engine-with.ts";

const steerable = { ...turn, steerable: true };

describe("a message to a running turn", () => {
  test("is given to the agent at its next step, once, as a node of the user's", async () => {
    const given: string[][] = [];
    const { api, session, store } = await createTestEngine(async function* (_input, context) {
      yield node(text("first step"));
      for (let step = 2; step <= 3; step++) {
        given.push((await context.takeInput()).map(textOf));
        yield node(text(`step ${step}`));
      }
      yield ok;
    });
    const events = [];
    for await (const event of api.turn.start({ ...steerable, session: session.id })) {
      events.push(event);
      if (event.type === "node.added" && textOf(event.node) === "first step")
        for (const words of ["look left", "look right"]) await api.turn.steer({ session: session.id, text: words });
    }
    expect(given.flat()).toEqual(["look left", "look right"]);
    const { tip } = (await store.session(session.id)) ?? { tip: null };
    const path = (await store.path(tip as string)).map((entry) => `${entry.author}: ${textOf(entry)}`);
    expect(path.toSorted()).toEqual(
      ["user: hello", "agent: first step", "user: look left", "user: look right", "agent: step 2", "agent: step 3"].toSorted(),
    );
    expect(path.indexOf("user: look left") + 1).toBe(path.indexOf("user: look right"));
    expect(typesOf(events).filter((type) => type === "turn.started")).toHaveLength(1);
    expect(await store.queue(session.id)).toEqual([]);
  });

  test("is taken back as long as it waits: while the turn runs, and after it", async () => {
    const given: string[][] = [];
    const taken: (string | undefined)[] = [];
    const { api, session, store } = await createTestEngine(async function* (_input, context) {
      const back = async ({ id }: QueuedInput) => taken.push((await api.turn.takeBack({ session: session.id, input: id }))?.text);
      const say = (words: string) => api.turn.steer({ session: session.id, text: words });
      const [first, second] = [await say("first"), await say("second")];
      await back(first);
      given.push((await context.takeInput()).map(textOf));
      await back(second);
      await say("left behind");
      yield { type: "end", end: { status: "cancelled" } };
    });
    await Array.fromAsync(api.turn.start({ ...steerable, session: session.id }));
    expect([given, taken]).toEqual([[["second"]], ["first", undefined]]);
    const [left] = await store.queue(session.id);
    expect(await api.turn.takeBack({ session: session.id, input: left!.id })).toEqual(left!);
    expect(await store.queue(session.id)).toEqual([]);
  });

  test("that came after its last look is the prompt of one more turn", async () => {
    const prompts: (string | undefined)[] = [];
    const { api, session, store } = await createTestEngine(async function* (input, context) {
      prompts.push(input.path.map(textOf).at(-1));
      expect(await context.takeInput()).toEqual([]);
      yield node(text(`answer ${prompts.length}`));
      if (prompts.length === 1) await api.turn.steer({ session: session.id, text: "one more thing" });
      yield ok;
    });
    const events = await Array.fromAsync(api.turn.start({ ...steerable, session: session.id }));
    expect(prompts).toEqual(["hello", "one more thing"]);
    expect(typesOf(events).filter((type) => type === "turn.ended")).toHaveLength(2);
    expect(endOf(events)).toMatchObject({ status: "ok" });
    expect(await store.queue(session.id)).toEqual([]);
    expect((await store.verify({})).problems).toEqual([]);
  });

  test("waits in the store when the turn fails, and the next one is given it", async () => {
    const given: string[][] = [];
    const { api, session, run, store } = await createTestEngine(async function* (_input, context) {
      if (given.length === 0) await api.turn.steer({ session: session.id, text: "still there?" });
      else expect((await store.queue(session.id)).map(({ text: words }) => words)).toEqual(["still there?"]);
      if (given.length > 0) given.push((await context.takeInput()).map(textOf));
      else given.push([]);
      yield node(text("hm"));
      yield given.length === 1 ? { type: "end", end: { status: "network", error: { kind: "network", message: "gone" } } } : ok;
    });
    expect(endOf(await run({ steerable: true }))).toMatchObject({ status: "network" });
    expect(endOf(await run({ steerable: true, prompt: "again" }))).toMatchObject({ status: "ok" });
    expect(given).toEqual([[], ["still there?"]]);
  });

  test("is refused where nothing runs, where it is empty and where the turn takes none", async () => {
    const refused: unknown[] = [];
    const steer = (session: string, words: string) =>
      api.turn.steer({ session, text: words }).catch((error: unknown) => refused.push(error instanceof Fault ? error.code : error));
    const { api, session, run } = await createTestEngine(async function* () {
      await steer(session.id, "hello?");
      yield node(text("hi"));
      yield ok;
    });
    await steer(session.id, "anyone?");
    await steer(session.id, " ");
    await run({ steerable: false });
    expect(refused).toEqual(["usage", "usage", "usage"]);
  });
});
