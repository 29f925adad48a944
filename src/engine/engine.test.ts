// The engine over a real store, with agents that do just what a test needs.
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createTestClock } from "../kit/flow/fixtures/test-clock.ts";
import type { Event } from "../protocol/tree/event.ts";
import type { DelegateRequest, TurnInput } from "../protocol/api/ports.ts";
import { call, endOf, createTestEngine, node, ok, type TakeTurn, text, turn, typesOf } from "./fixtures/engine-with.ts";

describe("a turn", () => {
  test("is recorded in the store and the transcript before it is shown", async () => {
    const seen: number[] = [];
    const { store, session, api } = await createTestEngine(async function* () {
      yield node(text("hi"));
      yield ok;
    });
    for await (const event of api.turn.start({ ...turn, session: session.id })) {
      if (event.type !== "node.added") continue;
      const stored = await store.node(event.node.id);
      const lines = readFileSync(session.transcript as string, "utf8");
      seen.push(stored !== null && lines.includes(event.node.id) ? 1 : 0);
    }
    expect(seen).toEqual([1, 1]);
  });

  test("starts, adds its nodes and ends, with usage and cost summed", async () => {
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

  test("that an agent leaves without an end is broken, not ok", async () => {
    const { run } = await createTestEngine(async function* () {
      yield node(text("hi"));
    });
    expect(endOf(await run())).toMatchObject({ status: "broken" });
  });

  test("ends as cancelled when it is cancelled, and keeps what there is", async () => {
    const made = await createTestEngine(async function* (_input, context) {
      yield node(text("so far"));
      await new Promise((resolve) => context.signal.addEventListener("abort", resolve, { once: true }));
      yield { type: "end", end: { status: "cancelled" } };
    });
    const events: Event[] = [];
    for await (const event of made.api.turn.start({ ...turn, session: made.session.id })) {
      events.push(event);
      if (event.type === "node.added" && event.node.author === "agent") await made.api.turn.cancel({ session: made.session.id });
    }
    expect(endOf(events)).toMatchObject({ status: "cancelled" });
    expect((await made.store.session(made.session.id))?.tip).toBe(endOf(events)?.tip as string);
  });

  test("ends as timed-out or stalled when a limit stops it", async () => {
    const wait: TakeTurn = async function* (_input, context) {
      await new Promise((resolve) => context.signal.addEventListener("abort", resolve, { once: true }));
      yield { type: "end", end: { status: "cancelled" } };
    };
    const { run } = await createTestEngine(wait);
    expect(endOf(await run({ timeoutMs: 20 }))).toMatchObject({ status: "timed-out" });
    expect(endOf(await run({ idleMs: 20 }))).toMatchObject({ status: "stalled" });
  });

  test("gets the whole path, or with fresh only its prompt", async () => {
    const paths: number[] = [];
    const { run } = await createTestEngine(async function* (input) {
      paths.push(input.path.length);
      yield node(text("hi"));
      yield ok;
    });
    await run();
    await run({ prompt: "again" });
    await run({ prompt: "alone", fresh: true });
    expect(paths).toEqual([1, 3, 1]);
  });

  test("of a session that is running elsewhere is refused and names the holder", async () => {
    const made = await createTestEngine(async function* (_input, context) {
      await new Promise((resolve) => context.signal.addEventListener("abort", resolve, { once: true }));
      yield ok;
    });
    const first = made.api.turn.start({ ...turn, session: made.session.id })[Symbol.asyncIterator]();
    await first.next();
    await expect(made.run()).rejects.toThrow(String(process.pid));
    await made.api.turn.cancel({ session: made.session.id });
    for (let next = await first.next(); next.done !== true; next = await first.next());
  });
});

describe("what a dead process left", () => {
  test("becomes nodes, and its running call gets a result that says its state is unknown", async () => {
    const paths: string[][] = [];
    const made = await createTestEngine(async function* (input) {
      paths.push(input.path.flatMap((entry) => entry.parts.map((part) => (part.kind === "result" ? part.text : part.kind))));
      yield ok;
    });
    const lease = await made.store.acquire(made.session.id);
    const left = await made.store.startTurn(lease, {
      agent: "native",
      model: "test/one",
      policy: turn.policy,
      enforced: null,
      prompt: { author: "user", parts: [{ kind: "text", text: "go" }] },
    });
    await made.store.appendNode(lease, left.value.id, call("c1"));
    await made.store.saveDraft(lease, left.value.id, { key: "c1", text: "half an outp" });
    await made.store.release(lease);

    const events = await made.run({ prompt: null });
    expect(paths[0]?.[2]).toMatch(/Interrupted.*state is unknown.*half an outp/s);
    expect(await made.store.turn(left.value.id)).toMatchObject({ status: "killed" });
    expect(endOf(events)).toMatchObject({ status: "ok" });
    expect((await made.store.verify({})).problems).toEqual([]);
  });

  test("keeps an answer that was streaming, and says that it is incomplete", async () => {
    const made = await createTestEngine(async function* () {
      yield ok;
    });
    const lease = await made.store.acquire(made.session.id);
    const left = await made.store.startTurn(lease, {
      agent: "native",
      model: null,
      policy: turn.policy,
      enforced: null,
      prompt: { author: "user", parts: [{ kind: "text", text: "go" }] },
    });
    await made.store.saveDraft(lease, left.value.id, { key: "text", text: "The answer is fo" });
    await made.store.release(lease);
    await made.run({ prompt: null });
    const nodes = await made.store.sessionNodes(made.session.id);
    expect(nodes.map((entry) => entry.author)).toEqual(["user", "agent", "note"]);
    expect(nodes[1]?.parts).toEqual([{ kind: "text", text: "The answer is fo" }]);
  });

  test("can be gone on with only if something was interrupted", async () => {
    const made = await createTestEngine(async function* () {
      yield node(text("done"));
      yield ok;
    });
    await made.run();
    await expect(made.run({ prompt: null })).rejects.toThrow("no interrupted turn");
  });
});

describe("a sub-session", () => {
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

  test("knows the topmost session of the run, and executes no plan of its parent's", async () => {
    const seen: [string, string | null][] = [];
    const { api, root } = await createTestEngine(async function* (input, context) {
      seen.push([input.root, input.plan]);
      if (isParent(input)) await context.delegate(request());
      yield ok;
    });
    const place = { directory: root, task: "t", agent: "native", model: "test/one", toolLevel: "minimal" as const };
    const plan = { file: join(root, "plan.md"), text: "1. look" };
    const session = await api.session.open({ ...place, find: { by: "new" }, parentSession: null, transcriptDir: null, plan });
    await Array.fromAsync(api.turn.start({ ...turn, session: session.id }));
    expect(seen).toEqual([
      [session.id, "1. look"],
      [session.id, null],
    ]);
  });

  test("that works keeps its parent from being called idle", async () => {
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

  test("of an agent that does not exist leaves no session behind", async () => {
    const { run, store } = await createTestEngine(async function* (_input, context) {
      await expect(context.delegate(request({ agent: "nobody" }))).rejects.toThrow('no agent "nobody"');
      yield ok;
    });
    expect(endOf(await run())).toMatchObject({ status: "ok" });
    expect(await store.listSessions({ project: null, subSessions: true })).toHaveLength(1);
  });

  test("has its parent's model when the same agent is named, and its transcript beside its parent's", async () => {
    const models: (string | null)[] = [];
    const { run, store, session } = await createTestEngine(async function* (input, context) {
      models.push(input.model);
      if (isParent(input)) await context.delegate(request({ agent: "native" }));
      yield ok;
    });
    await run({ model: "test/two" });
    expect(models).toEqual(["test/two", "test/two"]);
    const [child] = (await store.listSessions({ project: null, subSessions: true })).filter((each) => each.parentSession === session.id);
    expect(dirname(child?.transcript ?? "")).toBe(dirname(session.transcript as string));
  });
});

describe("closing the engine", () => {
  test("stops a turn that nobody watches any more, and records how it ended", async () => {
    const made = await createTestEngine(async function* (_input, context) {
      yield node(text("so far"));
      if (!context.signal.aborted) await new Promise((resolve) => context.signal.addEventListener("abort", resolve, { once: true }));
      yield { type: "end", end: { status: "cancelled" } };
    });
    for await (const event of made.api.turn.start({ ...turn, session: made.session.id })) if (event.type === "node.added") break;
    await made.api.close();
    expect(await made.store.turnsOf(made.session.id)).toMatchObject([{ status: "cancelled" }]);
  });
});

describe("a session that is named", () => {
  const named = (wanted: string) => ({
    find: { by: "name" as const, wanted, orCreate: true },
    task: "t",
    agent: "native",
    model: "test/one",
    toolLevel: "minimal" as const,
    parentSession: null,
    transcriptDir: null,
  });

  test("by a date is made, and by what can only be an id is not", async () => {
    const { api, root } = await createTestEngine(async function* () {});
    for (const name of ["2026-11-16", "release-1", "feed-20261116"])
      expect(await api.session.open({ ...named(name), directory: root })).toMatchObject({ name });
    for (const id of ["0123abcd", "7131-9390-0201a3befadf", "01a1e22c-d898-7131-9390-0201a3befadf"]) {
      await expect(api.session.open({ ...named(id), directory: root })).rejects.toThrow(`no session "${id}"`);
    }
  });
});
