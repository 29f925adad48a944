// Questions of a turn over a real store: waiting, answering, and the path of the next turn.
import { describe, expect, test } from "bun:test";
import type { Api } from "../../protocol/api/api.ts";
import type { Event } from "../../protocol/tree/event.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { NewNode, Node } from "../../protocol/tree/node.ts";
import type { AskOutcome, AskRequest } from "../../protocol/api/ports.ts";
import { endOf, createTestEngine, node, ok, text, turn } from "../fixtures/engine-with.ts";

const askUserNode = (...calls: string[]): NewNode => ({
  author: "agent",
  parts: calls.map((id) => ({ kind: "call", id, name: "ask_user", input: { question: `${id}?` } })),
});
const askRequest = (call: string | null, options: string[] = []): AskRequest => ({ call, question: `${call ?? "so"}?`, options });
const waitForAnswer = { how: "wait", limitMs: null } as const;
const endWithQuestions = { how: "later" } as const;

/** Texts and results of a path in order, as the model reads them. */
const readTexts = (path: Node[]) => path.flatMap(({ parts }) => parts.flatMap((part) => ("text" in part ? part.text : [])));
const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => null,
    (error: unknown) => (error instanceof Fault ? error.code : error),
  );

/** Collects the events of a turn and answers every question as soon as it is opened. */
async function answerQuestions(api: Api, events: AsyncIterable<Event>, answer: (ask: string) => Promise<unknown>): Promise<Event[]> {
  const received: Event[] = [];
  for await (const event of events) {
    received.push(event);
    if (event.type === "ask.opened") await answer(event.ask.id);
  }
  expect(await api.ask.list({ session: null })).toEqual([]);
  return received;
}

