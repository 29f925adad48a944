// group_think with the real program: a client of `skein mcp`, a hub, scripted vendors, and an agent that is a program of
// its own behind read-only walls.
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startModelServer, type ModelServer } from "../../../src/scripted-model/model-server.ts";
import type { Script } from "../../../src/scripted-model/script.ts";
import { groupThinkOutput } from "../../../src/protocol/schema/mcp.ts";
import { hubFile } from "../../support/hub-client.ts";
import { stoppingHub, mcpClient } from "../../support/mcp-clients.ts";
import { temporaryHome, type TemporaryHome, vendorEnv } from "../../support/temporary-home.ts";

const gpt = "openai/gpt-5.2";
const sonnet = "anthropic/claude-sonnet-4-5";
const broken = "gemini/gemini-3-pro-preview";
const looker = "my-looker";

/** Looks, tries to write, and never agrees. Its last argument is what it was told. */
const lookerScript = `for P in "$@"; do :; done
case "$P" in *"Check the deliverable"*) echo "DISAGREE: notes.txt says $(cat notes.txt)" ;;
*) echo "notes.txt says $(cat notes.txt)"; if touch written 2>/dev/null; then echo "and I could write"; fi ;; esac`;

/** By who is asked and for what; the rest of the prompt is what others said. */
type Reply = (who: string, phase: "discussion" | "synthesis" | "validation" | "refinement") => string | Script;

const usual: Reply = (who, phase) => (phase === "validation" ? "AGREE" : `${phase} by ${who}`);

function scripted(reply: Reply): (request: { position: { prompt: string } }) => Script {
  return ({ position: { prompt } }) => {
    const who = /You are (.+?)\. These participants/.exec(prompt)?.[1] ?? "nobody";
    const task = prompt.slice(prompt.lastIndexOf("\n# Your "));
    const phase = task.includes("Your turn")
      ? "discussion"
      : task.includes("Check the deliverable")
        ? "validation"
        : task.includes("Improve")
          ? "refinement"
          : "synthesis";
    const answer = reply(who, phase);
    return typeof answer === "string" ? { steps: [], final: answer } : answer;
  };
}

/** Gemini has no right to be asked; all else is by script. */
function vendors(reply: Reply): ModelServer & AsyncDisposable {
  const forbidden = { error: { code: 403, status: "PERMISSION_DENIED", message: "not this key" } };
  const server = startModelServer(scripted(reply), {
    route: (_request, path) => (path.includes("gemini") ? Promise.resolve(Response.json(forbidden, { status: 403 })) : null),
  });
  return Object.assign(server, { [Symbol.asyncDispose]: () => server.stop() });
}

function houseFor(server: ModelServer): TemporaryHome & AsyncDisposable {
  const skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
  const program = join(skein.root, "looker");
  writeFileSync(program, `#!/bin/sh\n${lookerScript}\n`, { mode: 0o755 });
  writeFileSync(join(skein.project, "notes.txt"), "use a table");
  const folder = join(skein.env["SKEIN_HOME"]!, "config");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "config.jsonc"), JSON.stringify({ agents: { [looker]: { command: program } } }));
  return skein;
}

const input = (change: Record<string, unknown> = {}) => ({
  objective: "Choose a queue",
  output_format: "one paragraph",
  session_id: "queue",
  models: [gpt, sonnet],
  discussion_turns: 2,
  validation_rounds: 1,
  ...change,
});

type Said = { who: string; tries: number; cost_usd: number };

async function saidIn(skein: TemporaryHome): Promise<Said[]> {
  const tree = (await skein.run(["show", "queue", "--json"])).json() as { nodes: { said?: Said }[] };
  return tree.nodes.flatMap((node) => node.said ?? []);
}

const asked = (server: ModelServer) => server.main().length;

