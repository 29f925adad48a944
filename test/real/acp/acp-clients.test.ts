// Real programs on both sides of `skein acp`: acpx drives it as a client, and one thread passes from the real Claude Code to the
// real Codex to the native agent.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installPeers } from "../../../bench/peers.ts";
import { type ModelServer, startModelServer } from "../../../src/scripted-model/model-server.ts";
import { acpClient, textOfUpdates } from "../../support/acp-clients.ts";
import { agentHome, agentModels } from "../../support/agent-journey.ts";
import { stoppingHub } from "../../support/mcp-clients.ts";
import { npmTool } from "../../support/npm-tool.ts";
import { ownRlimitTag, waitForNoProcesses } from "../../support/processes.ts";
import { testServerEntry } from "../../support/server-journey.ts";
import type { TemporaryHome } from "../../support/temporary-home.ts";

let server: ModelServer;
let skein: TemporaryHome & AsyncDisposable;
let acpxCommand: string[];

beforeAll(async () => {
  await installPeers(["claude", "codex"]);
  acpxCommand = await npmTool("acpx", "acpx@0.19.1", "acpx/dist/cli.js");
  server = startModelServer({ steps: [], final: "" });
  skein = stoppingHub(agentHome(server));
}, 300_000);

afterAll(async () => {
  await skein[Symbol.asyncDispose]();
  await server.stop();
});

type Outcome = { out: string; err: string; code: number };

/**
 * Runs acpx with skein as its agent. `--ttl 1` ends its own background process soon after the last prompt. acpx refuses a
 * command while that process ends.
 */