describe("a turn that waits for answers", () => {
  test("the number of a missing option is refused, and an option that is a number can be chosen by its text", async () => {
    const outcomes: AskOutcome[] = [];
    const { api, session } = await createTestEngine(async function* (_input, context) {
      outcomes.push(await context.ask(askRequest("a", ["8080", "9090"])));
      yield ok;
    });
    await answerQuestions(api, api.turn.start({ ...turn, asks: waitForAnswer, session: session.id }), async (ask) => {
      for (const text of ["3", "0", "-1"])
        expect(await api.ask.answer({ ask, text }).catch((error: unknown) => error)).toMatchObject({
          code: "usage",
          hint: expect.stringContaining("1 (8080), 2 (9090)"),
        });
      return api.ask.answer({ ask, text: "9090" });
    });
    expect(outcomes).toEqual([{ type: "answered", text: "9090" }]);
  });

  test("a turn continues with the answer, which is the number of an option or a text", async () => {
    const outcomes: AskOutcome[] = [];
    const { api, session, store } = await createTestEngine(async function* (_input, context) {
      outcomes.push(
        await context.ask(askRequest("a", ["tabs", "blanks"])),
        await context.ask(askRequest("b", ["tabs"])),
        await context.ask(askRequest("c")),
      );
      yield node(text("done"));
      yield ok;
    });
    const answers = ["2", "7 blanks", "1"];
    const events = await answerQuestions(api, api.turn.start({ ...turn, asks: waitForAnswer, session: session.id }), (ask) =>
      api.ask.answer({ ask, text: answers.shift() as string }),
    );
    expect(outcomes).toEqual(["blanks", "7 blanks", "1"].map((answer) => ({ type: "answered", text: answer })));
    expect(endOf(events)).toMatchObject({ status: "ok" });
    expect((await store.asks(session.id)).map(({ outcome }) => outcome)).toEqual(["answered", "answered", "answered"]);
  });

  test("a question that is not answered in time expires, and the turn continues", async () => {
    const outcomes: AskOutcome[] = [];
    const { run, store, session } = await createTestEngine(async function* (_input, context) {
      outcomes.push(await context.ask(askRequest("a")));
      yield node(text("went on"));
      yield ok;
    });
    expect(endOf(await run({ asks: { how: "wait", limitMs: 5 } }))).toMatchObject({ status: "ok" });
    expect(outcomes).toEqual([{ type: "expired" }]);
    expect(await store.asks(session.id)).toMatchObject([{ outcome: "expired", answer: null }]);
  });

  test("a turn has the state asking while one of its questions is open", async () => {
    const { api, session, store } = await createTestEngine(async function* (_input, context) {
      const [a, b] = [context.ask(askRequest("a")), context.ask(askRequest("b"))];
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
    for await (const event of api.turn.start({ ...turn, asks: waitForAnswer, session: session.id }))
      if (event.type === "ask.opened" && event.ask.call === "a") await api.ask.answer({ ask: event.ask.id, text: "no" });
    expect(states).toEqual(["asking", "running"]);
  });

  test("cancelling a turn closes its questions", async () => {
    const { api, session, store } = await createTestEngine(async function* (_input, context) {
      await context.ask(askRequest("a"));
      yield { type: "end", end: { status: "cancelled" } };
    });
    for await (const event of api.turn.start({ ...turn, asks: waitForAnswer, session: session.id }))
      if (event.type === "ask.opened") await api.turn.cancel({ session: session.id });
    expect(await store.asks(session.id)).toMatchObject([{ outcome: "left", answer: null }]);
  });
});

describe("a turn that ends with its questions open", () => {
  /** Runs a first turn that asks one question per call. `paths` collects the path of every turn. */
  async function engineThatAsks(...calls: (string | null)[]) {
    const paths: Node[][] = [];
    const engine = await createTestEngine(async function* (input, context) {
      paths.push(input.path);
      if (paths.length > 1) {
        yield node(text("thanks"));
        yield ok;
        return;
      }
      const callIds = calls.filter((id) => id !== null);
      yield node(callIds.length === 0 ? text("what now?") : askUserNode(...callIds));
      for (const id of calls) await context.ask(askRequest(id, ["red", "blue"]));
      yield { type: "end", end: { status: "needs-input", error: { kind: "needs-input", message: "a?" } } };
    });
    const first = await engine.run({ asks: endWithQuestions });
    expect(endOf(first)).toMatchObject({ status: "needs-input" });
    const asks = await engine.api.ask.list({ session: null });
    return { ...engine, paths, asks: asks.map(({ id }) => id) };
  }

  test("a turn can be continued after its question is answered, and the answer is the call's result", async () => {
    const { run, api, paths, asks, store } = await engineThatAsks("a");
    expect(await codeOf(run({ prompt: null }))).toBe("usage");
    expect(await api.ask.answer({ ask: (asks[0] as string).slice(-8), text: "2" })).toMatchObject({ outcome: "answered", answer: "blue" });
    expect(endOf(await run({ prompt: null }))).toMatchObject({ status: "ok" });
    expect(readTexts(paths[1] ?? [])).toEqual(["hello", "blue"]);
    expect((await store.verify({})).problems).toEqual([]);
  });

  test("a turn with two questions can't be continued without a prompt until both are answered", async () => {
    const { run, api, paths, asks } = await engineThatAsks("a", "b");
    await api.ask.answer({ ask: asks[1] as string, text: "second" });
    expect(await codeOf(run({ prompt: null }))).toBe("usage");
    await api.ask.answer({ ask: asks[0] as string, text: "first" });
    await run({ prompt: null });
    expect(readTexts(paths[1] ?? [])).toEqual(["hello", "first", "second"]);
  });

  test("a new prompt closes an unanswered question, and the agent gets a result that says so", async () => {
    const { run, api, paths, asks } = await engineThatAsks("a", "b");
    await api.ask.answer({ ask: asks[0] as string, text: "first" });
    await run({ prompt: "something else" });
    expect(readTexts(paths[1] ?? [])).toEqual(["hello", "first", "The user continued without answering.", "something else"]);
    expect(await codeOf(api.ask.answer({ ask: asks[1] as string, text: "late" }))).toBe("ask-closed");
    expect(await api.ask.list({ session: null })).toEqual([]);
  });

  test("a question accepts one answer that is not blank, and an unknown question is refused", async () => {
    const { api, asks } = await engineThatAsks("a");
    expect(await codeOf(api.ask.answer({ ask: asks[0] as string, text: "  " }))).toBe("usage");
    await api.ask.answer({ ask: asks[0] as string, text: "red" });
    expect(await codeOf(api.ask.answer({ ask: asks[0] as string, text: "blue" }))).toBe("ask-closed");
    expect(await codeOf(api.ask.answer({ ask: "0000", text: "blue" }))).toBe("ask-unknown");
  });

  test("the answer to a question without a call becomes the next prompt, before the user's own text", async () => {
    const { run, api, paths, asks } = await engineThatAsks(null);
    expect(await codeOf(run({ prompt: null }))).toBe("usage");
    await api.ask.answer({ ask: asks[0] as string, text: "1" });
    await run({ prompt: null });
    expect(readTexts(paths[1] ?? [])).toEqual(["hello", "what now?", "red"]);
    await run({ prompt: "and then?" });
    expect(readTexts(paths[2] ?? []).at(-1)).toBe("and then?");
    const second = await engineThatAsks(null);
    await second.api.ask.answer({ ask: second.asks[0] as string, text: "1" });
    await second.run({ prompt: "quickly" });
    expect(readTexts(second.paths[1] ?? []).at(-1)).toBe("red\n\nquickly");
  });

  test("a message that is added to the session does not answer the question", async () => {
    const { run, api, paths, session } = await engineThatAsks("a");
    await api.node.add({ session: session.id, text: "by the way" });
    await run({ prompt: "go on" });
    expect(readTexts(paths[1] ?? [])).toEqual(["hello", "The user continued without answering.", "by the way", "go on"]);
  });

  test("a fork gets the answer too, but a prompt in a fork does not close the question", async () => {
    const { api, paths, session, asks } = await engineThatAsks("a");
    const fork = async () => (await api.session.fork({ session: session.id, at: null, name: null })).id;
    const before = await fork();
    await Array.fromAsync(api.turn.start({ ...turn, session: before, prompt: "else" }));
    expect(readTexts(paths[1] ?? [])).toEqual(["hello", "The user continued without answering.", "else"]);
    const after = await fork();
    expect(await codeOf(Array.fromAsync(api.turn.start({ ...turn, session: after, prompt: null })))).toBe("usage");
    await api.ask.answer({ ask: asks[0] as string, text: "red" });
    await Array.fromAsync(api.turn.start({ ...turn, session: after, prompt: null }));
    expect(readTexts(paths[2] ?? [])).toEqual(["hello", "red"]);
  });
});

test("a question of a killed process stays open and can be answered; its other calls count as interrupted", async () => {
  const paths: Node[][] = [];
  const { api, store, session, run } = await createTestEngine(async function* (input) {
    paths.push(input.path);
    yield node(text("thanks"));
    yield ok;
  });
  const lease = await store.acquire(session.id);
  const prompt: NewNode = { author: "user", parts: [{ kind: "text", text: "go" }] };
  const killedTurn = (await store.startTurn(lease, { agent: "native", model: null, policy: turn.policy, enforced: null, prompt })).value;
  await store.appendNode(lease, killedTurn.id, askUserNode("a", "b"));
  const ask = (await store.openAsk(lease, killedTurn.id, { ...askRequest("a"), expiresAt: Date.now() + 1 })).value;
  await store.release(lease);

  expect(await codeOf(run({ prompt: null }))).toBe("usage");
  expect(await store.turn(killedTurn.id)).toMatchObject({ status: "killed" });
  await api.ask.answer({ ask: ask.id, text: "yes" });
  expect(endOf(await run({ prompt: null }))).toMatchObject({ status: "ok" });
  expect(readTexts(paths[0] ?? [])).toEqual(["go", expect.stringContaining("Interrupted"), "yes"]);
  expect((await store.verify({})).problems).toEqual([]);
});
