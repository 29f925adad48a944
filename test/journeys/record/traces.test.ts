// Traces of OpenTelemetry: live to a collector on 127.0.0.1, and exported from old sessions.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { OtlpSpan } from "../../../src/protocol/otlp/otlp.ts";
import { type ModelServer, startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { attribute, startCollector } from "../../support/collector.ts";
import { rawAcp } from "../../support/acp-lines.ts";
import { mcpClient, serverWith, stoppingHub } from "../../support/mcp-clients.ts";
import { temporaryHome, vendorEnv } from "../../support/temporary-home.ts";

const model = ["-m", "anthropic/claude-sonnet-4-5"];
const [caller, callerSpan] = ["0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"];

let server: ModelServer;
beforeAll(() => {
  server = startModelServer(({ position: { prompt } }) =>
    prompt === "count"
      ? { steps: [{ calls: [{ input: { command: "ls missing" } }] }], final: "counted" }
      : { steps: [{ text: "Delegating.", calls: [{ name: "spawn_session", input: { task: "count" } }] }], final: "done" },
  );
});
afterAll(() => server.stop());

const spansIn = (text: string) =>
  (JSON.parse(text) as { resourceSpans: { scopeSpans: { spans: OtlpSpan[] }[] }[] }).resourceSpans[0]!.scopeSpans[0]!.spans;

/** Every span but the first has its parent in the list. */
function isConnected(spans: readonly OtlpSpan[], root: string | undefined): boolean {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  return spans.every(({ parentSpanId }) => parentSpanId === root || ids.has(parentSpanId ?? ""));
}

describe("traces", () => {
  test("a run with a sub-session arrives as one connected trace below the caller's span, with the tokens of the model", async () => {
    const collector = startCollector();
    using skein = temporaryHome({
      ...vendorEnv(server.url),
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: "x-team=web",
      TRACEPARENT: `00-${caller}-${callerSpan}-01`,
    });
    server.clear();
    expect(await skein.run(["run", "go", "--session", "s", ...model])).toMatchObject({
      code: 0,
      err: expect.not.stringContaining("trace"),
    });
    const [below, above] = (await collector.turns(2)).toSorted((a, b) => Number(a.endTimeUnixNano) - Number(b.endTimeUnixNano));
    const { spans } = collector;
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([caller]));
    expect([above!.parentSpanId, below!.parentSpanId]).toEqual([callerSpan, above!.spanId]);
    expect(isConnected(spans, callerSpan)).toBe(true);
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
    expect(spans.map(({ name }) => name).toSorted()).toEqual([
      ...Array<string>(4).fill("chat claude-sonnet-4-5"),
      "execute_tool bash",
      "execute_tool spawn_session",
      ...Array<string>(2).fill("invoke_agent native"),
    ]);
    const counted = server.main().map(({ usage }) => usage!);
    const sum = (key: string) => [above, below].reduce((total, span) => total + Number(attribute(span, key)), 0);
    expect(sum("gen_ai.usage.output_tokens")).toBe(counted.reduce((total, usage) => total + usage.output, 0));
    const failed = spans.find(({ name }) => name === "execute_tool bash");
    expect([failed!.status.code, attribute(failed, "error.type")]).toEqual([2, "tool_error"]);
    expect(JSON.stringify(spans)).not.toContain("Delegating.");
    expect(collector.headers[0]!.get("x-team")).toBe("web");

    const exported = await skein.run(["export", "s", "--format", "otlp"]);
    expect(spansIn(exported.out)).toHaveLength(spans.length);
    expect(isConnected(spansIn(exported.out), undefined)).toBe(true);
    await collector.stop();
  });

  test("a command gets the span of its turn as TRACEPARENT, and none without a collector", async () => {
    const collector = startCollector();
    const printing = startModelServer(shellScript(["echo parent=$TRACEPARENT."]), { chunkDelayMs: 0 });
    using skein = temporaryHome({ ...vendorEnv(printing.url), OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    await skein.run(["run", "print it", "--session", "s", ...model]);
    const [turn] = await collector.turns(1);
    expect((await skein.run(["export", "s"])).out).toContain(`parent=00-${turn!.traceId}-${turn!.spanId}-01.`);
    delete skein.env["OTEL_EXPORTER_OTLP_ENDPOINT"];
    await skein.run(["run", "print it", "--session", "without", ...model]);
    expect((await skein.run(["export", "without"])).out).toContain("parent=.");
    await Promise.all([collector.stop(), printing.stop()]);
  });

  test("a prompt over ACP and a call over MCP name the span above their turn, and MCP servers get that of the turn", async () => {
    const collector = startCollector();
    const calls = [{ name: "mcp", input: { server: "tools", tool: "meta" } }];
    await using calling = serverWith(({ position: { prompt } }) => ({ steps: prompt === "over ACP" ? [{ calls }] : [], final: "done" }));
    const ofClient = { TRACEPARENT: `00-${"1".repeat(32)}-${"2".repeat(16)}-01` };
    await using skein = stoppingHub(temporaryHome({ ...vendorEnv(calling.url), ...ofClient, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }));
    const meta = { _meta: { traceparent: `00-${caller}-${callerSpan}-01` } };
    await using acp = await rawAcp(skein);
    const program = join(import.meta.dir, "../../fixtures/mcp/server.ts");
    const mcpServers = [{ name: "tools", command: process.execPath, args: [program], env: [] }];
    const { result } = await acp.request("session/new", { cwd: skein.project, mcpServers });
    const prompt = { sessionId: result!["sessionId"], prompt: [{ type: "text", text: "over ACP" }] };
    expect(await acp.request("session/prompt", { ...prompt, ...meta })).toMatchObject({ result: { stopReason: "end_turn" } });
    const [overAcp] = await collector.turns(1);
    expect([overAcp!.traceId, overAcp!.parentSpanId]).toEqual([caller, callerSpan]);
    expect(calling.main().at(-1)!.text).toContain(`span 00-${caller}-${overAcp!.spanId}-01.`);

    await using mcp = await mcpClient(skein);
    const work = { agent: "native", session_id: "work", task: "over MCP" };
    await mcp.client.callTool({ name: "work_with", arguments: work, ...meta });
    const overMcp = (await collector.turns(2)).find(({ spanId }) => spanId !== overAcp!.spanId);
    expect([overMcp!.traceId, overMcp!.parentSpanId]).toEqual([caller, callerSpan]);
    await mcp.call("work_with", { ...work, session_id: "other" });
    // A call that names no span is below that of the client's own environment.
    expect((await collector.turns(3)).some(({ parentSpanId }) => parentSpanId === "2".repeat(16))).toBe(true);
    await collector.stop();
  });

  test("contents are sent only if the user asks for them", async () => {
    const collector = startCollector();
    using skein = temporaryHome({
      ...vendorEnv(server.url),
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "true",
    });
    await skein.run(["run", "count", ...model]);
    const [turn] = await collector.turns(1);
    expect(attribute(turn, "gen_ai.input.messages")).toContain("count");
    expect(attribute(turn, "gen_ai.output.messages")).toContain("counted");
    const call = collector.spans.find(({ name }) => name === "execute_tool bash");
    expect(attribute(call, "gen_ai.tool.call.arguments")).toBe('{"command":"ls missing"}');
    await collector.stop();
  });

  test("the spans of a collector that is down are sent by a later run, and no run waits for one that never answers", async () => {
    using skein = temporaryHome({ ...vendorEnv(server.url), OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" });
    expect((await skein.run(["run", "count", ...model])).code).toBe(0);
    const slow = startCollector({ isSlow: true });
    skein.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = slow.url;
    expect((await skein.run(["run", "count", ...model])).code).toBe(0);
    const collector = startCollector();
    skein.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = collector.url;
    expect((await skein.run(["run", "count", ...model])).code).toBe(0);
    expect((await collector.turns(2)).length).toBeGreaterThanOrEqual(2);
    await Promise.all([slow.stop(), collector.stop()]);
  });

  test("an endpoint that is no URL is one warning, and without a collector nothing is stored", async () => {
    using skein = temporaryHome({ ...vendorEnv(server.url), OTEL_EXPORTER_OTLP_ENDPOINT: "collector" });
    const ran = await skein.run(["run", "count", ...model]);
    expect([ran.code, ran.err.match(/no trace is sent: OTEL_EXPORTER_OTLP_ENDPOINT is not an http or https URL/g)?.length]).toEqual([0, 1]);
    delete skein.env["OTEL_EXPORTER_OTLP_ENDPOINT"];
    await skein.run(["run", "count", ...model]);
    const stored = join(skein.root, "skein", "state", "traces");
    expect(existsSync(stored) ? readdirSync(stored) : []).toEqual([]);
  });
});
