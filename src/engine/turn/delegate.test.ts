// Sub-sessions of a turn: their input, their end, and the result that their parent gets.
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
const waitForAbort = ({ signal }: TurnContext) => new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));

/** Runs a turn that delegates once, and returns its events and the result. */
async function runParent(change: Partial<DelegateRequest>, child: TakeTurn, start: Partial<TurnStartParams> = {}) {
  let result: DelegateResult | null = null;
  const engine = await createTestEngine(async function* (input, context) {
    if (!isParent(input)) return yield* child(input, context);
    result = await context.delegate(request({ signal: context.signal, ...change }));
    yield node(text("whole"));
    yield context.signal.aborted ? { type: "end", end: { status: "cancelled" } } : ok;
  });
  const events = await engine.run(start);
  return { ...engine, events, result: result as unknown as DelegateResult };
}

test("watchers of the parent get the id of a new sub-session", async () => {
  const { events, result, store, session } = await runParent({ task: "look\n\naround" }, async function* () {
    yield node(text("seen"));
    yield ok;
  });
  const spawned = events.find((event) => event.type === "session.spawned");
  expect(spawned).toMatchObject({ sessionId: session.id, call: "c1", session: result.session, agent: "native", task: "look around" });
  expect(await store.session(result.session)).toMatchObject({ parentSession: session.id, task: "look\n\naround" });
});

test("a sub-session with a title is listed by it, and its agent gets the task", async () => {
  const tasks: string[] = [];
  const { events, result, store } = await runParent({ task: "a long task", title: "short" }, async function* ({ path }) {
    tasks.push(...path.map(textOf));
    yield ok;
  });
  expect(tasks).toEqual(["a long task"]);
  expect(events.find((event) => event.type === "session.spawned")).toMatchObject({ task: "short" });
  expect(await store.session(result.session)).toMatchObject({ task: "short" });
});

test("the events of a sub-session are passed to onEvent, and its usage is returned and added to the parent's", async () => {
  const eventTypes: string[] = [];
  const { events, result } = await runParent({ onEvent: (event) => eventTypes.push(event.type) }, async function* () {
    yield { type: "transient", event: { type: "text.delta", text: "s" } };
    yield node(text("seen"));
    yield {
      type: "end",
      end: { status: "ok", spentOutsideNodes: { usage: { input: 100, output: 0, cacheRead: 0, cacheWrite: 0 }, costUsd: 0.5 } },
    };
  });
  expect(eventTypes).toContain("text.delta");
  expect(result).toMatchObject({ status: "ok", answer: "seen", spent: { usage: { input: 105, output: 2 }, costUsd: 0.51 } });
  expect(events.at(-1)).toMatchObject({ type: "turn.ended", below: { usage: { input: 105, output: 2 }, costUsd: 0.51 } });
});

test("the role of a sub-session follows its parent's system text, and it can't spawn or nest", async () => {
  const inputs: TurnInput[] = [];
  await runParent(
    { role: "a reviewer" },
    async function* (input) {
      inputs.push(input);
      yield ok;
    },
    { appendSystem: "Be kind.", nesting: true },
  );
  expect(inputs[0]).toMatchObject({ appendSystem: "Be kind.\n\nYour role: a reviewer", spawn: false, nesting: false });
});

