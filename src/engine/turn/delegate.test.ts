// Sub-sessions below a turn: what they are given, how they end, and what their parent learns of it.
import { expect, test } from "bun:test";
import type { TurnStartParams } from "../../protocol/api/api.ts";
import { messageOf } from "../../protocol/api/error.ts";
import { textOf } from "../../protocol/tree/node.ts";
import type { DelegateRequest, DelegateResult, TurnContext, TurnInput } from "../../protocol/api/ports.ts";
import { endOf, createTestEngine, node, ok, type TakeTurn, text, turn } from "../fixtures/engine-with.ts";

const request = (change: Partial<DelegateRequest> = {}): DelegateRequest => ({
  task: "part",
  call: "c1",
  role: null,
  attachable: false,
  agent: null,
  model: null,
  sandbox: {},
  signal: new AbortController().signal,
  onEvent: () => {},
  ...change,
});
const isParent = ({ path }: TurnInput) => path[0]?.parts.some((part) => part.kind === "text" && part.text === "hello") === true;
const stopped = ({ signal }: TurnContext) => new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));

/** A turn that delegates once, and what came back. */
async function delegating(change: Partial<DelegateRequest>, child: TakeTurn, start: Partial<TurnStartParams> = {}) {
  let result: DelegateResult | null = null;
  const made = await createTestEngine(async function* (input, context) {
    if (!isParent(input)) return yield* child(input, context);
    result = await context.delegate(request({ signal: context.signal, ...change }));
    yield node(text("whole"));
    yield context.signal.aborted ? { type: "end", end: { status: "cancelled" } } : ok;
  });
  const events = await made.run(start);
  return { ...made, events, result: result as unknown as DelegateResult };
}

test("its beginning is told to whoever watches its parent, with where it can be watched itself", async () => {
  const { events, result, store, session } = await delegating({ task: "look\n\naround" }, async function* () {
    yield node(text("seen"));
    yield ok;
  });
  const spawned = events.find((event) => event.type === "session.spawned");
  expect(spawned).toMatchObject({ sessionId: session.id, call: "c1", session: result.session, agent: "native", task: "look around" });
  expect(await store.session(result.session)).toMatchObject({ parentSession: session.id, task: "look\n\naround" });
});

test("it is listed by its title where it has one, and does its task", async () => {
  const tasks: string[] = [];
  const { events, result, store } = await delegating({ task: "a long task", title: "short" }, async function* ({ path }) {
    tasks.push(...path.map(textOf));
    yield ok;
  });
  expect(tasks).toEqual(["a long task"]);
  expect(events.find((event) => event.type === "session.spawned")).toMatchObject({ task: "short" });
  expect(await store.session(result.session)).toMatchObject({ task: "short" });
});

test("what it streams goes to whoever delegated, and what it used is given back and summed", async () => {
  const seen: string[] = [];
  const { events, result } = await delegating({ onEvent: (event) => seen.push(event.type) }, async function* () {
    yield { type: "transient", event: { type: "text.delta", text: "s" } };
    yield node(text("seen"));
    yield { type: "end", end: { status: "ok", rest: { usage: { input: 100, output: 0, cacheRead: 0, cacheWrite: 0 }, costUsd: 0.5 } } };
  });
  expect(seen).toContain("text.delta");
  expect(result).toMatchObject({ status: "ok", answer: "seen", spent: { usage: { input: 105, output: 2 }, costUsd: 0.51 } });
  expect(events.at(-1)).toMatchObject({ type: "turn.ended", below: { usage: { input: 105, output: 2 }, costUsd: 0.51 } });
});

test("it has its role after its parent's words, can't spawn and can't nest", async () => {
  const inputs: TurnInput[] = [];
  await delegating(
    { role: "a reviewer" },
    async function* (input) {
      inputs.push(input);
      yield ok;
    },
    { appendSystem: "Be kind.", nesting: true },
  );
  expect(inputs[0]).toMatchObject({ appendSystem: "Be kind.\n\nYour role: a reviewer", spawn: false, nesting: false });
});

test("without tools it has none, whatever its parent has; one that only looks has no more than that", async () => {
  const inputs: TurnInput[] = [];
  for (const change of [{ toolLevel: "none" }, { sandbox: { readonly: true } }] as const)
    await delegating(
      change,
      async function* (input) {
        inputs.push(input);
        yield ok;
      },
      { tools: ["bash"] },
    );
  expect(inputs.map(({ toolLevel, tools, policy }) => [toolLevel, tools, policy.name])).toEqual([
    ["none", null, "workspace"],
    ["readonly", ["bash"], "readonly"],
  ]);
});

test("it takes messages from a person only when it was spawned for that", async () => {
  const heard: string[] = [];
  const made: Awaited<ReturnType<typeof createTestEngine>> = await createTestEngine(async function* (input, context) {
    if (isParent(input)) {
      for (const attachable of [false, true]) await context.delegate(request({ attachable }));
      return yield ok;
    }
    const sent = await made.api.turn.steer({ session: input.session, text: "look left" }).then(() => "taken", messageOf);
    heard.push(sent, ...(await context.takeInput()).map(textOf));
    yield ok;
  });
  await made.run();
  expect(heard).toEqual(["this session accepts no messages while it runs", "taken", "look left"]);
});

