// Runs ten native sub-sessions and five of the real agents below one turn, all at once and each with a tool call. Their output is
// printed live, parent and child are linked, and answers return to the parent. One budget counts for all.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { installPeers, peerNames } from "../../../bench/peers.ts";
import { type ModelServer, startModelServer } from "../../../src/scripted-model/model-server.ts";
import { type ScriptCall, shellScript } from "../../../src/scripted-model/script.ts";
import type { ResultRecord } from "../../../src/protocol/json/records.ts";
import { agentHome, agentModels } from "../../support/agent-journey.ts";
import { readEvents } from "../../support/read-events.ts";
import { waitForNoProcesses } from "../../support/processes.ts";

const children = [
  ...Array.from({ length: 10 }, (_, index) => ({ task: `native-task-${index}` })),
  ...peerNames.map((agent) => ({ task: `${agent}-task-x`, agent, model: agentModels[agent]! })),
];
const child = { steps: [{ text: "I look.", calls: [{ input: { command: "expr 613000000000 + 300" } }] }], final: "It is counted." };

let server: ModelServer;

beforeAll(async () => {
  await installPeers(peerNames);
  server = startModelServer({ steps: [], final: "" });
}, 300_000);
afterAll(() => server.stop());

test("ten native and five external sub-sessions work at once below one turn", async () => {
  server.setScript(({ position: { prompt } }) =>
    /\w+-task-\w/.test(prompt)
      ? child
      : { steps: [{ calls: children.map((input) => ({ name: "spawn_session", input })) }], final: "all are back" },
  );
  using skein = agentHome(server);
  const args = ["run", "everything", "-m", "anthropic/claude-opus-4-5", "--output-format", "events"];
  const { printed, ended } = readEvents(skein.start(args));
  expect(await ended).toMatchObject({ code: 0 });
  const [parent, spawned] = [printed[0]!.session_id, printed.filter(({ type }) => type === "session.spawned")];
  expect(spawned).toHaveLength(children.length);
  for (const { call, spawned_session_id: id } of spawned) {
    const resultIndex = printed.findIndex(({ node }) => node?.parts.some((part) => part.kind === "result" && part.call === call));
    const shown = printed
      .slice(0, resultIndex)
      .flatMap((event) => (event.type === "tool.output" && event.call === call ? [event.text] : []));
    expect(shown.join("")).toMatch(/I look\.[\s\S]*expr 613000000000 \+ 300[\s\S]*It is counted\./);
    expect(printed[resultIndex]!.node!.parts[0]!.text).toStartWith(`It is counted.\n\n[session ${id}, ok, spent $0.`);
  }
  // Only the output of the command contains this sum.
  expect(server.main().filter(({ text }) => text.includes("613000000300"))).toHaveLength(children.length);
  const folder = join(skein.project, ".skein", "sessions");
  const transcripts = readdirSync(folder)
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => readFileSync(join(folder, name), "utf8").trim().split("\n"));
  const heads = transcripts.map(([head]) => JSON.parse(head!) as Record<string, unknown>);
  const subSessions = heads.filter((head) => head["parent_session_id"] === parent && head["is_sub_session"] === true);
  expect(subSessions.map((head) => String(head["agent"])).toSorted()).toEqual(
    [...peerNames, ...Array.from({ length: 10 }, () => "native")].toSorted(),
  );
  const parentTranscript = transcripts.find(([head]) => head!.includes(`"session_id":"${parent}"`))!.join("\n");
  const request = server.main().findLast(({ text }) => text.includes("claude-opus-4-5"))!.text;
  for (const { spawned_session_id: id } of spawned)
    for (const text of [parentTranscript, request]) expect(text).toContain(`[session ${id}, ok, `);
  expect((await skein.run(["verify"])).code).toBe(0);
  expect(await waitForNoProcesses(skein.root)).toEqual([]);
});

test("a budget stops native and external sub-sessions within one request, and counts all their tokens", async () => {
  const hungry = shellScript(Array.from({ length: 6 }, () => "head -c 6000 /dev/zero | tr '\\0' x"));
  const pi = { agent: "pi", model: agentModels["pi"]! };
  const inputs = [
    ...["pi-task-1", "pi-task-2", "pi-task-3"].map((task): ScriptCall["input"] => ({ task, ...pi })),
    ...["native-task-4", "native-task-5"].map((task): ScriptCall["input"] => ({ task })),
  ];
  server.clear();
  server.setScript(({ position: { prompt } }) =>
    /\w+-task-\w/.test(prompt)
      ? hungry
      : { steps: [{ calls: inputs.map((input) => ({ name: "spawn_session", input })) }], final: "never said" },
  );
  using skein = agentHome(server);
  const ran = await skein.run(["run", "all", "-m", "anthropic/claude-opus-4-5", "--max-tokens", "30000", "--json"]);
  expect(ran.json()).toMatchObject({ status: "budget", error: { limit: "tokens" }, budget: { tokens_left: 0 } });
  const counts = server.main().map(({ usage }) => usage!.input + usage!.output);
  const total = counts.reduce((sum, count) => sum + count, 0);
  const { usage } = ran.json() as unknown as ResultRecord;
  expect(usage.input + usage.output).toBe(total);
  expect(total).toBeGreaterThanOrEqual(30_000);
  expect(total).toBeLessThan(30_000 + Math.max(...counts));
  expect(await waitForNoProcesses(skein.root)).toEqual([]);
});
