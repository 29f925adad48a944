// group_think with the real program: a client of `skein mcp`, a hub, scripted vendors, and an agent that is a separate
// program in a read-only sandbox.
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startModelServer, type ModelServer } from "../../../src/scripted-model/model-server.ts";
import type { Script } from "../../../src/scripted-model/script.ts";
import { coreToolSchemas } from "../../../src/protocol/schema/mcp.ts";
import { killHub } from "../../support/hub-client.ts";
import { stoppingHub, mcpClient, waitForEnd } from "../../support/mcp-clients.ts";
import { temporaryHome, type TemporaryHome, vendorEnv } from "../../support/temporary-home.ts";

const gpt = "openai/gpt-5.2";
const sonnet = "anthropic/claude-sonnet-4-5";
const broken = "gemini/gemini-3-pro-preview";
const looker = "my-looker";

/** Reads a file, tries to write one, and never agrees. Its last argument is the prompt. */
const lookerScript = `for P in "$@"; do :; done
case "$P" in *"Check the deliverable"*) echo "DISAGREE: notes.txt says $(cat notes.txt)" ;;
*) echo "notes.txt says $(cat notes.txt)"; if touch written 2>/dev/null; then echo "and I could write"; fi ;; esac`;

/** The answer of a participant in a phase. */
type Reply = (participant: string, phase: "discussion" | "synthesis" | "validation" | "refinement") => string | Script;

const defaultReply: Reply = (participant, phase) => (phase === "validation" ? "AGREE" : `${phase} by ${participant}`);

function scriptFromReply(reply: Reply): (request: { position: { prompt: string } }) => Script {
  return ({ position: { prompt } }) => {
    const participant = /You are (.+?)\. These participants/.exec(prompt)?.[1] ?? "nobody";
    const task = prompt.slice(prompt.lastIndexOf("\n# Your "));
    const phase = task.includes("Your turn")
      ? "discussion"
      : task.includes("Check the deliverable")
        ? "validation"
        : task.includes("Improve")
          ? "refinement"
          : "synthesis";
    const answer = reply(participant, phase);
    return typeof answer === "string" ? { steps: [], final: answer } : answer;
  };
}

/** Starts a server that refuses Gemini's key and answers all other requests by script. */
function startVendors(reply: Reply): ModelServer & AsyncDisposable {
  const forbidden = { error: { code: 403, status: "PERMISSION_DENIED", message: "not this key" } };
  const server = startModelServer(scriptFromReply(reply), {
    route: (_request, path) => (path.includes("gemini") ? Promise.resolve(Response.json(forbidden, { status: 403 })) : null),
  });
  return Object.assign(server, { [Symbol.asyncDispose]: () => server.stop() });
}

function homeFor(server: ModelServer): TemporaryHome & AsyncDisposable {
  const skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
  const program = join(skein.root, "looker");
  writeFileSync(program, `#!/bin/sh\n${lookerScript}\n`, { mode: 0o755 });
  writeFileSync(join(skein.project, "notes.txt"), "use a table");
  const folder = join(skein.env["SKEIN_HOME"]!, "config");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "config.jsonc"), JSON.stringify({ agents: { [looker]: { command: program } } }));
  return skein;
}

const input = (overrides: Record<string, unknown> = {}) => ({
  objective: "Choose a queue",
  output_format: "one paragraph",
  session_id: "queue",
  models: [gpt, sonnet],
  discussion_turns: 2,
  validation_rounds: 1,
  ...overrides,
});

type Statement = { who: string; tries: number; cost_usd: number };

async function statementsIn(skein: TemporaryHome): Promise<Statement[]> {
  const tree = (await skein.run(["show", "queue", "--json"])).json() as { nodes: { said?: Statement }[] };
  return tree.nodes.flatMap((node) => node.said ?? []);
}

const requestCount = (server: ModelServer) => server.main().length;

