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

/** An agent that answers a request for a description with `answer`. In other turns it calls a tool that fails. */
function createAgent(answers: { prompts: string[]; answer?: string }): TakeTurn {
  return async function* (input, context) {
    if (input.answerSchema !== null) {
      const prompt = input.path.at(-1)?.parts[0];
      answers.prompts.push(prompt?.kind === "text" ? prompt.text : "");
      yield node(text(answers.answer ?? JSON.stringify(prose)));
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

let snapshotCount = 0;
const snapshots = {
  take: async () => `state${(snapshotCount += 1)}`,
  read: async () => ({ id: `state${(snapshotCount += 1)}`, stored: null }),
  isFast: async () => false,
  save: async () => {},
  entries: async (_project, pairs) => pairs.map(([before, after]) => [{ path: "a.ts", before, after }]),
  describe: async (_project, { length }) => ({
    changes: length === 0 ? [] : [{ path: "a.ts", kind: "modified", added: 2 * length, removed: length }],
    patch: "",
  }),
} as Partial<Snapshots> as Snapshots;

async function engineToDescribe(answer?: string) {
  const answers: { prompts: string[]; answer?: string } = { prompts: [], ...(answer === undefined ? {} : { answer }) };
  const history = {
    commits: async () => ({ commits: [], note: null }),
    redact: (content: string) => content.replaceAll("hunter2", "[redacted]"),
    promptWithBrief: async (path: unknown[], prompt: string) => `${path.length} nodes\n${prompt}`,
  };
  const engine = await createTestEngine(createAgent(answers), { history, snapshots });
  const describe = (change: Partial<DescribeSessionParams> = {}) =>
    engine.api.session.describe({
      session: engine.session.id,
      directory: engine.root,
      model: null,
      instructions: null,
      anew: false,
      limitMs: 60_000,
      ...change,
    });
  return { ...engine, describe, prompts: answers.prompts };
}

test("turns, files, tools, errors and numbers are read from the store, and a model writes the prose", async () => {
  const { describe, run, session, prompts } = await engineToDescribe();
  await run({ prompt: "make it with hunter2" });
  await run({ prompt: "again" });
  const description = await describe();
  expect(description).toMatchObject({
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
  expect(description.oneLiner!.length).toBeLessThanOrEqual(120);
  expect(description.notes).toBeUndefined();
  expect(prompts[0]).toStartWith("8 nodes\n");
});

test("a description is stored until the session or the request changes, or `anew` is set", async () => {
  const { describe, run, prompts } = await engineToDescribe();
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
  const { describe, run, api, store, session, root } = await engineToDescribe();
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
  const broken = await engineToDescribe("no JSON");
  await broken.run({ prompt: "make it" });
  const description = await broken.describe();
  expect(description.notes![0]).toStartWith("there is no summary: the model's answer is not JSON");
  expect(description).toMatchObject({ status: "ok", artifacts: { tools: [{ name: "bash" }] } });
  expect([description.oneLiner, description.summary]).toEqual([undefined, undefined]);
  expect(await broken.describe()).toEqual(description);
  expect(broken.prompts.length).toBe(2);

  const chooseModel = async (_agent: string, name: string | null) => {
    if (name === "test/one") return name;
    throw new Fault("auth", "no model can be asked");
  };
  const withoutModel = await createTestEngine(createAgent({ prompts: [] }), { chooseModel });
  await withoutModel.run({ prompt: "make it" });
  const params = { session: withoutModel.session.id, directory: withoutModel.root, instructions: null, anew: false, limitMs: 60_000 };
  expect((await withoutModel.api.session.describe({ ...params, model: null })).notes).toContain(
    "there is no summary: no model can be asked",
  );
  await expect(withoutModel.api.session.describe({ ...params, model: "test/two" })).rejects.toThrow("no model can be asked");
});

test("an empty session has a note instead of a summary, and an unknown one is a fault", async () => {
  const { describe } = await engineToDescribe();
  expect(await describe()).toMatchObject({
    sessionType: "minimal",
    status: null,
    metrics: { messageCount: 0, turns: 0, durationSeconds: 0 },
    notes: ["there is no summary: the session is empty"],
  });
  await expect(describe({ session: "nobody" })).rejects.toThrow('there is no session "nobody"');
});
