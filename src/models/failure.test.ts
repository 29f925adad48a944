import { describe, expect, test } from "bun:test";
import { failedOf, streamEvents, recorded, serve, streamOf } from "../../test/fixtures/streams/serve.ts";
import { error, goodAnswer, retrySoon, types, startVendor } from "../../test/fixtures/streams/vendor.ts";

describe("failures of requests", () => {
  const table: [string, () => Response, string, number, RegExp][] = [
    ["401", () => error(401, "authentication_error", "invalid x-api-key"), "auth", 1, /ANTHROPIC_API_KEY.*https:/],
    ["403", () => error(403, "permission_error", "no"), "auth", 1, /ANTHROPIC_API_KEY/],
    [
      "400 with Google's code for a bad key",
      () =>
        Response.json(
          { error: { code: 400, message: "API key not valid.", status: "INVALID_ARGUMENT", details: [{ reason: "API_KEY_INVALID" }] } },
          { status: 400 },
        ),
      "auth",
      1,
      /KEY/,
    ],
    ["407 from a proxy", () => new Response("<h1>Proxy Authentication Required</h1>", { status: 407 }), "network", 1, /HTTPS_PROXY/],
    ["402", () => error(402, "x", "Insufficient credits"), "rate-limited", 1, /billing/],
    [
      "429 for missing quota",
      () =>
        Response.json(
          { error: { code: "insufficient_quota", message: "You exceeded your current quota" } },
          { status: 429, headers: retrySoon },
        ),
      "rate-limited",
      1,
      /billing/,
    ],
    [
      "400 for missing credit",
      () => error(400, "invalid_request_error", "Your credit balance is too low to access the API"),
      "rate-limited",
      1,
      /billing/,
    ],
    ["429", () => error(429, "rate_limit_error", "slow"), "rate-limited", 4, /rate limit/],
    ["529", () => error(529, "overloaded_error", "Overloaded"), "overloaded", 4, /overloaded/],
    ["503", () => error(503, "x", "busy"), "overloaded", 4, /overloaded/],
    ["500", () => error(500, "api_error", "Internal server error"), "overloaded", 4, /server failed/],
    [
      "502 from a proxy",
      () => new Response("<html><h1>Bad gateway</h1></html>", { status: 502, headers: retrySoon }),
      "overloaded",
      4,
      /server failed/,
    ],
    ["408", () => error(408, "timeout_error", "late"), "overloaded", 4, /server failed/],
    ["409", () => error(409, "conflict", "again"), "overloaded", 4, /server failed/],
    ["413", () => error(413, "request_too_large", "Request exceeds the maximum size"), "too-long", 1, /window/],
    [
      "400 of Anthropic for length",
      () => error(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
      "too-long",
      1,
      /window/,
    ],
    [
      "400 of OpenAI for length",
      () =>
        Response.json(
          { error: { code: "context_length_exceeded", message: "Your input exceeds the context window of this model." } },
          { status: 400 },
        ),
      "too-long",
      1,
      /window/,
    ],
    [
      "400 of Gemini for length",
      () =>
        Response.json(
          {
            error: {
              code: 400,
              status: "INVALID_ARGUMENT",
              message: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            },
          },
          { status: 400 },
        ),
      "too-long",
      1,
      /window/,
    ],
    [
      "400 of a local server for length",
      () =>
        Response.json(
          { error: { code: 400, type: "exceed_context_size_error", message: "the request exceeds the available context size" } },
          { status: 400 },
        ),
      "too-long",
      1,
      /window/,
    ],
    [
      "400 for too many output tokens",
      () => error(400, "invalid_request_error", "max_tokens: 100000 > 32000, which is the maximum allowed number of output tokens"),
      "broken",
      1,
      /^$/,
    ],
    ["404", () => error(404, "not_found_error", "model: claude-nine"), "broken", 1, /skein models/],
    ["400", () => error(400, "invalid_request_error", "messages.0: bad"), "broken", 1, /^$/],
    [
      "400 for a policy violation",
      () => Response.json({ error: { code: "content_policy_violation", message: "no" } }, { status: 400 }),
      "refused",
      1,
      /refused/,
    ],
    ["a redirect", () => new Response(null, { status: 307, headers: { location: "http://127.0.0.1:1/" } }), "broken", 1, /base URL/],
    [
      "an error body with status 200",
      () => Response.json({ error: { code: 429, message: "slow down" } }, { headers: retrySoon }),
      "rate-limited",
      4,
      /rate limit/,
    ],
    [
      "a web page instead of a stream",
      () => new Response("<html>Welcome</html>", { headers: { "content-type": "text/html" } }),
      "broken",
      1,
      /base URL/,
    ],
    [
      "an event that is not JSON",
      () => new Response("data: {oops\n\ndata: {}\n\n", { headers: { "content-type": "text/event-stream" } }),
      "broken",
      2,
      /could not be read/,
    ],
  ];
  for (const [title, answer, kind, tries, hint] of table) {
    test(`the failure "${title}" has the kind ${kind} and ${tries === 1 ? "is not retried" : `is tried ${tries} times`}`, async () => {
      const { server, endpoint } = startVendor(answer);
      const events = await streamEvents({ model: "claude-nine" }, endpoint);
      const failed = failedOf(events);
      expect(failed.error.kind).toBe(kind as never);
      expect(failed.error.hint ?? "").toMatch(hint);
      expect(failed.error.message.length).toBeLessThanOrEqual(300);
      expect(server.requests).toHaveLength(tries);
      expect(events.filter(({ type }) => type === "retry")).toHaveLength(tries - 1);
    });
  }

  test("an empty answer is requested once more and is then broken", async () => {
    const { server, endpoint } = startVendor(() => streamOf(recorded("anthropic", "empty")));
    const events = await streamEvents({}, endpoint);
    expect(types(events)).toEqual(["retry", "failed"]);
    expect(failedOf(events).error).toMatchObject({ kind: "broken", message: expect.stringContaining("empty answer") as never });
    expect(server.requests).toHaveLength(2);
  });

  test("a missing server is a network failure that names the base URL", async () => {
    const server = serve(goodAnswer);
    await server.stop();
    const events = await streamEvents(
      {},
      { wire: "openai-chat", vendor: "ollama", baseUrl: `${server.url}/v1` },
      { retry: { attempts: 2, maxWaitMs: 5000 } },
    );
    expect(types(events)).toEqual(["retry", "failed"]);
    expect(failedOf(events).error.kind).toBe("network");
    expect(failedOf(events).error.hint).toContain(`${server.url}/v1`);
    expect(failedOf(events).error.hint).toContain("is ollama running?");
  });

  test("an unknown host name is a network failure", async () => {
    const events = await streamEvents(
      {},
      { wire: "anthropic", vendor: "anthropic", baseUrl: "http://no-such-host.invalid" },
      { retry: { attempts: 1, maxWaitMs: 0 } },
    );
    expect(failedOf(events).error.kind).toBe("network");
  });
});
