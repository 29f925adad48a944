// Questions of a turn over a real store: who waits, who answers, and what the next turn is given.
import { describe, expect, test } from "bun:test";
import type { Api } from "../../protocol/api/api.ts";
import type { Event } from "../../protocol/tree/event.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { NewNode, Node } from "../../protocol/tree/node.ts";
import type { AskOutcome, AskRequest } from "../../protocol/api/ports.ts";
import { endOf, createTestEngine, node, ok, text, turn } from "../fixtures/engine-with.ts";

const asked = (...calls: string[]): NewNode => ({
  author: "agent",
  parts: calls.map((id) => ({ kind: "call", id, name: "ask_user", input: { question: `${id}?` } })),
});
const wish = (call: string | null, options: string[] = []): AskRequest => ({ call, question: `${call ?? "so"}?`, options });
const wait = { how: "wait", limitMs: null } as const;
const later = { how: "later" } as const;

/** What the model would read of a path: texts and results, in order. */
const read = (path: Node[]) => path.flatMap(({ parts }) => parts.flatMap((part) => ("text" in part ? part.text : [])));
const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => null,
    (error: unknown) => (error instanceof Fault ? error.code : error),
  );

/** Answers every question as soon as it is told. */
async function answering(api: Api, events: AsyncIterable<Event>, answer: (ask: string) => Promise<unknown>): Promise<Event[]> {
  const seen: Event[] = [];
  for await (const event of events) {
    seen.push(event);
    if (event.type === "ask.opened") await answer(event.ask.id);
  }
  expect(await api.ask.list({ session: null })).toEqual([]);
  return seen;
}

describe("a turn that waits", () => {
  test("goes on with the answer, chosen by number or in words", async () => {
    const outcomes: AskOutcome[] = [];
    const { api, session, store } = await createTestEngine(async function* (_input, context) {
      outcomes.push(await context.ask(wish("a", ["tabs", "blanks"])), await context.ask(wish("b", ["tabs"])), await context.ask(wish("c")));
      yield node(text("done"));
      yield ok;
    });
    const words = ["2", "7", "1"];
    const events = await answering(api, api.turn.start({ ...turn, asks: wait, session: session.id }), (ask) =>
      api.ask.answer({ ask, text: words.shift() as string }),
    );
    expect(outcomes).toEqual(["blanks", "7", "1"].map((given) => ({ type: "answered", text: given })));
    expect(endOf(events)).toMatchObject({ status: "ok" });
    expect((await store.asks(session.id)).map(({ outcome }) => outcome)).toEqual(["answered", "answered", "answered"]);
  });

  test("is told that nobody answered in time, and the question is closed", async () => {
    const outcomes: AskOutcome[] = [];
    const { run, store, session } = await createTestEngine(async function* (_input, context) {
      outcomes.push(await context.ask(wish("a")));
      yield node(text("went on"));
      yield ok;
    });
    expect(endOf(await run({ asks: { how: "wait", limitMs: 5 } }))).toMatchObject({ status: "ok" });
    expect(outcomes).toEqual([{ type: "expired" }]);
    expect(await store.asks(session.id)).toMatchObject([{ outcome: "expired", answer: null }]);
  });

  test("is asking as long as one of its questions is open", async () => {
    const { api, session, store } = await createTestEngine(async function* (_input, context) {
      const [a, b] = [context.ask(wish("a")), context.ask(wish("b"))];
      await a;
      states.push((await store.listTurns(null))[0]?.state);
      const [second] = await api.ask.list({ session: session.id });
      await api.ask.answer({ ask: second?.id as string, text: "yes" });
      await b;
      states.push((await store.listTurns(null))[0]?.state);
      yield node(text("done"));
      yield ok;
    });
    const states: unknown[] = [];
    for await (const event of api.turn.start({ ...turn, asks: wait, session: session.id }))
      if (event.type === "ask.opened" && event.ask.call === "a") await api.ask.answer({ ask: event.ask.id, text: "no" });
    expect(states).toEqual(["asking", "running"]);
  });

  test("that is stopped leaves no question open", async () => {
    const { api, session, store } = await createTestEngine(async function* (_input, context) {
      await context.ask(wish("a"));
      yield { type: "end", end: { status: "cancelled" } };
    });
    for await (const event of api.turn.start({ ...turn, asks: wait, session: session.id }))
      if (event.type === "ask.opened") await api.turn.cancel({ session: session.id });
    expect(await store.asks(session.id)).toMatchObject([{ outcome: "left", answer: null }]);
  });
});

