// The native turn with a scripted model and the real tools in this process: what it makes of odd answers.
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startTestExecutor } from "../../executor/fixtures/test-executor.ts";
import type { ModelEvent, ModelRequest } from "../../models/model.ts";
import type { TurnError } from "../../protocol/api/error.ts";
import type { CallPart, NewNode, Node, Part } from "../../protocol/tree/node.ts";
import type { AskRequest, TurnContext, TurnInput } from "../../protocol/api/ports.ts";
import type { TurnEnd } from "../../protocol/tree/turn.ts";
import { nativeAgent } from "./native-agent.ts";

type Answer = { parts: Part[]; stop?: Extract<ModelEvent, { type: "done" }>["stop"]; error?: TurnError };
type Request = Pick<ModelRequest, "messages">;

const usage = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0 };
const said = (text: string): Part => ({ kind: "text", text });
const called = (id: string, command: string): CallPart => ({ kind: "call", id, name: "bash", input: { command } });

/** Takes a turn in which the model gives these answers, the last one again and again. */
async function turnWith(
  answers: Answer[],
  change: Partial<TurnInput> = {},
  around: Partial<TurnContext> = {},
): Promise<{ end: TurnEnd | null; requests: Request[]; nodes: NewNode[] }> {
  const directory = mkdtempSync(join(tmpdir(), "skein-loop-"));
  const requests: Request[] = [];
  const executor = startTestExecutor({ env: { PATH: process.env["PATH"] ?? "" }, cwd: "/" });
  const agent = nativeAgent({
    model: async () => ({
      name: "test/one",
      async *stream(request) {
        const answer = answers[Math.min(requests.length, answers.length - 1)] as Answer;
        requests.push(structuredClone({ messages: request.messages }));
        const { parts, stop = "end", error } = answer;
        yield error === undefined ? { type: "done", parts, usage, stop } : { type: "failed", parts, usage, error };
      },
      body: async () => "",
      price: async () => 0,
      window: async () => null,
    }),
    executor: () => executor,
    enforced: async () => {
      throw new Error("not asked for here");
    },
    toolEnv: {},
    contextFiles: () => [],
    skills: () => ({ text: "", paths: [] }),
  });
  let count = 0;
  const stored = (node: Pick<Node, "author" | "parts">): Node => ({
    ...node,
    id: `n${++count}`,
    parent: null,
    tree: "t",
    session: "s",
    turn: "u",
    at: 0,
  });
  const input = { ...turn, directory, project: directory, path: [stored({ author: "user", parts: [said("go")] })], ...change };
  let end: TurnEnd | null = null;
  const nodes: NewNode[] = [];
  try {
    for await (const event of agent.takeTurn(input, { ...context, ...around })) {
      if (event.type === "node") {
        nodes.push(event.node);
        event.recorded(stored(event.node));
      }
      if (event.type === "end") end = event.end;
    }
  } finally {
    await executor.close();
    rmSync(directory, { recursive: true, force: true });
  }
  return { end, requests, nodes };
}

const turn: Omit<TurnInput, "path" | "directory" | "project"> = {
  session: "s",
  turn: "u",
  model: null,
  toolLevel: "minimal",
  tools: null,
  spawn: false,
  system: null,
  appendSystem: null,
  contextFiles: false,
  plan: null,
  root: "s",
  policy: { name: "workspace", sandbox: "auto", net: "off", allowWrite: [], addDirs: [] },
  nesting: false,
  limits: { maxSteps: 10, maxTokens: null, maxBudgetUsd: null, maxChildren: null, treeSteps: null },
  command: null,
  group: null,
  team: null,
  native: null,
  agentArgs: [],
  tree: "t",
  logs: null,
  answerSchema: null,
};

const context = {
  signal: new AbortController().signal,
  keepOutput: () => ({ write: () => {}, close: async () => null }),
  keepFiles: async () => {},
  keepAlive: () => {},
  readOutput: async () => new ReadableStream<Uint8Array>(),
  delegate: async () => {
    throw new Error("nothing is delegated here");
  },
  reserve: async () => () => {},
  count: () => null,
  ask: () => Promise.reject(new Error("nobody is there")),
  canAsk: false,
  takeInput: async () => [],
  registerPausable: () => () => {},
  sendMessage: async () => false,
  findFinishedTask: async () => null,
};

test("calls of one message with the same id each get their own result", async () => {
  const { end, requests } = await turnWith([
    { parts: [called("same", "echo one"), called("same", "echo two")], stop: "calls" },
    { parts: [said("done")] },
  ]);
  expect(end).toMatchObject({ status: "ok", answer: "done" });
  const results = requests[1]?.messages.at(-1)?.parts.map((part) => (part.kind === "result" ? [part.call, part.text.trim()] : []));
  expect(results).toEqual([
    ["same", "one"],
    ["same-2", "two"],
  ]);
});

test("an answer that was cut at the output limit and gone on with is one answer", async () => {
  const { end } = await turnWith([{ parts: [said("first half, ")], stop: "length" }, { parts: [said("second half")] }]);
  expect(end).toEqual({ status: "ok", answer: "first half, second half" });
});

