// The journeys from the Testing Strategy of mcp-the-force, with fake CLIs. `test/real/clis` runs them with real CLIs.
//
// | mcp-the-force | skein |
// |---|---|
// | Parser edge cases (malformed JSON, missing fields) | src/agents/external/adapters/damaged-lines.test.ts, and each adapter's own test |
// | Environment isolation (correct paths, config generation) | each adapter's own test; test/security/escape; below |
// | Session bridge CRUD operations | src/store/conformance/store.ts, src/store/sqlite/tables/cli-sessions.test.ts |
// | Compactor logic (fits/exceeds threshold) | src/agents/external/turn/brief.test.ts |
// | SessionBridge ↔ SQLite round-trip | src/store/sqlite/tables/cli-sessions.test.ts |
// | CLIExecutor ↔ subprocess ↔ Parser pipeline | src/agents/external/process/run-cli.test.ts, agent-failures.test.ts |
// | Cross-tool session continuity | test/real/clis/handover.test.ts; below |
// | Full work_with flow with Claude | below; test/real/clis/native-sessions.test.ts |
// | Resume same CLI session | below; test/real/clis/native-sessions.test.ts |
// | Cross-CLI handoff (consult_with → work_with) | below; test/real/clis/handover.test.ts |
// | consult_with multi-turn via TOOL_REGISTRY | below, through the command line; the tool level replaces the registry |
import { expect, test } from "bun:test";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { homeWithFakeClis, type FakeCliHome } from "../../support/fake-clis.ts";
import { vendorEnv, wireModels } from "../../support/temporary-home.ts";

type Session = { nodes: { author: string; parts: { kind: string; text?: string }[] }[] };

async function run(skein: FakeCliHome, args: string[]): Promise<string> {
  const ran = await skein.run(["run", ...args, "--output-format", "json"]);
  expect({ code: ran.code, err: ran.err }).toEqual({ code: 0, err: "" });
  return String(ran.json()["result"]);
}

async function conversationOf(skein: FakeCliHome, session: string): Promise<string[]> {
  const { nodes } = (await skein.run(["show", session, "--json"])).json() as unknown as Session;
  const texts = nodes.map(({ author, parts }) => [author, parts.flatMap(({ kind, text }) => (kind === "text" ? [text] : [])).join("")]);
  return texts.filter(([author, text]) => author !== "tool" && text !== "").map(([author, text]) => `${author}: ${text}`);
}

test("full work_with flow with Claude: a task with model name, role and effort ends with an answer in the tree", async () => {
  using skein = homeWithFakeClis(["claude"]);
  const answer = await run(skein, [
    "do the work",
    "-a",
    "claude-opus-4-5:high",
    "--append-system",
    "You are a planner.",
    "--session",
    "work",
  ]);
  expect(answer).toBe("All three were said.");
  expect(await conversationOf(skein, "work")).toEqual(["user: do the work", "agent: All three were said."]);
  const [start] = skein.started();
  expect(start).toMatchObject({ name: "claude", how: "new" });
  for (const words of ["--model=claude-opus-4-5", "--effort=high", "You are a planner.", "do the work"])
    expect(start!.input).toContain(words);
});

test("environment isolation: each CLI has its own configuration directory below skein's, which only the user can open", async () => {
  using skein = homeWithFakeClis(["claude", "codex"]);
  await run(skein, ["one", "-a", "claude", "--session", "tree"]);
  await run(skein, ["two", "-a", "codex", "--session", "tree"]);
  const data = join(skein.env["SKEIN_HOME"]!, "data", "agents");
  const [tree] = readdirSync(data);
  expect(readdirSync(join(data, tree!)).sort()).toEqual(["claude", "codex"]);
  for (const name of ["claude", "codex"]) expect(statSync(join(data, tree!, name)).mode & 0o077).toBe(0);
  expect(readdirSync(skein.home).filter((name) => /claude|codex/.test(name))).toEqual([]);
});

test("resume same CLI session: the second turn resumes it and sends only the new prompt", async () => {
  using skein = homeWithFakeClis(["claude"]);
  await run(skein, ["remember the heron", "-a", "claude", "--session", "work"]);
  expect(await run(skein, ["and then?", "--session", "work"])).toBe("Only this.");
  const [first, second] = skein.started();
  expect(second).toMatchObject({ how: "resume", from: first!.id });
  expect(second!.input).not.toContain("heron");
});

test("cross-CLI handoff (consult_with → work_with): the CLI gets the answer of an API model, and the API model that of the CLI", async () => {
  const server = startModelServer(shellScript([], "Ask the heron."));
  using skein = homeWithFakeClis(["codex", "gemini"], vendorEnv(server.url));
  try {
    await run(skein, ["whom do I ask?", "-m", wireModels.anthropic, "--tool-level", "none", "--session", "work"]);
    await run(skein, ["then do it", "-a", "codex", "--session", "work"]);
    await run(skein, ["and check it", "-a", "gemini", "--session", "work"]);
    const [codex, gemini] = skein.started();
    for (const words of ["whom do I ask?", "Ask the heron.", "then do it"]) expect(codex!.input).toContain(words);
    for (const words of ["Ask the heron.", "then do it", "All three were said.", "and check it"]) expect(gemini!.input).toContain(words);
    server.setScript(shellScript([], "So it is."));
    await run(skein, ["was it right?", "-a", "native", "-m", wireModels.anthropic, "--tool-level", "none", "--session", "work"]);
    const requestText = server.main().at(-1)!.text;
    for (const words of ["whom do I ask?", "then do it", "All three were said.", "and check it", "was it right?"])
      expect(requestText).toContain(words);
    expect((await conversationOf(skein, "work")).filter((line) => line.startsWith("user"))).toEqual([
      "user: whom do I ask?",
      "user: then do it",
      "user: and check it",
      "user: was it right?",
    ]);
  } finally {
    await server.stop();
  }
});

test("consult_with multi-turn: the second request to an API model without tools contains the first turn", async () => {
  const server = startModelServer(shellScript([], "Twelve."));
  using skein = homeWithFakeClis([], vendorEnv(server.url));
  try {
    await run(skein, ["how many herons?", "-m", wireModels.gemini, "--tool-level", "none", "--session", "consult"]);
    expect(await run(skein, ["are you sure?", "--tool-level", "none", "--session", "consult"])).toBe("Twelve.");
    const second = server.requests.findLast(({ wire }) => wire !== null)!;
    for (const words of ["how many herons?", "Twelve.", "are you sure?"]) expect(second.text).toContain(words);
    expect(second.text).not.toContain("functionDeclarations");
  } finally {
    await server.stop();
  }
});
