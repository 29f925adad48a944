// A native turn with a real Claude Code and a real Codex below it arrives at a collector as one connected trace, with the tokens
// that the model server counted.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { installPeers } from "../../../bench/peers.ts";
import { type ModelServer, startModelServer } from "../../../src/scripted-model/model-server.ts";
import type { TokenCounts } from "../../../src/scripted-model/script.ts";
import { agentHome, agentModels } from "../../support/agent-journey.ts";
import { attribute, startCollector } from "../../support/collector.ts";

const agents = ["claude", "codex"] as const;
let server: ModelServer;

beforeAll(async () => {
  await installPeers(agents);
  server = startModelServer(({ position: { prompt } }) =>
    /\w+-task-\w/.test(prompt)
      ? { steps: [{ text: "I look.", calls: [{ input: { command: "expr 613000000000 + 300" } }] }], final: "It is counted." }
      : {
          steps: [
            {
              calls: agents.map((agent) => ({
                name: "spawn_session",
                input: { task: `${agent}-task-x`, agent, model: agentModels[agent]! },
              })),
            },
          ],
          final: "all are back",
        },
  );
}, 300_000);
afterAll(() => server.stop());

/** The conventions count cached tokens as input. */
const inputOf = ({ input, cacheRead, cacheWrite }: TokenCounts) => input + cacheRead + cacheWrite;

test("one trace has the native turn, and Claude Code and Codex below it", async () => {
  const collector = startCollector();
  using skein = agentHome(server, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  expect((await skein.run(["run", "everything", "-m", "anthropic/claude-opus-4-5"])).code).toBe(0);
  const turns = await collector.turns(3);
  expect(turns.map((span) => String(attribute(span, "gen_ai.agent.name"))).toSorted()).toEqual(["claude", "codex", "native"]);
  const root = turns.find((span) => attribute(span, "gen_ai.agent.name") === "native")!;
  expect(new Set(collector.spans.map(({ traceId }) => traceId))).toEqual(new Set([root.traceId]));
  const ids = new Set(collector.spans.map(({ spanId }) => spanId));
  expect(collector.spans.filter(({ parentSpanId }) => parentSpanId === undefined)).toEqual([root]);
  expect(collector.spans.every(({ parentSpanId }) => parentSpanId === undefined || ids.has(parentSpanId))).toBe(true);
  for (const agent of [...agents, "native"]) {
    const span = turns.find((each) => attribute(each, "gen_ai.agent.name") === agent)!;
    const own = server.requests.filter(
      ({ usage, text }) =>
        usage !== null &&
        (agent === "native" ? text.includes("everything") : text.includes(`${agent}-task-x`) && !text.includes("everything")),
    );
    const counted = own.reduce((total, { usage }) => ({ input: total.input + inputOf(usage!), output: total.output + usage!.output }), {
      input: 0,
      output: 0,
    });
    const inSpan = (key: string) => attribute(span, `gen_ai.usage.${key}_tokens`);
    expect([agent, own.length, inSpan("input"), inSpan("output")]).toEqual([agent, 2, counted.input, counted.output]);
    expect(collector.spans.some((each) => each.parentSpanId === span.spanId && each.name.startsWith("execute_tool"))).toBe(true);
  }
  await collector.stop();
}, 120_000);