test("four participants of whom one fails and one is an agent: the deliverable, the dissent, the cost", async () => {
  await using server = vendors(usual);
  await using skein = houseFor(server);
  await using talk = await mcpClient(skein);
  const models = ["GPT 5.2", sonnet, broken, looker];
  const done = await talk.call("group_think", input({ models, validation_rounds: 2, context: ["notes.txt"], user_input: "no new server" }));
  expect(done.text).toStartWith(`refinement by ${gpt}\n\n## Dissent\n\n**${looker}** (validation round 2): notes.txt says use a table`);
  expect(done.text).toContain(`## Not heard to the end\n\n- ${broken} (auth): `);
  expect(done.isError).toBe(false);
  const output = groupThinkOutput.parse(done.output);
  expect(output).toMatchObject({
    status: "ok",
    session_id: "queue",
    deliverable: `refinement by ${gpt}`,
    dissent: [{ name: looker, round: 2, reason: "notes.txt says use a table" }],
    rounds: { discussion: 2, validation: 2 },
  });
  expect(output.participants).toEqual(
    expect.arrayContaining([
      { name: gpt, status: "ok" },
      { name: sonnet, status: "ok" },
      { name: broken, status: "auth", error: expect.stringContaining("not this key") },
      { name: looker, status: "ok" },
    ]),
  );
  expect(existsSync(join(skein.project, "written"))).toBe(false);

  // Everyone was told what belongs to it, and what the agent saw.
  const second = server.main().find(({ text }) => text.includes("round 2 of 2"))!.text;
  for (const words of ["Choose a queue", "no new server", "use a table", `discussion by ${sonnet}`]) expect(second).toContain(words);
  expect(second).not.toContain("I could write");

  // The cost is that of all sub-sessions, and every one of them is there.
  const said = await saidIn(skein);
  expect(said).toHaveLength(2 * 3 + 1 + 1 + 2 * 3 + 2);
  expect(output.cost_usd).toBeCloseTo(said.reduce((sum, { cost_usd }) => sum + cost_usd, 0));
  const report = (await skein.run(["usage", "--json"])).json() as unknown as { cost_usd: number }[];
  expect(output.cost_usd).toBeGreaterThan(0);
  expect(output.cost_usd).toBeCloseTo(report.reduce((sum, { cost_usd }) => sum + cost_usd, 0));

  expect((await skein.run(["logs", "queue"])).out).toContain(`${looker}, discussion 1: notes.txt says use a table`);
  expect((await skein.run(["export", "queue", "--format", "md"])).out).toContain(`${broken}, discussion 1, auth`);

  expect((await talk.call("follow_session", { session_id: "queue", lines: 200 })).text).toContain(`${looker}, validation 2: DISAGREE`);

  // Once more asks nobody; the next in the session knows the answer, not the discussion.
  const before = asked(server);
  const turns = (await skein.run(["usage", "--json"])).out;
  expect((await talk.call("group_think", input({ models, context: ["notes.txt"], user_input: "no new server" }))).text).toBe(done.text);
  expect(asked(server)).toBe(before);
  expect((await skein.run(["usage", "--json"])).out).toBe(turns);
  await talk.call("consult_with", { model: gpt, question: "and now?", session_id: "queue" });
  const next = server.main().at(-1)!.text;
  expect(next).toContain(`refinement by ${gpt}`);
  expect(next).not.toContain(`discussion by ${sonnet}`);

  // Another objective in the session is another matter.
  const cache = input({ objective: "Choose a cache", models: [gpt], discussion_turns: 1, validation_rounds: 0 });
  expect((await talk.call("group_think", cache)).output).toMatchObject({ status: "ok", dissent: [], rounds: { validation: 0 } });
  const again = await talk.call("group_think", input({ models, context: ["notes.txt"], user_input: "no new server" }));
  expect(again.output).toMatchObject({ deliverable: output.deliverable, dissent: output.dissent, cost_usd: output.cost_usd });
  expect(talk.said()).toBe("");
}, 300_000);

/** One that is asked for this is waited for, for as long as nobody stops it. */
const stuckAt =
  (who: string, phase: Parameters<Reply>[1]): Reply =>
  (speaker, at) =>
    speaker === who && at === phase ? { steps: [{ text: "late", delayMs: 600_000 }], final: "" } : usual(speaker, at);

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await Bun.sleep(20);
}