test("its steps are 100, or its parent's when those are less", async () => {
  const steps: number[] = [];
  for (const maxSteps of [10, 1000])
    await delegating(
      {},
      async function* (input) {
        steps.push(input.limits.maxSteps);
        yield ok;
      },
      { limits: { ...turn.limits, maxSteps } },
    );
  expect(steps).toEqual([10, 100]);
});

test("one that fails is given back as what it is, and its parent goes on", async () => {
  const { events, result } = await delegating({}, async function* () {
    yield node(text("so far"));
    yield { type: "end", end: { status: "overloaded", error: { kind: "overloaded", message: "too much" } } };
  });
  expect(result).toMatchObject({ status: "overloaded", answer: "so far", error: { message: "too much" } });
  expect(endOf(events)).toMatchObject({ status: "ok" });
});

test("one that can't begin takes no place of those that may", async () => {
  const { run } = await createTestEngine(async function* (input, context) {
    if (!isParent(input)) return yield ok;
    await expect(context.delegate(request({ agent: "nobody" }))).rejects.toThrow('no agent "nobody"');
    expect((await context.delegate(request())).left.children).toBe(0);
    await expect(context.delegate(request())).rejects.toThrow("the budget of 1 sub-session is used up");
    yield ok;
  });
  expect(endOf(await run({ limits: { ...turn.limits, maxChildren: 1 } }))).toMatchObject({ status: "ok" });
});

test("one that a person stops is cancelled, and its parent goes on", async () => {
  const begun = Promise.withResolvers<string>();
  const made = createTestEngine(async function* (input, context) {
    if (isParent(input)) {
      const result = await context.delegate(request());
      yield node(text(result.status));
      return yield ok;
    }
    yield node(text("so far"));
    begun.resolve(input.session);
    await stopped(context);
    yield { type: "end", end: { status: "cancelled" } };
  });
  const { run, api, store } = await made;
  const running = run();
  const child = await begun.promise;
  await api.turn.cancel({ session: child });
  expect(endOf(await running)).toMatchObject({ status: "ok" });
  expect(await store.turnsOf(child)).toMatchObject([{ status: "cancelled" }]);
});

test("when its parent's time is over it ends too, and both say why", async () => {
  const { events, result, store } = await delegating(
    {},
    async function* (_input, context) {
      yield node(text("so far"));
      await stopped(context);
      yield { type: "end", end: { status: "cancelled" } };
    },
    { timeoutMs: 50 },
  );
  expect(result).toMatchObject({ status: "timed-out", answer: "so far" });
  expect(await store.turnsOf(result.session)).toMatchObject([
    { error: { message: "the parent turn was stopped: the turn took longer than 0.05 s" } },
  ]);
  expect(endOf(events)).toMatchObject({ status: "timed-out" });
});

test("when the budget is used up what runs is stopped as that, with its partial answer, and no other begins", async () => {
  const results: DelegateResult[] = [];
  const made = await createTestEngine(async function* (input, context) {
    const room = await context.reserve({ tokens: 10, costUsd: 0 });
    if (typeof room !== "function") return yield { type: "end", end: { status: "budget", error: room } };
    const said = text(isParent(input) ? "delegating" : "so far");
    yield node(said);
    room({ usage: said.usage!, costUsd: said.costUsd! });
    if (isParent(input)) {
      results.push(...(await Promise.all([context.delegate(request()), context.delegate(request({ task: "other" }))])));
      await expect(context.delegate(request())).rejects.toThrow("the budget is used up: 21 of 20 tokens");
    } else if (input.path[0]?.parts.some((part) => part.kind === "text" && part.text === "other")) {
      await stopped(context);
      return yield { type: "end", end: { status: "cancelled" } };
    }
    const next = await context.reserve({ tokens: 10, costUsd: 0 });
    yield { type: "end", end: typeof next === "function" ? { status: "ok" } : { status: "budget", error: next } };
  });
  const events = await made.run({ limits: { ...turn.limits, maxTokens: 20 } });
  expect(results.map(({ status, answer, left }) => [status, answer, left.tokens])).toEqual([
    ["budget", "so far", 0],
    ["budget", "so far", 0],
  ]);
  expect(endOf(events)).toMatchObject({ status: "budget", error: { limit: "tokens" } });
});

test("a member of a team has its way to leave mail; what a member delegates to has none", async () => {
  const left: unknown[] = [];
  const team = { post: async (value: Record<string, unknown>) => `left ${left.push(value)}` };
  const { result } = await delegating({ team }, async function* ({ path }, context) {
    const isMember = path.some((one) => textOf(one) === "part");
    const said = (await context.team?.post({ to: "all" })) ?? "no team";
    const below = isMember ? await context.delegate(request({ task: "below" })) : null;
    yield node(text(`${said}, ${below?.answer ?? "nobody"} below`));
    yield ok;
  });
  expect(result.answer).toBe("left 1, no team, nobody below below");
  expect(left).toEqual([{ to: "all" }]);
});