async function runAcpx(options: string[], args: string[]): Promise<Outcome> {
  const child = Bun.spawn([...acpxCommand, "--ttl", "1", "--approve-all", ...options, "skein", ...args], {
    cwd: skein.project,
    env: skein.env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err, code] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
  if (`${out}${err}`.includes("Queue owner is shutting down")) return runAcpx(options, args);
  return { out, err, code };
}

const acpx = (...args: string[]) => runAcpx([], args);

test("acpx drives skein: a prompt with a command and a diff, options, a session that the terminal continues, and a cancellation", async () => {
  expect((await skein.run(["acp", "install", "acpx"])).code).toBe(0);
  server.setScript({
    steps: [
      { text: "I look.", calls: [{ input: { command: "echo from-the-shell" } }] },
      { calls: [{ name: "write", input: { path: "made.txt", content: "made\n" } }] },
    ],
    final: "All done.",
  });
  expect(await acpx("sessions", "new", "--name", "work")).toMatchObject({ code: 0 });
  const first = await acpx("prompt", "-s", "work", "make it");
  expect({ code: first.code, err: first.err.replace(/\[acpx\].*\n/g, "") }).toEqual({ code: 0, err: "" });
  for (const words of ["I look.", "from-the-shell", "made.txt", "All done.", "end_turn"]) expect(first.out).toContain(words);
  expect(readFileSync(join(skein.project, "made.txt"), "utf8")).toBe("made\n");

  expect(await acpx("set", "-s", "work", "policy", "readonly")).toMatchObject({ code: 0 });
  expect(await acpx("set-mode", "-s", "work", "plan")).toMatchObject({ code: 0 });
  // acpx sets its last options again when it starts skein again, but no mode.
  expect(await acpx("set", "-s", "work", "policy", "workspace")).toMatchObject({ code: 0 });

  // acpx answers a question with the first choice, because it approves everything.
  server.setScript({
    steps: [{ calls: [{ name: "ask_user", input: { question: "Which?", options: ["red", "blue"] } }] }],
    final: "painted",
  });
  expect((await acpx("prompt", "-s", "work", "paint it")).out).toContain("painted");
  expect(server.main().at(-1)!.text).toContain("red");

  // The terminal continues the session, and acpx loads it again.
  const [listed] = JSON.parse((await skein.run(["list", "--json"])).out) as { id: string }[];
  server.setScript({ steps: [], final: "from the terminal" });
  expect((await skein.run(["run", "go on", "--session", listed!.id])).out).toContain("from the terminal");
  server.setScript({ steps: [], final: "from acpx again" });
  expect((await acpx("prompt", "-s", "work", "and now?")).out).toContain("from acpx again");
  expect(server.main().at(-1)!.text).toContain("from the terminal");

  server.setScript({ steps: [{ calls: [{ input: { command: "touch begun; sleep 60" } }] }], final: "never" });
  const long = acpx("prompt", "-s", "work", "take long");
  while (!existsSync(join(skein.project, "begun"))) await Bun.sleep(50);
  expect(await acpx("cancel", "-s", "work")).toMatchObject({ code: 0 });
  expect((await long).out).toContain("cancelled");
  expect(JSON.parse((await skein.run(["ps", "--json"])).out)).toEqual([]);
}, 300_000);

test("one thread passes from the real Claude Code to the real Codex to native, each with the conversation and its diffs", async () => {
  await using acp = await acpClient(skein);
  const { sessionId } = await acp.open();
  writeFileSync(join(skein.project, "poem.txt"), "one\n");
  const texts: string[] = [];
  for (const [index, agent] of ["claude", "codex", "native"].entries()) {
    const answer = `answer 61300000000${index} of ${agent}`;
    server.setScript({ steps: [{ calls: [{ input: { command: `echo line-${index} >> poem.txt` } }] }], final: answer });
    await acp.agent.request("session/set_config_option", { sessionId, configId: "agent", value: agent });
    const model = agentModels[agent];
    if (model !== undefined) {
      const name = `${agent === "claude" ? "anthropic" : "openai"}/${model}`;
      await acp.agent.request("session/set_config_option", { sessionId, configId: "model", value: name });
    }
    const before = acp.updates.length;
    expect(await acp.prompt(sessionId, `question ${index}`)).toMatchObject({ stopReason: "end_turn" });
    const updates = acp.updates.slice(before);
    expect(textOfUpdates(updates, "agent_message_chunk")).toContain(answer);
    const ended = updates.flatMap((update) => (update.sessionUpdate === "tool_call_update" ? (update.status ?? []) : []));
    expect({ agent, ended: ended.at(-1) }).toEqual({ agent, ended: "completed" });
    for (const earlier of texts) expect(server.main().at(-1)!.text).toContain(earlier);
    texts.push(answer);
  }
  expect(readFileSync(join(skein.project, "poem.txt"), "utf8")).toBe("one\nline-0\nline-1\nline-2\n");
  const { turns } = (await skein.run(["show", sessionId, "--json"])).json() as { turns: { agent: string; status: string }[] };
  expect(turns.map(({ agent, status }) => `${agent} ${status}`)).toEqual(["claude ok", "codex ok", "native ok"]);
}, 300_000);

test("acpx lists every session, takes over one of the terminal, and passes it from claude to codex to native with its own MCP server", async () => {
  await skein.run(["acp", "install", "acpx"]);
  server.setScript({ steps: [], final: "answer 61300000010 of the terminal" });
  await skein.run(["run", "asked in the terminal", "--session", "begun"]);
  const listed = await acpx("sessions");
  const stored = JSON.parse((await skein.run(["list", "--json"])).out) as { id: string; name: string | null }[];
  const { id } = stored.find(({ name }) => name === "begun")!;
  for (const session of stored) expect(listed.out).toContain(session.id);

  const { command, args } = testServerEntry() as { command: string; args: string[] };
  const file = join(skein.root, "servers.json");
  writeFileSync(
    file,
    JSON.stringify({ mcpServers: [{ name: "small", command, args, env: [{ name: "OWN", value: "value-61300000011" }] }] }),
  );
  const withServer = (...more: string[]) => runAcpx(["--mcp-config", file], more);
  const taken = await withServer("sessions", "new", "--name", "taken", "--resume-session", id);
  expect({ err: taken.err, code: taken.code }).toMatchObject({ code: 0 });
  const calls = {
    claude: { name: "mcp__small__env" },
    codex: { name: "env" },
    native: { name: "mcp", input: { server: "small", tool: "env" } },
  };
  for (const agent of ["claude", "codex", "native"] as const) {
    server.setScript({ steps: [{ calls: [{ input: {}, ...calls[agent] }] }], final: `answer of ${agent}` });
    expect(await withServer("set", "-s", "taken", "agent", agent)).toMatchObject({ code: 0 });
    const { out } = await withServer("prompt", "-s", "taken", `asked of ${agent}`);
    expect(out).toContain(`answer of ${agent}`);
    expect(server.main().at(-1)!.text).toContain("answer 61300000010 of the terminal");
    expect(server.main().at(-1)!.text).toContain("value-61300000011");
  }
  const { turns } = (await skein.run(["show", id, "--json"])).json() as { turns: { agent: string; status: string }[] };
  expect(turns.map(({ agent, status }) => `${agent} ${status}`)).toEqual(["native ok", "claude ok", "codex ok", "native ok"]);
}, 300_000);

test("acpx cancels at 50 random moments: each prompt ends once, and nothing is left running", async () => {
  await skein.run(["acp", "install", "acpx"]);
  const tag = ownRlimitTag();
  server.setScript({ steps: [{ text: "one ".repeat(50), calls: [{ input: { command: `sleep ${tag}` } }], delayMs: 20 }], final: "never" });
  const sessions = Array.from({ length: 5 }, (_, index) => `cancelled-${index}`);
  const outcomes: string[] = [];
  await Promise.all(
    sessions.map(async (name) => {
      expect(await acpx("sessions", "new", "--name", name)).toMatchObject({ code: 0 });
      for (let count = 0; count < 10; count += 1) {
        const answer = runAcpx(["--format", "json", "--ttl", "20"], ["prompt", "-s", name, `prompt ${count}`]);
        await Bun.sleep(Math.random() * 2_000);
        // acpx has nothing to cancel before it has sent its prompt.
        while ((await acpx("cancel", "-s", name)).out.includes("nothing")) await Bun.sleep(10);
        outcomes.push([...(await answer).out.matchAll(/"stopReason":"(\w+)"/g)].map(([, reason]) => reason).join(" "));
      }
    }),
  );
  // A prompt that acpx withdraws before it has sent it has no answer.
  expect(outcomes.filter((reasons) => reasons !== "cancelled" && reasons !== "")).toEqual([]);
  expect(outcomes.filter((reasons) => reasons === "cancelled").length).toBeGreaterThan(40);
  expect(await waitForNoProcesses(skein.root, 10_000, { tag, only: ({ command }) => command.includes(tag) })).toEqual([]);
  expect(JSON.parse((await skein.run(["ps", "--json"])).out)).toEqual([]);
}, 300_000);
