// Every way a model, a server or a network fails, through the real program: it ends as its kind with its exit code,
// in bounded time, says what to do, and loses nothing that had arrived. `retry-after: 0` keeps the waits short.
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { result as resultSchema } from "../../../src/protocol/fixtures/printed-schemas.ts";
import { startModelServer, type ModelServerOptions, type ScriptSource } from "../../../src/scripted-model/model-server.ts";
import { shellScript, type ServerFault, type Script } from "../../../src/scripted-model/script.ts";
import { temporaryHome, vendorEnv, wireModels } from "../../support/temporary-home.ts";

const anthropic = wireModels.anthropic;
const longText = "The first half of the answer is here, and the second half follows after a while, if all goes well.";
const talk: Script = { steps: [], final: longText };
const everyWire = Object.entries(wireModels);

type Given = {
  model?: string;
  script?: ScriptSource;
  fault?: ServerFault;
  options?: ModelServerOptions;
  env?: Record<string, string>;
  args?: string[];
};

/** One run against a server that misbehaves; `fault` holds for every request. */
async function walk(given: Given) {
  const server = startModelServer(given.script ?? talk, given.options);
  if (given.fault !== undefined) server.setFault(given.fault);
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    const args = ["run", "do it", "-m", given.model ?? anthropic, "--output-format", "events", ...(given.args ?? [])];
    const ran = await skein.run(args, given.env === undefined ? {} : { env: given.env });
    const lines = ran.lines() as Record<string, unknown>[];
    const result = resultSchema.parse(lines.at(-1));
    const retries = lines.filter((line) => line["type"] === "model.retried") as {
      attempt: number;
      wait_ms: number;
      error: { kind: string };
    }[];
    const transcript = readFileSync(result.transcript_path as string, "utf8");
    return { ran, lines, result, retries, transcript, requests: server.main() };
  } finally {
    await server.stop();
  }
}

type Walked = Awaited<ReturnType<typeof walk>>;

function expectEnd(walked: Walked, kind: string, code: number, hint: RegExp): void {
  const { ran, result } = walked;
  expect({ code: ran.code, status: result.status, kind: result.error?.kind }).toEqual({ code, status: kind, kind } as never);
  expect(result.error?.message).not.toBe("");
  expect(result.error?.hint ?? "").toMatch(hint);
  expect(ran.err).toBe("");
}

describe.each(everyWire)("over %s", (wire, model) => {
  test("a refused key ends as auth at once", async () => {
    const walked = await walk({ model, fault: { type: "status", status: 401, message: "no such key" } });
    expectEnd(walked, "auth", 4, /key/);
    expect(walked.requests).toHaveLength(1);
  });

  test("a short retry-after is honoured and the run ends well", async () => {
    const walked = await walk({
      model,
      options: { faults: { 1: { type: "status", status: 429, retryAfter: "0.3" }, 2: { type: "status", status: 429, retryAfter: "0" } } },
    });
    expect(walked.ran.code).toBe(0);
    expect(walked.result.result).toBe(longText);
    expect(walked.retries.map(({ attempt, wait_ms, error }) => [attempt, wait_ms, error.kind])).toEqual([
      [1, 300, "rate-limited"],
      [2, 0, "rate-limited"],
    ]);
  });

  test("a connection that drops in mid-stream ends as network, and what came is kept", async () => {
    const walked = await walk({ model, fault: { type: "drop" }, options: { chunkDelayMs: 20 } });
    expectEnd(walked, "network", 6, /connection|answer/);
    expect(longText.startsWith(walked.result.result)).toBe(true);
    expect(walked.result.result.length).toBeGreaterThan(10);
    expect(walked.transcript).toContain(JSON.stringify(walked.result.result).slice(1, -1));
  });

  test("an error event in mid-stream ends as the vendor's kind, and what came is kept", async () => {
    const walked = await walk({ model, fault: { type: "error-event", message: "we are at capacity" } });
    expect([1, 5]).toContain(walked.ran.code);
    expect(["overloaded", "broken", "rate-limited"]).toContain(walked.result.status);
    expect(walked.result.error?.message).toContain("we are at capacity");
    expect(walked.result.error?.hint ?? "").toMatch(/again|another/);
    expect(walked.transcript).toContain("The first half of");
  });

  test("malformed arguments are told to the model, and the run goes on", async () => {
    const walked = await walk({
      model,
      script: shellScript(["echo fine"], "all is well"),
      options: { faults: { 1: { type: "garbage-args" } }, count: "requests" },
    });
    expect(walked.ran.code).toBe(0);
    expect(walked.result.result).toBe("all is well");
    // Gemini tells it by a finish reason, without the call: there the request is made once more.
    if (wire === "gemini") expect(walked.retries).toHaveLength(1);
    else expect(walked.requests.at(-1)?.text).toContain("were not a JSON object");
  });

  test("an unknown tool is told to the model, and the run goes on", async () => {
    const script: Script = {
      steps: [{ calls: [{ name: "teleport", input: { to: "mars" } }, { input: { command: "true" } }] }],
      final: "I stay here",
    };
    const walked = await walk({ model, script });
    expect(walked.ran.code).toBe(0);
    expect(walked.transcript).toContain("unknown tool: teleport");
    expect(walked.requests.at(-1)?.text).toContain("unknown tool: teleport");
  });

  test("an empty answer is asked for once more and then ends as broken", async () => {
    const walked = await walk({ model, fault: { type: "empty" } });
    expectEnd(walked, "broken", 1, /another model/);
    expect(walked.requests).toHaveLength(2);
    expect(walked.retries).toHaveLength(1);
  });
});

