// The engine with a real store and an agent that each test defines.
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createTestClock } from "../kit/flow/fixtures/test-clock.ts";
import type { Event } from "../protocol/tree/event.ts";
import type { DelegateRequest, TurnInput } from "../protocol/api/ports.ts";
import { call, endOf, createTestEngine, node, ok, type TakeTurn, text, turn, typesOf } from "./fixtures/engine-with.ts";

describe("turns", () => {
  test("a node is in the store and in the transcript before its event is sent", async () => {
    const isRecorded: boolean[] = [];
    const { store, session, api } = await createTestEngine(async function* () {
      yield node(text("hi"));
      yield ok;
    });
    for await (const event of api.turn.start({ ...turn, session: session.id })) {
      if (event.type !== "node.added") continue;
      const stored = await store.node(event.node.id);
      const lines = readFileSync(session.transcript as string, "utf8");
      isRecorded.push(stored !== null && lines.includes(event.node.id));
    }
    expect(isRecorded).toEqual([true, true]);
  });

  test("a turn starts, adds its nodes and ends with the sum of usage and cost", async () => {
    const { run } = await createTestEngine(async function* () {
      yield { type: "transient", event: { type: "text.delta", text: "h" } };
      yield node(text("hi"));
      yield node(text("ho"));
      yield ok;
    });
    const events = await run();
    expect(typesOf(events)).toEqual(["turn.started", "node.added", "text.delta", "node.added", "node.added", "turn.ended"]);
    expect(endOf(events)).toMatchObject({ status: "ok", steps: 2, usage: { input: 10, output: 4 }, costUsd: 0.02 });
  });

  test("a turn whose agent returns without an end event is broken", async () => {
    const { run } = await createTestEngine(async function* () {
      yield node(text("hi"));
    });
    expect(endOf(await run())).toMatchObject({ status: "broken" });
  });

  test("a cancelled turn ends as cancelled and keeps its nodes", async () => {
    const engine = await createTestEngine(async function* (_input, context) {
      yield node(text("so far"));
      await new Promise((resolve) => context.signal.addEventListener("abort", resolve, { once: true }));
      yield { type: "end", end: { status: "cancelled" } };
    });
    const events: Event[] = [];
    for await (const event of engine.api.turn.start({ ...turn, session: engine.session.id })) {
      events.push(event);
      if (event.type === "node.added" && event.node.author === "agent") await engine.api.turn.cancel({ session: engine.session.id });
    }
    expect(endOf(events)).toMatchObject({ status: "cancelled" });
    expect((await engine.store.session(engine.session.id))?.tip).toBe(endOf(events)?.tip as string);
  });

  test("a turn that reaches a time limit ends as timed-out or stalled", async () => {
    const wait: TakeTurn = async function* (_input, context) {
      await new Promise((resolve) => context.signal.addEventListener("abort", resolve, { once: true }));
      yield { type: "end", end: { status: "cancelled" } };
    };
    const { run } = await createTestEngine(wait);
    expect(endOf(await run({ timeoutMs: 20 }))).toMatchObject({ status: "timed-out" });
    expect(endOf(await run({ idleMs: 20 }))).toMatchObject({ status: "stalled" });
  });

  test("an agent gets the whole path, or only the prompt if the turn is fresh", async () => {
    const pathLengths: number[] = [];
    const { run } = await createTestEngine(async function* (input) {
      pathLengths.push(input.path.length);
      yield node(text("hi"));
      yield ok;
    });
    await run();
    await run({ prompt: "again" });
    await run({ prompt: "alone", fresh: true });
    expect(pathLengths).toEqual([1, 3, 1]);
  });

  test("a second turn in a running session is refused with the pid of the holder", async () => {
    const engine = await createTestEngine(async function* (_input, context) {
      await new Promise((resolve) => context.signal.addEventListener("abort", resolve, { once: true }));
      yield ok;
    });
    const first = engine.api.turn.start({ ...turn, session: engine.session.id })[Symbol.asyncIterator]();
    await first.next();
    await expect(engine.run()).rejects.toThrow(String(process.pid));
    await engine.api.turn.cancel({ session: engine.session.id });
    for (let next = await first.next(); next.done !== true; next = await first.next());
  });
});

describe("the open turn of a killed process", () => {
  test("a running call of a killed process gets the result that its state is unknown", async () => {
    const paths: string[][] = [];
    const engine = await createTestEngine(async function* (input) {
      paths.push(input.path.flatMap((entry) => entry.parts.map((part) => (part.kind === "result" ? part.text : part.kind))));
      yield ok;
    });
    const lease = await engine.store.acquire(engine.session.id);
    const killedTurn = await engine.store.startTurn(lease, {
      agent: "native",
      model: "test/one",
      policy: turn.policy,
      enforced: null,
      prompt: { author: "user", parts: [{ kind: "text", text: "go" }] },
    });
    await engine.store.appendNode(lease, killedTurn.value.id, call("c1"));
    await engine.store.saveDraft(lease, killedTurn.value.id, { key: "c1", text: "half an outp" });
    await engine.store.release(lease);

    const events = await engine.run({ prompt: null });
    expect(paths[0]?.[2]).toMatch(/Interrupted.*state is unknown.*half an outp/s);
    expect(await engine.store.turn(killedTurn.value.id)).toMatchObject({ status: "killed" });
    expect(endOf(events)).toMatchObject({ status: "ok" });
    expect((await engine.store.verify({})).problems).toEqual([]);
  });

  test("a partial answer of a killed process becomes a node, with a note that it is incomplete", async () => {
    const engine = await createTestEngine(async function* () {
      yield ok;
    });
    const lease = await engine.store.acquire(engine.session.id);
    const killedTurn = await engine.store.startTurn(lease, {
      agent: "native",
      model: null,
      policy: turn.policy,
      enforced: null,
      prompt: { author: "user", parts: [{ kind: "text", text: "go" }] },
    });
    await engine.store.saveDraft(lease, killedTurn.value.id, { key: "text", text: "The answer is fo" });
    await engine.store.release(lease);
    await engine.run({ prompt: null });
    const nodes = await engine.store.sessionNodes(engine.session.id);
    expect(nodes.map((entry) => entry.author)).toEqual(["user", "agent", "note"]);
    expect(nodes[1]?.parts).toEqual([{ kind: "text", text: "The answer is fo" }]);
  });

  test("a session without an interrupted turn can't be continued without a prompt", async () => {
    const engine = await createTestEngine(async function* () {
      yield node(text("done"));
      yield ok;
    });
    await engine.run();
    await expect(engine.run({ prompt: null })).rejects.toThrow("no interrupted turn");
  });
});

