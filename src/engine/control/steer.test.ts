// Messages to a running turn: the agent gets them at its next step, and none is lost when the turn ends.
import { describe, expect, test } from "bun:test";
import type { QueuedInput } from "../../protocol/api/control.ts";
import { Fault } from "../../protocol/api/error.ts";
import { textOf } from "../../protocol/tree/node.ts";
import { endOf, createTestEngine, node, ok, text, turn, typesOf } from "../fixtures/engine-with.ts";

const steerable = { ...turn, steerable: true };

describe("a message to a running turn", () => {
  test("a message to a running turn reaches the agent once, at its next step, and is stored as a user node", async () => {
    const delivered: string[][] = [];
    const sent = Promise.withResolvers<void>();
    const { api, session, store } = await createTestEngine(async function* (_input, context) {
      yield node(text("first step"));
      await sent.promise;
      for (let step = 2; step <= 3; step++) {
        delivered.push((await context.takeInput()).map(textOf));
        yield node(text(`step ${step}`));
      }
      yield ok;
    });
    const events = [];
    for await (const event of api.turn.start({ ...steerable, session: session.id })) {
      events.push(event);
      if (event.type !== "node.added" || textOf(event.node) !== "first step") continue;
      for (const message of ["look left", "look right"]) await api.turn.steer({ session: session.id, text: message });
      sent.resolve();
    }
    expect(delivered.flat()).toEqual(["look left", "look right"]);
    const { tip } = (await store.session(session.id)) ?? { tip: null };
    const path = (await store.path(tip as string)).map((entry) => `${entry.author}: ${textOf(entry)}`);
    expect(path.toSorted()).toEqual(
      ["user: hello", "agent: first step", "user: look left", "user: look right", "agent: step 2", "agent: step 3"].toSorted(),
    );
    expect(path.indexOf("user: look left") + 1).toBe(path.indexOf("user: look right"));
    expect(typesOf(events).filter((type) => type === "turn.started")).toHaveLength(1);
    expect(await store.queue(session.id)).toEqual([]);
  });

  test("a message can be withdrawn until the agent gets it, also after the turn", async () => {
    const delivered: string[][] = [];
    const withdrawn: (string | undefined)[] = [];
    const { api, session, store } = await createTestEngine(async function* (_input, context) {
      const withdraw = async ({ id }: QueuedInput) => withdrawn.push((await api.turn.takeBack({ session: session.id, input: id }))?.text);
      const send = (message: string) => api.turn.steer({ session: session.id, text: message });
      const [first, second] = [await send("first"), await send("second")];
      await withdraw(first);
      delivered.push((await context.takeInput()).map(textOf));
      await withdraw(second);
      await send("not delivered");
      yield { type: "end", end: { status: "cancelled" } };
    });
    await Array.fromAsync(api.turn.start({ ...steerable, session: session.id }));
    expect([delivered, withdrawn]).toEqual([[["second"]], ["first", undefined]]);
    const [undelivered] = await store.queue(session.id);
    expect(await api.turn.takeBack({ session: session.id, input: undelivered!.id })).toEqual(undelivered!);
    expect(await store.queue(session.id)).toEqual([]);
  });

  test("a message that arrives after the last step becomes the prompt of one more turn", async () => {
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

  test("a message to a turn that fails stays queued for the next turn", async () => {
    const delivered: string[][] = [];
    const { api, session, run, store } = await createTestEngine(async function* (_input, context) {
      if (delivered.length === 0) await api.turn.steer({ session: session.id, text: "still there?" });
      else expect((await store.queue(session.id)).map((input) => input.text)).toEqual(["still there?"]);
      if (delivered.length > 0) delivered.push((await context.takeInput()).map(textOf));
      else delivered.push([]);
      yield node(text("hm"));
      yield delivered.length === 1 ? { type: "end", end: { status: "network", error: { kind: "network", message: "gone" } } } : ok;
    });
    expect(endOf(await run({ steerable: true }))).toMatchObject({ status: "network" });
    expect(endOf(await run({ steerable: true, prompt: "again" }))).toMatchObject({ status: "ok" });
    expect(delivered).toEqual([[], ["still there?"]]);
  });

  test("a message is refused if nothing runs, if it is empty and if the turn is not steerable", async () => {
    const refusals: unknown[] = [];
    const steer = (session: string, message: string) =>
      api.turn.steer({ session, text: message }).catch((error: unknown) => refusals.push(error instanceof Fault ? error.code : error));
    const { api, session, run } = await createTestEngine(async function* () {
      await steer(session.id, "hello?");
      yield node(text("hi"));
      yield ok;
    });
    await steer(session.id, "anyone?");
    await steer(session.id, " ");
    await run({ steerable: false });
    expect(refusals).toEqual(["usage", "usage", "usage"]);
  });
});