describe("a turn that waits for nobody", () => {
  /** Its first turn asks with these calls, and every turn keeps the path that it was given. */
  async function asking(...calls: (string | null)[]) {
    const paths: Node[][] = [];
    const made = await createTestEngine(async function* (input, context) {
      paths.push(input.path);
      if (paths.length > 1) {
        yield node(text("thanks"));
        yield ok;
        return;
      }
      const named = calls.filter((id) => id !== null);
      yield node(named.length === 0 ? text("what now?") : asked(...named));
      for (const id of calls) await context.ask(wish(id, ["red", "blue"]));
      yield { type: "end", end: { status: "needs-input", error: { kind: "needs-input", message: "a?" } } };
    });
    const first = await made.run({ asks: later });
    expect(endOf(first)).toMatchObject({ status: "needs-input" });
    const asks = await made.api.ask.list({ session: null });
    return { ...made, paths, asks: asks.map(({ id }) => id) };
  }

  test("can be gone on with when it was answered, and the answer is the call's result", async () => {
    const { run, api, paths, asks, store } = await asking("a");
    expect(await codeOf(run({ prompt: null }))).toBe("usage");
    expect(await api.ask.answer({ ask: (asks[0] as string).slice(-8), text: "2" })).toMatchObject({ outcome: "answered", answer: "blue" });
    expect(endOf(await run({ prompt: null }))).toMatchObject({ status: "ok" });
    expect(read(paths[1] ?? [])).toEqual(["hello", "blue"]);
    expect((await store.verify({})).problems).toEqual([]);
  });

  test("needs every answer before it goes on without a task", async () => {
    const { run, api, paths, asks } = await asking("a", "b");
    await api.ask.answer({ ask: asks[1] as string, text: "second" });
    expect(await codeOf(run({ prompt: null }))).toBe("usage");
    await api.ask.answer({ ask: asks[0] as string, text: "first" });
    await run({ prompt: null });
    expect(read(paths[1] ?? [])).toEqual(["hello", "first", "second"]);
  });

  test("is told that the person went on without answering, and the question can't be answered any more", async () => {
    const { run, api, paths, asks } = await asking("a", "b");
    await api.ask.answer({ ask: asks[0] as string, text: "first" });
    await run({ prompt: "something else" });
    expect(read(paths[1] ?? [])).toEqual(["hello", "first", "The user continued without answering.", "something else"]);
    expect(await codeOf(api.ask.answer({ ask: asks[1] as string, text: "late" }))).toBe("ask-closed");
    expect(await api.ask.list({ session: null })).toEqual([]);
  });

  test("takes one answer, and only to a question that there is", async () => {
    const { api, asks } = await asking("a");
    expect(await codeOf(api.ask.answer({ ask: asks[0] as string, text: "  " }))).toBe("usage");
    await api.ask.answer({ ask: asks[0] as string, text: "red" });
    expect(await codeOf(api.ask.answer({ ask: asks[0] as string, text: "blue" }))).toBe("ask-closed");
    expect(await codeOf(api.ask.answer({ ask: "0000", text: "blue" }))).toBe("ask-unknown");
  });

  test("and asked without a call is told the answer as its next prompt, before anything else that is said", async () => {
    const { run, api, paths, asks } = await asking(null);
    expect(await codeOf(run({ prompt: null }))).toBe("usage");
    await api.ask.answer({ ask: asks[0] as string, text: "1" });
    await run({ prompt: null });
    expect(read(paths[1] ?? [])).toEqual(["hello", "what now?", "red"]);
    await run({ prompt: "and then?" });
    expect(read(paths[2] ?? []).at(-1)).toBe("and then?");
    const other = await asking(null);
    await other.api.ask.answer({ ask: other.asks[0] as string, text: "1" });
    await other.run({ prompt: "quickly" });
    expect(read(other.paths[1] ?? []).at(-1)).toBe("red\n\nquickly");
  });

  test("is passed over by a message that is added, which is no answer", async () => {
    const { run, api, paths, session } = await asking("a");
    await api.node.add({ session: session.id, text: "by the way" });
    await run({ prompt: "go on" });
    expect(read(paths[1] ?? [])).toEqual(["hello", "The user continued without answering.", "by the way", "go on"]);
  });

  test("gives its answer also to a fork, which can't close the question itself", async () => {
    const { api, paths, session, asks } = await asking("a");
    const fork = async () => (await api.session.fork({ session: session.id, at: null, name: null })).id;
    const before = await fork();
    await Array.fromAsync(api.turn.start({ ...turn, session: before, prompt: "else" }));
    expect(read(paths[1] ?? [])).toEqual(["hello", "The user continued without answering.", "else"]);
    const after = await fork();
    expect(await codeOf(Array.fromAsync(api.turn.start({ ...turn, session: after, prompt: null })))).toBe("usage");
    await api.ask.answer({ ask: asks[0] as string, text: "red" });
    await Array.fromAsync(api.turn.start({ ...turn, session: after, prompt: null }));
    expect(read(paths[2] ?? [])).toEqual(["hello", "red"]);
  });
});

test("a question of a process that died stays open, and its answer is the result; other calls are told they were interrupted", async () => {
  const paths: Node[][] = [];
  const { api, store, session, run } = await createTestEngine(async function* (input) {
    paths.push(input.path);
    yield node(text("thanks"));
    yield ok;
  });
  const lease = await store.acquire(session.id);
  const prompt: NewNode = { author: "user", parts: [{ kind: "text", text: "go" }] };
  const left = (await store.startTurn(lease, { agent: "native", model: null, policy: turn.policy, enforced: null, prompt })).value;
  await store.appendNode(lease, left.id, asked("a", "b"));
  const ask = (await store.openAsk(lease, left.id, { ...wish("a"), expiresAt: Date.now() + 1 })).value;
  await store.release(lease);

  expect(await codeOf(run({ prompt: null }))).toBe("usage");
  expect(await store.turn(left.id)).toMatchObject({ status: "killed" });
  await api.ask.answer({ ask: ask.id, text: "yes" });
  expect(endOf(await run({ prompt: null }))).toMatchObject({ status: "ok" });
  expect(read(paths[0] ?? [])).toEqual(["go", expect.stringContaining("Interrupted"), "yes"]);
  expect((await store.verify({})).problems).toEqual([]);
});