test("an answer that never ends is too long, and all of it is kept", async () => {
  const { end } = await turnWith([{ parts: [said("more ")], stop: "length" }]);
  expect(end).toMatchObject({ status: "too-long", answer: "more more more " });
});

test("a model that only thinks is asked once more, and its turn is not ok without an answer", async () => {
  const thinking: Answer = { parts: [{ kind: "thinking", text: "hm" }] };
  expect((await turnWith([thinking, { parts: [said("here")] }])).end).toMatchObject({ status: "ok", answer: "here" });
  expect((await turnWith([thinking])).end).toMatchObject({ status: "broken", error: { message: "test/one ended without an answer" } });
});

test("with a schema the answer is the bare JSON, without a fence or blanks around it", async () => {
  const answerSchema = { type: "object", required: ["a"] };
  expect((await turnWith([{ parts: [said('```json\n{"a": 1}\n```')] }], { answerSchema })).end).toEqual({
    status: "ok",
    answer: '{"a": 1}',
  });
  expect((await turnWith([{ parts: [said("no")] }, { parts: [said('\n{"a": 2}\n')] }], { answerSchema })).end).toEqual({
    status: "ok",
    answer: '{"a": 2}',
  });
});

test("what a request used is counted when it fails while the model thinks, and the thought is kept", async () => {
  const thought: Part = { kind: "thinking", text: "first I" };
  const { end, nodes } = await turnWith([
    { parts: [thought, called("c", "true")], error: { kind: "network", message: "the connection was dropped" } },
  ]);
  expect(end).toMatchObject({ status: "network" });
  expect(nodes).toMatchObject([{ author: "agent", parts: [thought], usage }]);
});

const question = (id: string, input: Record<string, unknown>): CallPart => ({ kind: "call", id, name: "ask_user", input });
const resultsOf = (request: Request | undefined) =>
  request?.messages.at(-1)?.parts.map((part) => (part.kind === "result" ? [part.text, part.isError] : [])) ?? [];

test("the answer to a question is the result of its call, and one that nobody answers is an error that says so", async () => {
  const wishes: AskRequest[] = [];
  const ask: TurnContext["ask"] = async (wish) => {
    wishes.push(wish);
    return wish.call === "a" ? { type: "answered", text: "blue" } : { type: "expired" };
  };
  const { end, requests } = await turnWith(
    [
      { parts: [question("a", { question: "Which?", options: ["red", "blue"] }), question("b", { question: "Why?" })], stop: "calls" },
      { parts: [said("so")] },
    ],
    {},
    { canAsk: true, ask },
  );
  expect(end).toMatchObject({ status: "ok", answer: "so" });
  expect(wishes).toEqual([
    { call: "a", question: "Which?", options: ["red", "blue"] },
    { call: "b", question: "Why?", options: [] },
  ]);
  expect(resultsOf(requests[1])).toEqual([
    ["blue", false],
    [expect.stringContaining("Nobody answered in time"), true],
  ]);
});

test("questions that are answered later end the turn, and the other calls of the message still get their results", async () => {
  const { end, requests, nodes } = await turnWith(
    [{ parts: [question("a", { question: "Which?" }), called("c", "echo ran"), question("b", { question: "Why?" })], stop: "calls" }],
    {},
    { canAsk: true, ask: async ({ call }) => ({ type: "later", ask: `0000-0000000${call}` }) },
  );
  expect(end).toEqual({
    status: "needs-input",
    error: { kind: "needs-input", message: "Which? (and 1 more)", hint: 'skein answer 0000000a "…"; `skein asks` lists them all' },
  });
  expect(requests).toHaveLength(1);
  expect(nodes.slice(1)).toMatchObject([{ author: "tool", parts: [{ call: "c", isError: false }] }]);
});

test("a question without words, with odd options or where nobody is there is refused", async () => {
  const odd = [{ question: " " }, { question: "Which?", options: [1] }, { ask: "Which?" }].map((input, at) => question(`q${at}`, input));
  const answers: Answer[] = [{ parts: odd, stop: "calls" }, { parts: [said("so")] }];
  const there = await turnWith(answers, {}, { canAsk: true });
  expect(resultsOf(there.requests[1]).flat()).toEqual(
    ['"question" is empty', '"options" must be an array of strings', 'unknown parameter "ask"'].flatMap((why) => [
      expect.stringContaining(why),
      true,
    ]),
  );
  const nobody = await turnWith(answers);
  for (const [why] of resultsOf(nobody.requests[1])) expect(why).toStartWith("unknown tool: ask_user");
});

test("a message that comes while the model gives its last answer is answered in one more step", async () => {
  const waiting = [
    [],
    [{ id: "n", parent: null, tree: "t", session: "s", turn: "u", at: 0, author: "user" as const, parts: [said("and the rest?")] }],
    [],
    [],
  ];
  const { end, requests } = await turnWith(
    [{ parts: [said("half")] }, { parts: [said("all of it")] }],
    {},
    { takeInput: async () => waiting.shift() ?? [] },
  );
  expect(end).toMatchObject({ status: "ok", answer: "all of it" });
  expect(requests[1]?.messages.at(-1)).toEqual({ role: "user", parts: [said("and the rest?")] });
});
