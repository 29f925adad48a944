// One orchestrator, ten native sub-sessions and five by the real agents, all at once and each with a tool: shown while they
// run, linked on both sides, and back at their parent.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { installPeers, peerNames } from "../../bench/peers.ts";
import { type ModelServer, startModelServer } from "../../src/agents/contract/server.ts";
import { agentHouse, agentModels } from "../support/agent-walk.ts";
import { follow } from "../support/following.ts";
import { leftOf } from "../support/processes.ts";

const children = [
  ...Array.from({ length: 10 }, (_, at) => ({ task: `native-task-${at}` })),
  ...peerNames.map((agent) => ({ task: `${agent}-task-x`, agent, model: agentModels[agent]! })),
];
/** The answer holds what only the command can say. */
const child = { steps: [{ text: "I look.", calls: [{ input: { command: "expr 61000 + 300" } }] }], final: "It is counted." };

let server: ModelServer;

beforeAll(async () => {
  await installPeers(peerNames);
  server = startModelServer(({ position: { prompt } }) =>
    /\w+-task-\w/.test(prompt)
      ? child
      : { steps: [{ calls: children.map((input) => ({ name: "spawn_session", input })) }], final: "all are back" },
  );
}, 300_000);
afterAll(() => server.stop());

test("ten native and five real agents work at once below one turn", async () => {
  using house = agentHouse(server);
  const words = ["run", "everything", "-m", "anthropic/claude-opus-4-5", "--output-format", "events"];
  const { printed, ended } = follow(house.start(words));
  expect(await ended).toMatchObject({ code: 0 });
  const [parent, spawned] = [printed[0]!.session_id, printed.filter(({ type }) => type === "session.spawned")];
  expect(spawned).toHaveLength(children.length);
  for (const { call, spawned_session_id: id } of spawned) {
    const at = printed.findIndex(({ node }) => node?.parts.some((part) => part.kind === "result" && part.call === call));
    const shown = printed.slice(0, at).flatMap((event) => (event.type === "tool.output" && event.call === call ? [event.text] : []));
    expect(shown.join("")).toMatch(/I look\.[\s\S]*expr 61000 \+ 300[\s\S]*It is counted\./);
    expect(printed[at]!.node!.parts[0]!.text).toStartWith(`It is counted.\n\n[session ${id}, ok, $0.`);
  }
  const folder = join(house.project, ".skein", "sessions");
  const transcripts = readdirSync(folder)
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => readFileSync(join(folder, name), "utf8").trim().split("\n"));
  const heads = transcripts.map(([head]) => JSON.parse(head!) as Record<string, unknown>);
  const below = heads.filter((head) => head["parent_session_id"] === parent && head["is_sub_session"] === true);
  expect(below.map((head) => String(head["agent"])).toSorted()).toEqual(
    [...peerNames, ...Array.from({ length: 10 }, () => "native")].toSorted(),
  );
  const ours = transcripts.find(([head]) => head!.includes(`"session_id":"${parent}"`))!.join("\n");
  const request = server.main().findLast(({ text }) => text.includes("claude-opus-4-5"))!.text;
  for (const { spawned_session_id: id } of spawned) for (const text of [ours, request]) expect(text).toContain(`[session ${id}, ok, `);
  expect((await house.run(["verify"])).code).toBe(0);
  expect(await leftOf(house.root)).toEqual([]);
}, 120_000);