const statuses: [number, string, number, RegExp][] = [
  [429, "rate-limited", 5, /later|another model/],
  [500, "overloaded", 5, /later|another model/],
  [529, "overloaded", 5, /later|another model/],
];

test.each(statuses)("a server that always answers %i ends as %s after a bounded number of tries", async (status, kind, code, hint) => {
  const walked = await walk({ fault: { type: "status", status, retryAfter: "0" } });
  expectEnd(walked, kind, code, hint);
  expect(walked.requests).toHaveLength(4);
  expect(walked.retries.map((retry) => retry.attempt)).toEqual([1, 2, 3]);
});

test("a 429 without retry-after is waited out with growing pauses of our own", async () => {
  const walked = await walk({ options: { faults: { 1: { type: "status", status: 429 }, 2: { type: "status", status: 429 } } } });
  expect(walked.ran.code).toBe(0);
  const [first, second] = walked.retries.map((retry) => retry.wait_ms);
  expect(first).toBeGreaterThan(0);
  expect(second).toBeGreaterThanOrEqual(first as number);
});

test("a retry-after past our patience ends at once and says how long the server asked for", async () => {
  const walked = await walk({ fault: { type: "status", status: 429, retryAfter: "7200" } });
  expectEnd(walked, "rate-limited", 5, /120 min/);
  expect(walked.requests).toHaveLength(1);
});

test("a refused connection ends as network and names the address", async () => {
  const walked = await walk({ env: { ANTHROPIC_BASE_URL: "http://127.0.0.1:9" } });
  expectEnd(walked, "network", 6, /127\.0\.0\.1:9/);
  expect(walked.retries).toHaveLength(3);
});

test.each(everyWire)("a stalled stream over %s ends as stalled, and what came is kept", async (_wire, model) => {
  const walked = await walk({ model, fault: { type: "stall" }, env: { SKEIN_IDLE_TIMEOUT: "3s" } });
  expectEnd(walked, "stalled", 124, /./);
  expect(walked.transcript).toContain("The first half of");
});

test("a model that always sends malformed arguments ends as broken, in bounded steps", async () => {
  const walked = await walk({ script: shellScript(Array.from({ length: 10 }, () => "echo fine")), fault: { type: "garbage-args" } });
  expectEnd(walked, "broken", 1, /another model/);
  expect(walked.requests).toHaveLength(3);
  expect(walked.requests.at(-1)?.text).toContain("were not a JSON object");
});

test("a model that always calls an unknown tool ends as broken, in bounded steps", async () => {
  const steps = Array.from({ length: 10 }, () => ({ calls: [{ name: "teleport", input: {} }] }));
  const script: Script = { steps: [...steps, { calls: [{ input: { command: "true" } }] }], final: "never" };
  const walked = await walk({ script });
  expectEnd(walked, "broken", 1, /another model/);
  expect(walked.requests).toHaveLength(3);
});

test("a refusal ends as refused, and what was said is kept", async () => {
  const events = [
    {
      type: "message_start",
      message: {
        id: "m",
        type: "message",
        role: "assistant",
        model: "m",
        content: [],
        stop_reason: null,
        usage: { input_tokens: 5, output_tokens: 1 },
      },
    },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "I would rather not." } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "refusal", stop_sequence: null }, usage: { output_tokens: 4 } },
    { type: "message_stop" },
  ];
  const body = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  const route = (_request: Request, path: string) =>
    path.endsWith("/messages") ? Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } })) : null;
  const walked = await walk({ options: { route } });
  expectEnd(walked, "refused", 1, /rephrase|another model/);
  expect(walked.result.result).toBe("I would rather not.");
  expect(walked.transcript).toContain("I would rather not.");
});

test("a prompt that is too long for the model ends as too-long", async () => {
  const walked = await walk({ fault: { type: "status", status: 400, message: "prompt is too long: 300000 tokens > 200000 maximum" } });
  expectEnd(walked, "too-long", 1, /window|fresh|new session/);
});

test("as text, the failure is one line on stderr with what to do below it, and a partial answer still goes to stdout", async () => {
  const server = startModelServer(talk, { chunkDelayMs: 20 });
  server.setFault({ type: "drop" });
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    const ran = await skein.run(["run", "do it", "-m", anthropic]);
    expect(ran.code).toBe(6);
    expect(ran.out).toMatch(/^The first half of/);
    expect(ran.err).toMatch(/^skein: network: .*\n {7}.*\n/m);
  } finally {
    await server.stop();
  }
});
