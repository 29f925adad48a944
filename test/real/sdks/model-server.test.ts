// The vendors' own SDKs play conversations with the scripted model server. They must read exactly the script.
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI, type Content } from "@google/genai";
import OpenAI from "openai";
import { afterEach, describe, expect, test } from "bun:test";
import {
  startModelServer,
  type ModelServer,
  type ModelServerOptions,
  type ScriptSource,
} from "../../../src/scripted-model/model-server.ts";
import { shellScript, type Script } from "../../../src/scripted-model/script.ts";

const running: ModelServer[] = [];
const commands = ["echo one", "echo 'two é 🧵'", "echo three"];
const parameters = { type: "object" as const, properties: { command: { type: "string" } }, required: ["command"] };
const allUsage = { input: 100, output: 20, cacheRead: 0, cacheWrite: 0 };
const script: Script = {
  steps: commands.map((command, index) => ({
    ...(index === 0 ? { thinking: "Let me see what is there." } : {}),
    text: `I run number ${index}.`,
    calls: [{ input: { command } }],
    usage: allUsage,
  })),
  final: "All three ran: one, two, three.",
};

function start(given: ScriptSource, options?: ModelServerOptions): ModelServer {
  const server = startModelServer(given, options);
  running.push(server);
  return server;
}

afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.stop()));
});

type Conversation = { ran: string[]; final: string; thinking: string; input: number };

async function talkAnthropic(url: string, task = "go"): Promise<Conversation> {
  const client = new Anthropic({ baseURL: url, apiKey: "dummy", maxRetries: 0 });
  const messages: Anthropic.MessageParam[] = [{ role: "user", content: task }];
  const tools = [{ name: "bash", description: "", input_schema: parameters }];
  const seen: Conversation = { ran: [], final: "", thinking: "", input: 0 };
  for (;;) {
    const message = await client.messages.stream({ model: "scripted", max_tokens: 100, tools, messages }).finalMessage();
    seen.input += message.usage.input_tokens;
    const results: Anthropic.ToolResultBlockParam[] = [];
    for (const block of message.content) {
      if (block.type === "thinking") seen.thinking += block.thinking;
      if (block.type === "text") seen.final = block.text;
      if (block.type !== "tool_use") continue;
      seen.ran.push((block.input as { command: string }).command);
      results.push({ type: "tool_result", tool_use_id: block.id, content: "ok" });
    }
    if (message.stop_reason !== "tool_use") return seen;
    messages.push({ role: "assistant", content: message.content }, { role: "user", content: results });
  }
}

async function talkResponses(url: string, task = "go"): Promise<Conversation> {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "dummy", maxRetries: 0 });
  const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: task }];
  const tools = [{ type: "function" as const, name: "exec_command", strict: false, parameters }];
  const seen: Conversation = { ran: [], final: "", thinking: "", input: 0 };
  for (;;) {
    const response = await client.responses.stream({ model: "gpt-5.2", tools, input }).finalResponse();
    seen.input += response.usage?.input_tokens ?? 0;
    const before = seen.ran.length;
    input.push(...(response.output as OpenAI.Responses.ResponseInput));
    for (const item of response.output) {
      if (item.type === "reasoning") seen.thinking += item.summary.map((part) => part.text).join("");
      if (item.type !== "function_call") continue;
      seen.ran.push((JSON.parse(item.arguments) as { cmd: string }).cmd);
      input.push({ type: "function_call_output", call_id: item.call_id, output: "ok" });
    }
    seen.final = response.output_text;
    if (seen.ran.length === before) return seen;
  }
}

async function talkChat(url: string, task = "go"): Promise<Conversation> {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "dummy", maxRetries: 0 });
  const messages: OpenAI.Chat.ChatCompletionMessageParam[] = [{ role: "user", content: task }];
  const tools = [{ type: "function" as const, function: { name: "bash", parameters } }];
  const seen: Conversation = { ran: [], final: "", thinking: "", input: 0 };
  for (;;) {
    const stream = client.chat.completions.stream({ model: "scripted", tools, messages, stream_options: { include_usage: true } });
    stream.on("chunk", (chunk) => {
      seen.thinking += (chunk.choices[0]?.delta as { reasoning_content?: string } | undefined)?.reasoning_content ?? "";
    });
    const completion = await stream.finalChatCompletion();
    const message = completion.choices[0]!.message;
    seen.input += completion.usage?.prompt_tokens ?? 0;
    seen.final = message.content ?? "";
    messages.push(message);
    if (message.tool_calls === undefined || message.tool_calls.length === 0) return seen;
    for (const call of message.tool_calls) {
      if (call.type !== "function") continue;
      seen.ran.push((JSON.parse(call.function.arguments) as { command: string }).command);
      messages.push({ role: "tool", tool_call_id: call.id, content: "ok" });
    }
  }
}