describe("sub-sessions", () => {
  const request = (change: Partial<DelegateRequest> = {}): DelegateRequest => ({
    task: "part",
    call: "c",
    role: null,
    attachable: false,
    agent: null,
    model: null,
    sandbox: {},
    signal: new AbortController().signal,
    onEvent: () => {},
    ...change,
  });
  const isParent = (input: TurnInput) => input.path[0]?.parts.some((part) => part.kind === "text" && part.text === "hello") === true;

  test("a sub-session gets the id of the root session, but not the plan of its parent", async () => {
    const inputs: [string, string | null][] = [];
    const { api, root } = await createTestEngine(async function* (input, context) {
      inputs.push([input.root, input.plan]);
      if (isParent(input)) await context.delegate(request());
      yield ok;
    });
    const options = { directory: root, task: "t", agent: "native", model: "test/one", toolLevel: "minimal" as const };
    const plan = { file: join(root, "plan.md"), text: "1. look" };
    const session = await api.session.open({ ...options, find: { by: "new" }, parentSession: null, transcriptDir: null, plan });
    await Array.fromAsync(api.turn.start({ ...turn, session: session.id }));
    expect(inputs).toEqual([
      [session.id, "1. look"],
      [session.id, null],
    ]);
  });

  test("a parent does not stall while its sub-session works", async () => {
    const clock = createTestClock();
    const takeTurn: TakeTurn = async function* (input, context) {
      if (isParent(input)) {
        await context.delegate(request());
        return yield ok;
      }
      for (let step = 0; step < 8; step++) {
        await clock.advance(200);
        yield node(text(`step ${step}`));
      }
      yield ok;
    };
    const { run } = await createTestEngine(takeTurn, { clock });
    expect(endOf(await run({ idleMs: 1_000 }))).toMatchObject({ status: "ok" });
  });

  test("a sub-session with an unknown agent is not created", async () => {
    const { run, store } = await createTestEngine(async function* (_input, context) {
      await expect(context.delegate(request({ agent: "nobody" }))).rejects.toThrow('no agent "nobody"');
      yield ok;
    });
    expect(endOf(await run())).toMatchObject({ status: "ok" });
    expect(await store.listSessions({ project: null, subSessions: true })).toHaveLength(1);
  });

  test("a sub-session with the same agent uses its parent's model and transcript directory", async () => {
    const models: (string | null)[] = [];
    const { run, store, session } = await createTestEngine(async function* (input, context) {
      models.push(input.model);
      if (isParent(input)) await context.delegate(request({ agent: "native" }));
      yield ok;
    });
    await run({ model: "test/two" });
    expect(models).toEqual(["test/two", "test/two"]);
    const sessions = await store.listSessions({ project: null, subSessions: true });
    const subSession = sessions.find(({ parentSession }) => parentSession === session.id);
    expect(dirname(subSession?.transcript ?? "")).toBe(dirname(session.transcript as string));
  });
});

describe("closing the engine", () => {
  test("closing the engine cancels a turn that is no longer watched, and records its end", async () => {
    const engine = await createTestEngine(async function* (_input, context) {
      yield node(text("so far"));
      if (!context.signal.aborted) await new Promise((resolve) => context.signal.addEventListener("abort", resolve, { once: true }));
      yield { type: "end", end: { status: "cancelled" } };
    });
    for await (const event of engine.api.turn.start({ ...turn, session: engine.session.id })) if (event.type === "node.added") break;
    await engine.api.close();
    expect(await engine.store.turnsOf(engine.session.id)).toMatchObject([{ status: "cancelled" }]);
  });
});

describe("session names", () => {
  const createParams = (name: string) => ({
    find: { by: "name" as const, wanted: name, orCreate: true },
    task: "t",
    agent: "native",
    model: "test/one",
    toolLevel: "minimal" as const,
    parentSession: null,
    transcriptDir: null,
  });

  test("a session can be created with a date as its name, but not with a name that looks like an id", async () => {
    const { api, root } = await createTestEngine(async function* () {});
    for (const name of ["2026-11-16", "release-1", "feed-20261116"])
      expect(await api.session.open({ ...createParams(name), directory: root })).toMatchObject({ name });
    for (const id of ["0123abcd", "7131-9390-0201a3befadf", "01a1e22c-d898-7131-9390-0201a3befadf"]) {
      await expect(api.session.open({ ...createParams(id), directory: root })).rejects.toThrow(`no session "${id}"`);
    }
  });
});