test("a group of four, of whom one fails and one is an agent, returns the deliverable, the dissent and the cost", async () => {
  await using server = startVendors(defaultReply);
  await using skein = homeFor(server);
  await using mcp = await mcpClient(skein);
  const models = ["GPT 5.2", sonnet, broken, looker];
  const done = await mcp.call("group_think", input({ models, validation_rounds: 2, context: ["notes.txt"], user_input: "no new server" }));
  expect(done.text).toStartWith(`refinement by ${gpt}\n\n## Dissent\n\n**${looker}** (validation round 2): notes.txt says use a table`);
  expect(done.text).toContain(`## Failed participants\n\n- ${broken} (auth): `);
  expect(done.isError).toBe(false);
  const output = coreToolSchemas.group_think.output.parse(done.output);
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

  // The second round contains the objective, the user's input, the context and the first round's statements.
  const second = server.main().find(({ text }) => text.includes("round 2 of 2"))!.text;
  for (const words of ["Choose a queue", "no new server", "use a table", `discussion by ${sonnet}`]) expect(second).toContain(words);
  expect(second).not.toContain("I could write");

  // The cost is the sum of all sub-sessions, and each of them is stored.
  const statements = await statementsIn(skein);
  expect(statements).toHaveLength(2 * 3 + 1 + 1 + 2 * 3 + 2);
  expect(output.cost_usd).toBeCloseTo(statements.reduce((sum, { cost_usd }) => sum + cost_usd, 0));
  const report = (await skein.run(["usage", "--json"])).json() as unknown as { cost_usd: number }[];
  expect(output.cost_usd).toBeGreaterThan(0);
  expect(output.cost_usd).toBeCloseTo(report.reduce((sum, { cost_usd }) => sum + cost_usd, 0));

  expect((await skein.run(["logs", "queue"])).out).toContain(`${looker}, discussion 1: notes.txt says use a table`);
  expect((await skein.run(["export", "queue", "--format", "md"])).out).toContain(`${broken}, discussion 1, auth`);

  expect((await mcp.call("follow_session", { session_id: "queue", lines: 200 })).text).toContain(`${looker}, validation 2: DISAGREE`);

  // The same call again sends no request. The next turn of the session gets the answer but not the discussion.
  const before = requestCount(server);
  const turns = (await skein.run(["usage", "--json"])).out;
  expect((await mcp.call("group_think", input({ models, context: ["notes.txt"], user_input: "no new server" }))).text).toBe(done.text);
  expect(requestCount(server)).toBe(before);
  expect((await skein.run(["usage", "--json"])).out).toBe(turns);
  await mcp.call("consult_with", { model: gpt, question: "and now?", session_id: "queue" });
  const next = server.main().at(-1)!.text;
  expect(next).toContain(`refinement by ${gpt}`);
  expect(next).not.toContain(`discussion by ${sonnet}`);

  // Another objective in the same session starts a new discussion.
  const cache = input({ objective: "Choose a cache", models: [gpt], discussion_turns: 1, validation_rounds: 0 });
  expect((await mcp.call("group_think", cache)).output).toMatchObject({ status: "ok", dissent: [], rounds: { validation: 0 } });
  const again = await mcp.call("group_think", input({ models, context: ["notes.txt"], user_input: "no new server" }));
  expect(again.output).toMatchObject({ deliverable: output.deliverable, dissent: output.dissent, cost_usd: output.cost_usd });
  expect(mcp.stderrText()).toBe("");
}, 300_000);

/** A reply that blocks for 10 minutes when this participant reaches this phase. */
const stuckAt =
  (name: string, phase: Parameters<Reply>[1]): Reply =>
  (participant, currentPhase) =>
    participant === name && currentPhase === phase
      ? { steps: [{ text: "late", delayMs: 600_000 }], final: "" }
      : defaultReply(participant, currentPhase);

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await Bun.sleep(20);
}