async function talkGemini(url: string, task = "go"): Promise<Conversation> {
  const client = new GoogleGenAI({ apiKey: "dummy", httpOptions: { baseUrl: url } });
  const contents: Content[] = [{ role: "user", parts: [{ text: task }] }];
  const tools = [{ functionDeclarations: [{ name: "run_shell_command", parametersJsonSchema: parameters }] }];
  const seen: Conversation = { ran: [], final: "", thinking: "", input: 0 };
  for (;;) {
    const stream = await client.models.generateContentStream({ model: "gemini-3-pro-preview", contents, config: { tools } });
    const parts = [];
    let input = 0;
    for await (const chunk of stream) {
      input = chunk.usageMetadata?.promptTokenCount ?? input;
      parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []));
    }
    seen.input += input;
    seen.thinking += parts
      .filter((part) => part.thought === true)
      .map((part) => part.text)
      .join("");
    seen.final = parts
      .filter((part) => part.thought !== true)
      .map((part) => part.text ?? "")
      .join("");
    const calls = parts.flatMap((part) => part.functionCall ?? []);
    if (calls.length === 0) return seen;
    seen.ran.push(...calls.map((call) => (call.args as { command: string }).command));
    contents.push({ role: "model", parts });
    contents.push({
      role: "user",
      parts: calls.map((call) => ({ functionResponse: { id: call.id, name: call.name, response: { output: "ok" } } })),
    });
  }
}

const clients = { anthropic: talkAnthropic, responses: talkResponses, chat: talkChat, gemini: talkGemini };

describe.each(Object.entries(clients))("%s", (protocol, talk) => {
  test("the vendor's SDK plays a conversation of three calls to its end", async () => {
    const server = start(script);
    const seen = await talk(server.url);
    expect(seen.ran).toEqual(commands);
    expect(seen.final).toBe(script.final);
    expect(seen.thinking).toBe("Let me see what is there.");
    expect(server.main().map((request) => request.step)).toEqual([0, 1, 2, 3]);
    expect(server.requests.every((request) => request.wire === protocol)).toBe(true);
    expect(seen.input).toBeGreaterThan(300);
  });

  test("parallel calls of one answer are one step", async () => {
    const server = start({
      steps: [{ calls: [{ input: { command: "a" } }, { input: { command: "b" } }] }, { calls: [{ input: { command: "c" } }] }],
      final: "end",
    });
    const seen = await talk(server.url);
    expect(seen.ran).toEqual(["a", "b", "c"]);
    expect(seen.final).toBe("end");
    expect(server.main()).toHaveLength(3);
  });

  test("the same conversation twice reports the same usage", async () => {
    const server = start(shellScript(["a", "b"]));
    expect((await talk(server.url)).input).toBe((await talk(server.url)).input);
  });

  test("slow deltas arrive complete", async () => {
    const server = start(script, { chunkDelayMs: 1 });
    expect(await talk(server.url)).toEqual({ ...(await talk(start(script).url)) });
  });
});

test("a function chooses the script by the prompt", async () => {
  const server = start(({ position }) => shellScript([position.prompt], `did ${position.prompt}`));
  expect(await talkAnthropic(server.url, "first")).toMatchObject({ ran: ["first"], final: "did first" });
  expect(await talkChat(server.url, "second")).toMatchObject({ ran: ["second"], final: "did second" });
});

test("a request without a shell tool is a side request and advances nothing", async () => {
  const server = start(script, { sideText: "A title" });
  const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "dummy" });
  const title = await client.chat.completions.create({ model: "scripted", messages: [{ role: "user", content: "Title?" }] });
  expect(title.choices[0]?.message.content).toBe("A title");
  expect(server.main()).toHaveLength(0);
  expect((await talkChat(server.url)).ran).toEqual(commands);
});

test("model lists and token counts have the vendors' formats", async () => {
  const server = start(script);
  const names: string[] = [];
  for await (const model of new Anthropic({ baseURL: server.url, apiKey: "dummy" }).models.list()) names.push(model.id);
  const openai: string[] = [];
  for await (const model of new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "dummy" }).models.list()) openai.push(model.id);
  expect(names).toContain("claude-sonnet-4-5");
  expect(openai).toEqual(names);
  const tags = (await (await fetch(`${server.url}/api/tags`)).json()) as { models: { name: string }[] };
  expect(tags.models[0]?.name).toBe("claude-sonnet-4-5:latest");
  expect((await fetch(server.url, { method: "HEAD" })).status).toBe(200);
  const counted = await new Anthropic({ baseURL: server.url, apiKey: "dummy" }).messages.countTokens({
    model: "m",
    messages: [{ role: "user", content: "hello" }],
  });
  expect(counted.input_tokens).toBeGreaterThan(0);
});