const tasks = (server: ModelServer) => server.main().map(({ text }) => /# Your (?:turn: round \d|task\\n\w+)/.exec(text)?.[0] ?? "");

test("killed in the middle of a round, the truth is told, and it goes on after what was said", async () => {
  let round = 0;
  const stuck = stuckAt(sonnet, "discussion");
  await using server = vendors((who, phase) => (who === sonnet && (round += 1) === 2 ? stuck(who, phase) : usual(who, phase)));
  await using skein = houseFor(server);
  await using talk = await mcpClient(skein);
  const first = talk.call("group_think", input());
  await until(() => asked(server) === 4);
  while ((await saidIn(skein)).length < 3) await Bun.sleep(20);
  process.kill((JSON.parse(readFileSync(hubFile(skein), "utf8")) as { pid: number }).pid, "SIGKILL");
  expect(await first).toMatchObject({ isError: true, text: expect.stringContaining("the hub that runs this session was lost") });
  expect((await talk.call("wait_session", { session_id: "queue" })).output).toMatchObject({ status: "killed", rounds: { discussion: 2 } });

  server.clear();
  server.setScript(scripted(usual));
  const second = await talk.call("group_think", input());
  expect(second.output).toMatchObject({ status: "ok", deliverable: `synthesis by ${gpt}`, rounds: { discussion: 2, validation: 1 } });
  expect(tasks(server)).toEqual(["# Your turn: round 2", "# Your task\\nWrite", "# Your task\\nCheck", "# Your task\\nCheck"]);
  const shown = (await skein.run(["show", "queue"])).out;
  expect(shown.split("# Objective")).toHaveLength(2);
  expect((await skein.run(["verify"])).code).toBe(0);
}, 300_000);

test("a cancelled call stops all of it and blames nobody; the same call goes on", async () => {
  await using server = vendors(stuckAt(gpt, "synthesis"));
  await using skein = houseFor(server);
  await using talk = await mcpClient(skein);
  const cancel = new AbortController();
  const first = talk.call("group_think", input(), { signal: cancel.signal }).catch((error: unknown) => error);
  await until(() => asked(server) === 5);
  cancel.abort();
  expect(await first).toBeInstanceOf(Error);
  const stopped = await talk.call("wait_session", { session_id: "queue" });
  expect(stopped.output).toMatchObject({ status: "cancelled", participants: [{ status: "ok" }, { status: "ok" }], dissent: [] });
  expect((await skein.run(["ps", "--json"])).out).not.toContain('"running"');

  server.clear();
  server.setScript(scripted(usual));
  expect((await talk.call("group_think", input())).output).toMatchObject({ status: "ok", deliverable: `synthesis by ${gpt}` });
  expect(asked(server)).toBe(3);
}, 300_000);

test("a used up budget stops it with what there is, and a larger one goes on from there", async () => {
  await using server = vendors(usual);
  await using skein = houseFor(server);
  await using talk = await mcpClient(skein);
  const poor = await talk.call("group_think", input({ max_cost_usd: 0.000001 }));
  expect(poor).toMatchObject({ isError: true, text: expect.stringContaining("the budget is used up"), output: { status: "budget" } });
  const paid = asked(server);
  expect(paid).toBeLessThan(3);
  const rich = await talk.call("group_think", input({ max_cost_usd: 10 }));
  expect(rich.output).toMatchObject({
    status: "ok",
    deliverable: `synthesis by ${gpt}`,
    participants: [{ status: "ok" }, { status: "ok" }],
  });
}, 300_000);

test("one that says nothing is asked three times and named; longer work is handed back and collected as data", async () => {
  await using server = vendors((who, phase) => (who === sonnet ? "" : usual(who, phase)));
  await using skein = houseFor(server);
  await using talk = await mcpClient(skein, { args: ["--hand-back-after", "1s"] });
  const handed = await talk.call("group_think", input({ discussion_turns: 1 }));
  expect(handed.output).toMatchObject({ status: "running", next: "wait_session" });
  let collected = handed;
  while (collected.output["status"] === "running") collected = await talk.call("wait_session", { session_id: "queue" });
  expect(collected.output).toMatchObject({
    status: "ok",
    answer: expect.stringContaining(`synthesis by ${gpt}\n\n## Not heard to the end\n\n- ${sonnet} (broken): `),
    participants: [
      { name: gpt, status: "ok" },
      { name: sonnet, status: "broken", error: "anthropic: empty answer from claude-sonnet-4-5" },
    ],
    rounds: { discussion: 1, validation: 1 },
    cost_usd: expect.any(Number),
  });
  expect((await saidIn(skein)).map(({ who, tries }) => [who, tries])).toContainEqual([sonnet, 3]);
}, 300_000);

test("the native agent takes part with tools that only look, and asks no person", async () => {
  await using server = vendors((who, phase) =>
    who === "native" && phase === "discussion"
      ? { steps: [{ calls: [{ input: { command: "cat notes.txt; touch written || echo not allowed" } }] }], final: "native has looked" }
      : usual(who, phase),
  );
  await using skein = houseFor(server);
  await using talk = await mcpClient(skein, { env: { SKEIN_MODEL: sonnet }, capabilities: { elicitation: { form: {} } } });
  const done = await talk.call("group_think", input({ models: ["native", gpt], discussion_turns: 1, validation_rounds: 0 }));
  expect(done.output).toMatchObject({ status: "ok", deliverable: `synthesis by ${gpt}` });
  const [first, looked] = server.main().filter(({ path }) => path.endsWith("/messages"));
  const { tools } = first!.body as { tools: { name: string }[] };
  expect(tools.map(({ name }) => name)).toEqual(["read", "bash"]);
  expect(looked!.text).toContain("use a table");
  expect(looked!.text).toContain("not allowed");
  expect(existsSync(join(skein.project, "written"))).toBe(false);
}, 300_000);

test.each([
  [{ models: ["gpt-9.9-turboo"] }, 'there is no model "gpt-9.9-turboo"'],
  [{ models: [gpt], synthesis_model: "nobody" }, 'there is no model "nobody"'],
  [{ models: [] }, "models"],
  [{ context: ["../secret"] }, "context: "],
  [{ discussion_turns: 0 }, "discussion_turns"],
])("what is wrong with a call is said in a line, and nothing is written: %j", async (change, words) => {
  await using server = vendors(usual);
  await using skein = houseFor(server);
  await using talk = await mcpClient(skein);
  const refused = await talk.call("group_think", input(change));
  expect(refused.isError).toBe(true);
  expect(refused.text).toContain(words);
  expect(asked(server)).toBe(0);
  expect((await talk.call("list_sessions")).output).toEqual({ sessions: [] });
});