const tasks = (server: ModelServer) => server.main().map(({ text }) => /# Your (?:turn: round \d|task\\n\w+)/.exec(text)?.[0] ?? "");

test("a group that was killed in mid-round is reported as killed, and the next call continues after the stored statements", async () => {
  let round = 0;
  const stuck = stuckAt(sonnet, "discussion");
  await using server = startVendors((name, phase) =>
    name === sonnet && (round += 1) === 2 ? stuck(name, phase) : defaultReply(name, phase),
  );
  await using skein = homeFor(server);
  await using mcp = await mcpClient(skein);
  const first = mcp.call("group_think", input());
  await until(() => requestCount(server) === 4);
  while ((await statementsIn(skein)).length < 3) await Bun.sleep(20);
  await killHub(skein);
  expect(await first).toMatchObject({ isError: true, text: expect.stringContaining("the hub that runs this session was lost") });
  expect((await mcp.call("wait_session", { session_id: "queue" })).output).toMatchObject({ status: "killed", rounds: { discussion: 2 } });

  server.clear();
  server.setScript(scriptFromReply(defaultReply));
  const second = await mcp.call("group_think", input());
  expect(second.output).toMatchObject({ status: "ok", deliverable: `synthesis by ${gpt}`, rounds: { discussion: 2, validation: 1 } });
  expect(tasks(server)).toEqual(["# Your turn: round 2", "# Your task\\nWrite", "# Your task\\nCheck", "# Your task\\nCheck"]);
  const prompts = (await skein.run(["show", "queue"])).out.split("\n").filter((line) => line.includes("Objective"));
  expect(prompts).toHaveLength(1);
  expect((await skein.run(["verify"])).code).toBe(0);
}, 300_000);

test("a cancelled call stops the group without blaming a participant, and the same call continues it", async () => {
  await using server = startVendors(stuckAt(gpt, "synthesis"));
  await using skein = homeFor(server);
  await using mcp = await mcpClient(skein);
  const cancel = new AbortController();
  const first = mcp.call("group_think", input(), { signal: cancel.signal }).catch((error: unknown) => error);
  await until(() => requestCount(server) === 5);
  cancel.abort();
  expect(await first).toBeInstanceOf(Error);
  const stopped = await mcp.call("wait_session", { session_id: "queue" });
  expect(stopped.output).toMatchObject({ status: "cancelled", participants: [{ status: "ok" }, { status: "ok" }], dissent: [] });
  expect((await skein.run(["ps", "--json"])).out).not.toContain('"running"');

  server.clear();
  server.setScript(scriptFromReply(defaultReply));
  expect((await mcp.call("group_think", input())).output).toMatchObject({ status: "ok", deliverable: `synthesis by ${gpt}` });
  expect(requestCount(server)).toBe(3);
}, 300_000);

test("a used-up budget stops the group, and a call with a larger budget continues it", async () => {
  await using server = startVendors(defaultReply);
  await using skein = homeFor(server);
  await using mcp = await mcpClient(skein);
  const stopped = await mcp.call("group_think", input({ max_cost_usd: 0.000001 }));
  expect(stopped).toMatchObject({ isError: true, text: expect.stringContaining("the budget is used up"), output: { status: "budget" } });
  const paidRequests = requestCount(server);
  expect(paidRequests).toBeLessThan(3);
  const resumed = await mcp.call("group_think", input({ max_cost_usd: 10 }));
  expect(resumed.output).toMatchObject({
    status: "ok",
    deliverable: `synthesis by ${gpt}`,
    participants: [{ status: "ok" }, { status: "ok" }],
  });
}, 300_000);

test("a silent participant is asked three times and reported, and long work is returned early and collected later", async () => {
  await using server = startVendors((name, phase) => (name === sonnet ? "" : defaultReply(name, phase)));
  await using skein = homeFor(server);
  await using mcp = await mcpClient(skein, { args: ["--hand-back-after", "1s"] });
  const handed = await mcp.call("group_think", input({ discussion_turns: 1 }));
  expect(handed.output).toMatchObject({ status: "running", next: "wait_session" });
  const collected = await waitForEnd(mcp, { session_id: "queue" });
  expect(collected.output).toMatchObject({
    status: "ok",
    answer: expect.stringContaining(`synthesis by ${gpt}\n\n## Failed participants\n\n- ${sonnet} (broken): `),
    participants: [
      { name: gpt, status: "ok" },
      { name: sonnet, status: "broken", error: "anthropic: empty answer from claude-sonnet-4-5" },
    ],
    rounds: { discussion: 1, validation: 1 },
    cost_usd: expect.any(Number),
  });
  expect((await statementsIn(skein)).map(({ who, tries }) => [who, tries])).toContainEqual([sonnet, 3]);
}, 300_000);

test("the native agent takes part with read-only tools and without ask_user", async () => {
  await using server = startVendors((name, phase) =>
    name === "native" && phase === "discussion"
      ? { steps: [{ calls: [{ input: { command: "cat notes.txt; touch written || echo not allowed" } }] }], final: "native has looked" }
      : defaultReply(name, phase),
  );
  await using skein = homeFor(server);
  await using mcp = await mcpClient(skein, { env: { SKEIN_MODEL: sonnet }, capabilities: { elicitation: { form: {} } } });
  const done = await mcp.call("group_think", input({ models: ["native", gpt], discussion_turns: 1, validation_rounds: 0 }));
  expect(done.output).toMatchObject({ status: "ok", deliverable: `synthesis by ${gpt}` });
  const [first, looked] = server.main().filter(({ path }) => path.endsWith("/messages"));
  const { tools } = first!.body as { tools: { name: string }[] };
  expect(tools.map(({ name }) => name)).toEqual(["read", "bash"]);
  expect(looked!.text).toContain("use a table");
  expect(looked!.text).toContain("not allowed");
  expect(existsSync(join(skein.project, "written"))).toBe(false);
}, 300_000);

test.each([
  [{ models: ["gpt-9.9-turboo"] }, 'openai has no model "gpt-9.9-turboo"; did you mean'],
  [{ models: [gpt], synthesis_model: "nobody" }, 'there is no model "nobody"'],
  [{ models: [] }, "models"],
  [{ context: ["../secret"] }, "context: "],
  [{ discussion_turns: 0 }, "discussion_turns"],
])("a wrong call is refused in one line and nothing is written: %j", async (overrides, words) => {
  await using server = startVendors(defaultReply);
  await using skein = homeFor(server);
  await using mcp = await mcpClient(skein);
  const refused = await mcp.call("group_think", input(overrides));
  expect(refused.isError).toBe(true);
  expect(refused.text).toContain(words);
  expect(requestCount(server)).toBe(0);
  expect((await mcp.call("list_sessions")).output).toEqual({ sessions: [] });
});
