// The scripted model server over plain HTTP. test/real/sdks plays the same conversations with the vendors' SDKs.
import { afterEach, expect, test } from "bun:test";
import { startModelServer, type ModelServer, type ModelServerOptions, type ScriptSource } from "./model-server.ts";
import { shellScript } from "./script.ts";

type ChatMessage = {
  role: string;
  content: string | null;
  tool_calls?: { id: string; function: { arguments: string } }[];
  tool_call_id?: string;
};

const running: ModelServer[] = [];
const tools = [{ type: "function", function: { name: "bash", parameters: { type: "object", properties: { command: {} } } } }];

function start(script: ScriptSource, options?: ModelServerOptions): ModelServer {
  const server = startModelServer(script, options);
  running.push(server);
  return server;
}

afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.stop()));
});

async function post(server: ModelServer, path: string, body: object): Promise<Record<string, unknown>> {
  const response = await fetch(server.url + path, { method: "POST", body: JSON.stringify(body) });
  return (await response.json()) as Record<string, unknown>;
}

async function chatAnswer(server: ModelServer, messages: ChatMessage[], more: object = { tools }): Promise<ChatMessage> {
  const { choices } = await post(server, "/v1/chat/completions", { model: "scripted", messages, ...more });
  return (choices as { message: ChatMessage }[])[0]!.message;
}

/** Answers every call with "ok" until an answer has none. */
async function playChat(server: ModelServer, prompt = "go"): Promise<{ commands: string[][]; final: string | null }> {
  const messages: ChatMessage[] = [{ role: "user", content: prompt }];
  const commands: string[][] = [];
  for (;;) {
    const answer = await chatAnswer(server, messages);
    const calls = answer.tool_calls ?? [];
    if (calls.length === 0) return { commands, final: answer.content };
    commands.push(calls.map((call) => (JSON.parse(call.function.arguments) as { command: string }).command));
    messages.push(answer, ...calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "ok" })));
  }
}

test("a conversation gets the steps of its script in order, and parallel calls of one answer are one step", async () => {
  const server = start({
    steps: [{ calls: [{ input: { command: "a" } }, { input: { command: "b" } }] }, { text: "Next.", calls: [{ input: { command: "c" } }] }],
    final: "end",
  });
  expect(await playChat(server)).toEqual({ commands: [["a", "b"], ["c"]], final: "end" });
  expect(server.main().map(({ step, wire }) => [step, wire])).toEqual([0, 1, 2].map((step) => [step, "chat"]));
});

test("a function of the request's position chooses the script", async () => {
  const server = start(({ position }) => shellScript([position.prompt], `did ${position.prompt}`));
  expect(await playChat(server, "first")).toEqual({ commands: [["first"]], final: "did first" });
  expect(await playChat(server, "second")).toEqual({ commands: [["second"]], final: "did second" });
});

test("a request without a shell tool gets the side text and advances no step", async () => {
  const server = start(shellScript(["pwd"], "end"), { sideText: "A title" });
  expect((await chatAnswer(server, [{ role: "user", content: "Title?" }], {})).content).toBe("A title");
  expect(server.main()).toEqual([]);
  expect(await playChat(server)).toEqual({ commands: [["pwd"]], final: "end" });
});

test("the server lists its models, counts tokens and answers HEAD", async () => {
  const server = start(shellScript(["pwd"]));
  const { data } = (await (await fetch(`${server.url}/v1/models`)).json()) as { data: { id: string }[] };
  expect(data.map(({ id }) => id)).toContain("claude-sonnet-4-5");
  const tags = (await (await fetch(`${server.url}/api/tags`)).json()) as { models: { name: string }[] };
  expect(tags.models[0]?.name).toBe("claude-sonnet-4-5:latest");
  const count = await post(server, "/v1/messages/count_tokens", { model: "m", messages: [{ role: "user", content: "hello" }] });
  expect(count.input_tokens).toBeGreaterThan(0);
  expect((await fetch(server.url, { method: "HEAD" })).status).toBe(200);
});

test("with keepsOnlyEnds the first and the last request keep their bodies, and the others only their times", async () => {
  const server = start(shellScript(["echo 1", "echo 2", "echo 3"]), { keepsOnlyEnds: true });
  await playChat(server);
  expect(server.main().map(({ text, body }) => text !== "" && body !== null)).toEqual([true, false, false, true]);
  expect(server.main().every(({ at }) => at > 0)).toBe(true);
});
