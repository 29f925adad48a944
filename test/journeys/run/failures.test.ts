// Failures of a model, a server or the network, with the real program. Each run ends with the right kind and exit code
// in bounded time, prints a hint, and keeps the text that had arrived. `retry-after: 0` keeps the waits short.
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { result as resultSchema } from "../../../src/protocol/fixtures/printed-schemas.ts";
import { startModelServer, type ModelServerOptions, type ScriptSource } from "../../../src/scripted-model/model-server.ts";
import { shellScript, type ServerFault, type Script } from "../../../src/scripted-model/script.ts";
import { temporaryHome, vendorEnv, wireModels } from "../../support/temporary-home.ts";

const anthropic = wireModels.anthropic;
const longText = "The first half of the answer is here, and the second half follows after a while, if all goes well.";
const longAnswer: Script = { steps: [], final: longText };
const everyWire = Object.entries(wireModels);

type FaultyRun = {
  model?: string;
  script?: ScriptSource;
  fault?: ServerFault;
  serverOptions?: ModelServerOptions;
  env?: Record<string, string>;
  args?: string[];
};

/** Runs once against a server with faults. `fault` applies to every request. */
async function runWithFault(options: FaultyRun) {
  const server = startModelServer(options.script ?? longAnswer, options.serverOptions);
  if (options.fault !== undefined) server.setFault(options.fault);
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    const args = ["run", "do it", "-m", options.model ?? anthropic, "--output-format", "events", ...(options.args ?? [])];
    const ran = await skein.run(args, options.env === undefined ? {} : { env: options.env });
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

type RunOutcome = Awaited<ReturnType<typeof runWithFault>>;

function expectEnd(outcome: RunOutcome, kind: string, code: number, hint: RegExp): void {
  const { ran, result } = outcome;
  expect({ code: ran.code, status: result.status, kind: result.error?.kind }).toEqual({ code, status: kind, kind } as never);
  expect(result.error?.message).not.toBe("");
  expect(result.error?.hint ?? "").toMatch(hint);
  expect(ran.err).toBe("");
}

describe.each(everyWire)("over %s", (wire, model) => {
  test("a refused key ends as auth at once", async () => {
    const outcome = await runWithFault({ model, fault: { type: "status", status: 401, message: "no such key" } });
    expectEnd(outcome, "auth", 4, /key/);
    expect(outcome.requests).toHaveLength(1);
  });

  test("a short retry-after is obeyed and the run succeeds", async () => {
    const outcome = await runWithFault({
      model,
      serverOptions: {
        faults: { 1: { type: "status", status: 429, retryAfter: "0.3" }, 2: { type: "status", status: 429, retryAfter: "0" } },
      },
    });
    expect(outcome.ran.code).toBe(0);
    expect(outcome.result.result).toBe(longText);
    expect(outcome.retries.map(({ attempt, wait_ms, error }) => [attempt, wait_ms, error.kind])).toEqual([
      [1, 300, "rate-limited"],
      [2, 0, "rate-limited"],
    ]);
  });

  test("a connection that drops in mid-stream ends as network, and the partial answer is stored", async () => {
    const outcome = await runWithFault({ model, fault: { type: "drop" }, serverOptions: { chunkDelayMs: 20 } });
    expectEnd(outcome, "network", 6, /connection|answer/);
    expect(longText.startsWith(outcome.result.result)).toBe(true);
    expect(outcome.result.result.length).toBeGreaterThan(10);
    expect(outcome.transcript).toContain(JSON.stringify(outcome.result.result).slice(1, -1));
  });

  test("an error event in mid-stream ends as the vendor's kind, and the partial answer is stored", async () => {
    const outcome = await runWithFault({ model, fault: { type: "error-event", message: "we are at capacity" } });
    expect([1, 5]).toContain(outcome.ran.code);
    expect(["overloaded", "broken", "rate-limited"]).toContain(outcome.result.status);
    expect(outcome.result.error?.message).toContain("we are at capacity");
    expect(outcome.result.error?.hint ?? "").toMatch(/again|another/);
    expect(outcome.transcript).toContain("The first half of");
  });

  test("malformed arguments are reported to the model, and the run continues", async () => {
    const outcome = await runWithFault({
      model,
      script: shellScript(["echo fine"], "all is well"),
      serverOptions: { faults: { 1: { type: "garbage-args" } }, count: "requests" },
    });
    expect(outcome.ran.code).toBe(0);
    expect(outcome.result.result).toBe("all is well");
    // Gemini reports malformed arguments as a finish reason without the call. skein then repeats the request.
    if (wire === "gemini") expect(outcome.retries).toHaveLength(1);
    else expect(outcome.requests.at(-1)?.text).toContain("were not a JSON object");
  });

  test("an unknown tool is reported to the model, and the run continues", async () => {
    const script: Script = {
      steps: [{ calls: [{ name: "teleport", input: { to: "mars" } }, { input: { command: "true" } }] }],
      final: "I stay here",
    };
    const outcome = await runWithFault({ model, script });
    expect(outcome.ran.code).toBe(0);
    expect(outcome.transcript).toContain("unknown tool: teleport");
    expect(outcome.requests.at(-1)?.text).toContain("unknown tool: teleport");
  });

  test("after an empty answer the request is repeated once, then the run ends as broken", async () => {
    const outcome = await runWithFault({ model, fault: { type: "empty" } });
    expectEnd(outcome, "broken", 1, /another model/);
    expect(outcome.requests).toHaveLength(2);
    expect(outcome.retries).toHaveLength(1);
  });
});

const statuses: [number, string, number, RegExp][] = [
  [429, "rate-limited", 5, /later|another model/],
  [500, "overloaded", 5, /later|another model/],
  [529, "overloaded", 5, /later|another model/],
];

test.each(statuses)("a server that always answers %i ends as %s after a bounded number of tries", async (status, kind, code, hint) => {
  const outcome = await runWithFault({ fault: { type: "status", status, retryAfter: "0" } });
  expectEnd(outcome, kind, code, hint);
  expect(outcome.requests).toHaveLength(4);
  expect(outcome.retries.map((retry) => retry.attempt)).toEqual([1, 2, 3]);
});

test("a 429 without retry-after is retried with growing waits", async () => {
  const outcome = await runWithFault({
    serverOptions: { faults: { 1: { type: "status", status: 429 }, 2: { type: "status", status: 429 } } },
  });
  expect(outcome.ran.code).toBe(0);
  const [first, second] = outcome.retries.map((retry) => retry.wait_ms);
  expect(first).toBeGreaterThan(0);
  expect(second).toBeGreaterThanOrEqual(first as number);
});

test("a retry-after of two hours ends the run at once, and the hint has the time to wait", async () => {
  const outcome = await runWithFault({ fault: { type: "status", status: 429, retryAfter: "7200" } });
  expectEnd(outcome, "rate-limited", 5, /120 min.*the limit ends at .*--at-limit wait.*--at-limit <agent>/);
  expect(Date.parse(outcome.result.error?.reset_at ?? "")).toBeGreaterThan(Date.now() + 3_600_000);
  expect(outcome.requests).toHaveLength(1);
});

test("a refused connection ends as network and names the address", async () => {
  const outcome = await runWithFault({ env: { ANTHROPIC_BASE_URL: "http://127.0.0.1:9" } });
  expectEnd(outcome, "network", 6, /127\.0\.0\.1:9/);
  expect(outcome.retries).toHaveLength(3);
});

test.each(everyWire)("a stalled stream over %s ends as stalled, and the partial answer is stored", async (_wire, model) => {
  const outcome = await runWithFault({ model, fault: { type: "stall" }, env: { SKEIN_IDLE_TIMEOUT: "3s" } });
  expectEnd(outcome, "stalled", 124, /./);
  expect(outcome.transcript).toContain("The first half of");
});

test("a model that always sends malformed arguments ends as broken, in bounded steps", async () => {
  const outcome = await runWithFault({
    script: shellScript(Array.from({ length: 10 }, () => "echo fine")),
    fault: { type: "garbage-args" },
  });
  expectEnd(outcome, "broken", 1, /another model/);
  expect(outcome.requests).toHaveLength(3);
  expect(outcome.requests.at(-1)?.text).toContain("were not a JSON object");
});

test("a model that always calls an unknown tool ends as broken, in bounded steps", async () => {
  const steps = Array.from({ length: 10 }, () => ({ calls: [{ name: "teleport", input: {} }] }));
  const script: Script = { steps: [...steps, { calls: [{ input: { command: "true" } }] }], final: "never" };
  const outcome = await runWithFault({ script });
  expectEnd(outcome, "broken", 1, /another model/);
  expect(outcome.requests).toHaveLength(3);
});

test("a refusal ends as refused, and its text is stored", async () => {
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
  const outcome = await runWithFault({ serverOptions: { route } });
  expectEnd(outcome, "refused", 1, /rephrase|another model/);
  expect(outcome.result.result).toBe("I would rather not.");
  expect(outcome.transcript).toContain("I would rather not.");
});

test("a prompt that is too long for the model ends as too-long", async () => {
  const outcome = await runWithFault({
    fault: { type: "status", status: 400, message: "prompt is too long: 300000 tokens > 200000 maximum" },
  });
  expectEnd(outcome, "too-long", 1, /window|fresh|new session/);
});

test("in text format the failure is one line on stderr with a hint below it, and a partial answer still goes to stdout", async () => {
  const server = startModelServer(longAnswer, { chunkDelayMs: 20 });
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
