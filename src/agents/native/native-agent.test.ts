// Tests native turns with a scripted model and the real tools in this process, mostly with unusual answers.
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
const textPart = (text: string): Part => ({ kind: "text", text });
const bashCall = (id: string, command: string): CallPart => ({ kind: "call", id, name: "bash", input: { command } });

/** Runs a turn in which the model sends these answers, and repeats the last one. */
async function runTurn(
  answers: Answer[],
  change: Partial<TurnInput> = {},
  contextChange: Partial<TurnContext> = {},
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
      throw new Error("this test does not call it");
    },
    toolEnv: {},
    contextFiles: () => [],
    spawnTargets: () => ({ agents: [], models: [] }),
    skills: () => ({ text: "", paths: [] }),
    serverNames: () => [],
    openServers: () => {
      throw new Error("this test has no servers");
    },
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
  const input = { ...turn, directory, project: directory, path: [stored({ author: "user", parts: [textPart("go")] })], ...change };
  let end: TurnEnd | null = null;
  const nodes: NewNode[] = [];
  try {
    for await (const event of agent.takeTurn(input, { ...context, ...contextChange })) {
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
  mcpServers: {},
  system: null,
  appendSystem: null,
  contextFiles: false,
  sessionDefaults: { agent: "native", model: null },
  plan: null,
  root: "s",
  policy: { name: "workspace", sandbox: "auto", net: "off", allowWrite: [], addDirs: [] },
  nesting: false,
  limits: { maxSteps: 10, maxTokens: null, maxBudgetUsd: null, maxChildren: null, treeSteps: null },
  command: null,
  group: null,
  team: null,
  race: null,
  cliSession: null,
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
    throw new Error("this test delegates nothing");
  },
  reserve: async () => () => {},
  count: () => null,
  ask: () => Promise.reject(new Error("this test has no user")),
  canAsk: false,
  takeInput: async () => [],
  registerPausable: () => () => {},
  sendMessage: async () => false,
  findFinishedTask: async () => null,
};

test("calls of one message with the same id each get their own result", async () => {
  const { end, requests } = await runTurn([
    { parts: [bashCall("same", "echo one"), bashCall("same", "echo two")], stop: "calls" },
    { parts: [textPart("done")] },
  ]);
  expect(end).toMatchObject({ status: "ok", answer: "done" });
  const results = requests[1]?.messages.at(-1)?.parts.map((part) => (part.kind === "result" ? [part.call, part.text.trim()] : []));
  expect(results).toEqual([
    ["same", "one"],
    ["same-2", "two"],
  ]);
});

test("an answer that is cut at the output limit and continued is one answer", async () => {
  const { end } = await runTurn([{ parts: [textPart("first half, ")], stop: "length" }, { parts: [textPart("second half")] }]);
  expect(end).toEqual({ status: "ok", answer: "first half, second half" });
});

test("an answer that never ends is too long, and all of its text is returned", async () => {
  const { end } = await runTurn([{ parts: [textPart("more ")], stop: "length" }]);
  expect(end).toMatchObject({ status: "too-long", answer: "more more more " });
});

test("a model that only thinks is asked once more, and without an answer the turn fails", async () => {
  const thinking: Answer = { parts: [{ kind: "thinking", text: "hm" }] };
  expect((await runTurn([thinking, { parts: [textPart("here")] }])).end).toMatchObject({ status: "ok", answer: "here" });
  expect((await runTurn([thinking])).end).toMatchObject({ status: "broken", error: { message: "test/one ended without an answer" } });
});

test("with a schema the answer is only the JSON, without a fence or blanks", async () => {
  const answerSchema = { type: "object", required: ["a"] };
  expect((await runTurn([{ parts: [textPart('```json\n{"a": 1}\n```')] }], { answerSchema })).end).toEqual({
    status: "ok",
    answer: '{"a": 1}',
  });
  expect((await runTurn([{ parts: [textPart("no")] }, { parts: [textPart('\n{"a": 2}\n')] }], { answerSchema })).end).toEqual({
    status: "ok",
    answer: '{"a": 2}',
  });
});

test("a request that fails while the model thinks is counted, and the thought is stored", async () => {
  const thought: Part = { kind: "thinking", text: "first I" };
  const { end, nodes } = await runTurn([
    { parts: [thought, bashCall("c", "true")], error: { kind: "network", message: "the connection was dropped" } },
  ]);
  expect(end).toMatchObject({ status: "network" });
  expect(nodes).toMatchObject([{ author: "agent", parts: [thought], usage }]);
});

const question = (id: string, input: Record<string, unknown>): CallPart => ({ kind: "call", id, name: "ask_user", input });
const resultsOf = (request: Request | undefined) =>
  request?.messages.at(-1)?.parts.map((part) => (part.kind === "result" ? [part.text, part.isError] : [])) ?? [];

test("the answer to a question is the result of its call, and an unanswered question is an error", async () => {
  const asks: AskRequest[] = [];
  const ask: TurnContext["ask"] = async (request) => {
    asks.push(request);
    return request.call === "a" ? { type: "answered", text: "blue" } : { type: "expired" };
  };
  const { end, requests } = await runTurn(
    [
      { parts: [question("a", { question: "Which?", options: ["red", "blue"] }), question("b", { question: "Why?" })], stop: "calls" },
      { parts: [textPart("so")] },
    ],
    {},
    { canAsk: true, ask },
  );
  expect(end).toMatchObject({ status: "ok", answer: "so" });
  expect(asks).toEqual([
    { call: "a", question: "Which?", options: ["red", "blue"] },
    { call: "b", question: "Why?", options: [] },
  ]);
  expect(resultsOf(requests[1])).toEqual([
    ["blue", false],
    [expect.stringContaining("Nobody answered in time"), true],
  ]);
});

test("questions that are answered later end the turn, and the other calls still get their results", async () => {
  const { end, requests, nodes } = await runTurn(
    [{ parts: [question("a", { question: "Which?" }), bashCall("c", "echo ran"), question("b", { question: "Why?" })], stop: "calls" }],
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

test("an empty question, invalid options, or a question without a user is refused", async () => {
  const invalid = [{ question: " " }, { question: "Which?", options: [1] }, { ask: "Which?" }].map((input, index) =>
    question(`q${index}`, input),
  );
  const answers: Answer[] = [{ parts: invalid, stop: "calls" }, { parts: [textPart("so")] }];
  const withUser = await runTurn(answers, {}, { canAsk: true });
  expect(resultsOf(withUser.requests[1]).flat()).toEqual(
    ['"question" is empty', '"options" must be an array of strings', 'unknown parameter "ask"'].flatMap((problem) => [
      expect.stringContaining(problem),
      true,
    ]),
  );
  const withoutUser = await runTurn(answers);
  for (const [problem] of resultsOf(withoutUser.requests[1])) expect(problem).toStartWith("unknown tool: ask_user");
});

test("a message that arrives during the last answer is answered in one more step", async () => {
  const inputs = [
    [],
    [{ id: "n", parent: null, tree: "t", session: "s", turn: "u", at: 0, author: "user" as const, parts: [textPart("and the rest?")] }],
    [],
    [],
  ];
  const { end, requests } = await runTurn(
    [{ parts: [textPart("half")] }, { parts: [textPart("all of it")] }],
    {},
    { takeInput: async () => inputs.shift() ?? [] },
  );
  expect(end).toMatchObject({ status: "ok", answer: "all of it" });
  expect(requests[1]?.messages.at(-1)).toEqual({ role: "user", parts: [textPart("and the rest?")] });
});
