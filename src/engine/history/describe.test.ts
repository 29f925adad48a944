// Summaries of sessions: facts from the store, prose from a model, and a note without a model.
import { expect, test } from "bun:test";
import { Fault } from "../../protocol/api/error.ts";
import type { DescribeSessionParams } from "../../protocol/tree/history.ts";
import type { NewNode } from "../../protocol/tree/node.ts";
import type { Snapshots } from "../../protocol/api/ports.ts";
import { call, createTestEngine, node, ok, text, type TakeTurn } from "../fixtures/engine-with.ts";

const failed: NewNode = {
  author: "tool",
  parts: [{ kind: "result", call: "c1", name: "bash", text: "no such\nfile", isError: true }],
};

const prose = {
  one_liner: `${"long ".repeat(40)}line`,
  summary: "It was made.",
  decisions: ["to make it"],
  insights: [],
  next_steps: ["ship it"],
};

/** Describes what it is asked to describe, and otherwise calls a tool that fails. */
function worker(answers: { prompts: string[]; say?: string }): TakeTurn {
  return async function* (input, context) {
    if (input.answerSchema !== null) {
      const prompt = input.path.at(-1)?.parts[0];
      answers.prompts.push(prompt?.kind === "text" ? prompt.text : "");
      yield node(text(answers.say ?? JSON.stringify(prose)));
      yield ok;
      return;
    }
    await context.keepFiles();
    yield node(call("c1"));
    yield node(failed);
    yield node(text("made"));
    yield ok;
  };
}

let taken = 0;
const snapshots = {
  take: async () => `state${(taken += 1)}`,
  changes: async () => [{ path: "a.ts", kind: "modified", added: 2, removed: 1 }],
} as unknown as Snapshots;

async function described(say?: string) {
  const answers: { prompts: string[]; say?: string } = { prompts: [], ...(say === undefined ? {} : { say }) };
  const history = {
    commits: async () => ({ commits: [], note: null }),
    redact: (words: string) => words.replaceAll("hunter2", "[redacted]"),
    briefed: async (path: unknown[], prompt: string) => `${path.length} nodes\n${prompt}`,
  };
  const made = await createTestEngine(worker(answers), { history, snapshots });
  const describe = (change: Partial<DescribeSessionParams> = {}) =>
    made.api.session.describe({
      session: made.session.id,
      directory: made.root,
      model: null,
      instructions: null,
      anew: false,
      limitMs: 60_000,
      ...change,
    });
  return { ...made, describe, prompts: answers.prompts };
}

test("turns, files, tools, errors and numbers come from the store, the prose from the model", async () => {
  const { describe, run, session, prompts } = await described();
  await run({ prompt: "make it with hunter2" });
  await run({ prompt: "again" });
  const told = await describe();
  expect(told).toMatchObject({
    session: { id: session.id, name: null },
    sessionType: "standard",
    status: "ok",
    summary: "It was made.",
    outcomes: { decisions: ["to make it"], nextSteps: ["ship it"] },
    timeline: [
      { agent: "native", task: "make it with [redacted]", status: "ok" },
      { agent: "native", task: "again", status: "ok" },
    ],
    artifacts: {
      files: [{ path: "a.ts", kind: "modified", added: 4, removed: 2 }],
      errors: [
        { by: "bash", message: "no such file" },
        { by: "bash", message: "no such file" },
      ],
      tools: [{ name: "bash", calls: 2, failed: 2 }],
    },
    metrics: { messageCount: 4, turns: 2, outputTokens: 4, costUsd: 0.02 },
  });
  expect(told.oneLiner!.length).toBeLessThanOrEqual(120);
  expect(told.notes).toBeUndefined();
  expect(prompts[0]).toStartWith("8 nodes\n");
});

test("a description is stored until the session or the request changes, or `anew` is set", async () => {
  const { describe, run, prompts } = await described();
  await run({ prompt: "make it" });
  const first = await describe();
  expect(await describe()).toEqual(first);
  expect(prompts.length).toBe(1);
  await describe({ anew: true });
  await describe({ instructions: "in verse" });
  expect(prompts.length).toBe(3);
  expect(prompts[2]).toContain("in verse");
  await describe();
  expect(prompts.length).toBe(3);
  await run({ prompt: "more" });
  expect((await describe()).metrics.turns).toBe(2);
  expect(prompts.length).toBe(4);
});

test("describing a session does not change it, and the describing sub-session is neither listed nor found by search", async () => {
  const { describe, run, api, store, session, root } = await described();
  await run({ prompt: "make it" });
  const before = await store.session(session.id);
  await describe();
  expect(await store.session(session.id)).toEqual(before);
  expect((await api.session.list({ project: null, subSessions: true })).map(({ id }) => id)).toEqual([session.id]);
  expect((await api.session.list({ project: null, subSessions: true, archived: true })).map(({ parentSession }) => parentSession)).toEqual([
    session.id,
  ]);
  const search = { directory: root, limit: 10, kinds: ["conversation" as const], asker: null };
  expect((await api.history.search({ ...search, query: "JSON" })).hits).toEqual([]);
});

test("without a model, or with an invalid answer, the facts are still returned", async () => {
  const broken = await described("no JSON");
  await broken.run({ prompt: "make it" });
  const told = await broken.describe();
  expect(told.notes![0]).toStartWith("there is no summary: the model's answer is not JSON");
  expect(told).toMatchObject({ status: "ok", artifacts: { tools: [{ name: "bash" }] } });
  expect([told.oneLiner, told.summary]).toEqual([undefined, undefined]);
  expect(await broken.describe()).toEqual(told);
  expect(broken.prompts.length).toBe(2);

  const chooseModel = async (_agent: string, name: string | null) => {
    if (name === "test/one") return name;
    throw new Fault("auth", "no model can be asked");
  };
  const none = await createTestEngine(worker({ prompts: [] }), { chooseModel });
  await none.run({ prompt: "make it" });
  const wish = { session: none.session.id, directory: none.root, instructions: null, anew: false, limitMs: 60_000 };
  expect((await none.api.session.describe({ ...wish, model: null })).notes).toContain("there is no summary: no model can be asked");
  await expect(none.api.session.describe({ ...wish, model: "test/two" })).rejects.toThrow("no model can be asked");
});

test("an empty session has a note instead of a summary, and an unknown one is a fault", async () => {
  const { describe } = await described();
  expect(await describe()).toMatchObject({
    sessionType: "minimal",
    status: null,
    metrics: { messageCount: 0, turns: 0, durationSeconds: 0 },
    notes: ["there is no summary: the session is empty"],
  });
  await expect(describe({ session: "nobody" })).rejects.toThrow('There is no session "nobody"');
});