test("a sub-session without tools gets none, and a readonly one only readonly tools", async () => {
  const inputs: TurnInput[] = [];
  for (const change of [{ toolLevel: "none" }, { sandbox: { readonly: true } }] as const)
    await runParent(
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

test("a sub-session accepts messages of the user only if it is attachable", async () => {
  const replies: string[] = [];
  const engine: Awaited<ReturnType<typeof createTestEngine>> = await createTestEngine(async function* (input, context) {
    if (isParent(input)) {
      for (const attachable of [false, true]) await context.delegate(request({ attachable }));
      return yield ok;
    }
    const reply = await engine.api.turn.steer({ session: input.session, text: "look left" }).then(() => "accepted", messageOf);
    replies.push(reply, ...(await context.takeInput()).map(textOf));
    yield ok;
  });
  await engine.run();
  expect(replies).toEqual(["this session accepts no messages while it runs", "accepted", "look left"]);
});

test("a sub-session has at most 100 steps, or fewer if its parent has fewer", async () => {
  const steps: number[] = [];
  for (const maxSteps of [10, 1000])
    await runParent(
      {},
      async function* (input) {
        steps.push(input.limits.maxSteps);
        yield ok;
      },
      { limits: { ...turn.limits, maxSteps } },
    );
  expect(steps).toEqual([10, 100]);
});

test("a failed sub-session returns its status and error, and its parent continues", async () => {
  const { events, result } = await runParent({}, async function* () {
    yield node(text("so far"));
    yield { type: "end", end: { status: "overloaded", error: { kind: "overloaded", message: "too much" } } };
  });
  expect(result).toMatchObject({ status: "overloaded", answer: "so far", error: { message: "too much" } });
  expect(endOf(events)).toMatchObject({ status: "ok" });
});

test("a sub-session that can't start does not count towards the limit", async () => {
  const { run } = await createTestEngine(async function* (input, context) {
    if (!isParent(input)) return yield ok;
    await expect(context.delegate(request({ agent: "nobody" }))).rejects.toThrow('no agent "nobody"');
    expect((await context.delegate(request())).left.children).toBe(0);
    await expect(context.delegate(request())).rejects.toThrow("the budget of 1 sub-session is used up");
    yield ok;
  });
  expect(endOf(await run({ limits: { ...turn.limits, maxChildren: 1 } }))).toMatchObject({ status: "ok" });
});

test("a sub-session that the user cancels ends as cancelled, and its parent continues", async () => {
  const started = Promise.withResolvers<string>();
  const engine = createTestEngine(async function* (input, context) {
    if (isParent(input)) {
      const result = await context.delegate(request());
      yield node(text(result.status));
      return yield ok;
    }
    yield node(text("so far"));
    started.resolve(input.session);
    await waitForAbort(context);
    yield { type: "end", end: { status: "cancelled" } };
  });
  const { run, api, store } = await engine;
  const running = run();
  const child = await started.promise;
  await api.turn.cancel({ session: child });
  expect(endOf(await running)).toMatchObject({ status: "ok" });
  expect(await store.turnsOf(child)).toMatchObject([{ status: "cancelled" }]);
});

test("a timeout of the parent ends its sub-session too, and both report the reason", async () => {
  const { events, result, store } = await runParent(
    {},
    async function* (_input, context) {
      yield node(text("so far"));
      await waitForAbort(context);
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

test("a used up budget stops running sub-sessions with their partial answers, and no other starts", async () => {
  const results: DelegateResult[] = [];
  const engine = await createTestEngine(async function* (input, context) {
    const reservation = await context.reserve({ tokens: 10, costUsd: 0 });
    if (typeof reservation !== "function") return yield { type: "end", end: { status: "budget", error: reservation } };
    const answer = text(isParent(input) ? "delegating" : "so far");
    yield node(answer);
    reservation({ usage: answer.usage!, costUsd: answer.costUsd! });
    if (isParent(input)) {
      results.push(...(await Promise.all([context.delegate(request()), context.delegate(request({ task: "other" }))])));
      await expect(context.delegate(request())).rejects.toThrow("the budget is used up: 21 of 20 tokens");
    } else if (input.path[0]?.parts.some((part) => part.kind === "text" && part.text === "other")) {
      await waitForAbort(context);
      return yield { type: "end", end: { status: "cancelled" } };
    }
    const next = await context.reserve({ tokens: 10, costUsd: 0 });
    yield { type: "end", end: typeof next === "function" ? { status: "ok" } : { status: "budget", error: next } };
  });
  const events = await engine.run({ limits: { ...turn.limits, maxTokens: 20 } });
  expect(results.map(({ status, answer, left }) => [status, answer, left.tokens])).toEqual([
    ["budget", "so far", 0],
    ["budget", "so far", 0],
  ]);
  expect(endOf(events)).toMatchObject({ status: "budget", error: { limit: "tokens" } });
});

test("a member of a team can post mail, and its sub-sessions can't", async () => {
  const posted: unknown[] = [];
  const team = { post: async (value: Record<string, unknown>) => `posted ${posted.push(value)}` };
  const { result } = await runParent({ team }, async function* ({ path }, context) {
    const isMember = path.some((node) => textOf(node) === "part");
    const reply = (await context.team?.post({ to: "all" })) ?? "no team";
    const nested = isMember ? await context.delegate(request({ task: "below" })) : null;
    yield node(text(`${reply}, ${nested?.answer ?? "nobody"} below`));
    yield ok;
  });
  expect(result.answer).toBe("posted 1, no team, nobody below below");
  expect(posted).toEqual([{ to: "all" }]);
});
