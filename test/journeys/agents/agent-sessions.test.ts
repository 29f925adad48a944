// The journeys that the Testing Strategy of mcp-the-force names, with fakes for the CLIs; `test/real/clis` takes them with real ones.
//
// | there | here |
// |---|---|
// | Parser edge cases (malformed JSON, missing fields) | src/agents/external/adapters/damaged-lines.test.ts, and each adapter's own test |
// | Environment isolation (correct paths, config generation) | each adapter's own test; test/security/escape; below |
// | Session bridge CRUD operations | src/store/conformance/store.ts, src/store/sqlite/tables/native-sessions.test.ts |
// | Compactor logic (fits/exceeds threshold) | src/agents/external/turn/brief.test.ts |
// | SessionBridge ↔ SQLite round-trip | src/store/sqlite/tables/native-sessions.test.ts |
// | CLIExecutor ↔ subprocess ↔ Parser pipeline | src/agents/external/process/run-cli.test.ts, agent-failures.test.ts |
// | Cross-tool session continuity | test/real/clis/handover.test.ts; below |
// | Full work_with flow with Claude | below; test/real/clis/native-sessions.test.ts |
// | Resume same CLI session | below; test/real/clis/native-sessions.test.ts |
// | Cross-CLI handoff (consult_with → work_with) | below; test/real/clis/handover.test.ts |
// | consult_with multi-turn via TOOL_REGISTRY | below, by the command; the registry is the tool level |
import { expect, test } from "bun:test";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { homeWithFakeClis, type FakeCliHome } from "../../support/fake-clis.ts";
import { vendorEnv, wireModels } from "../../support/temporary-home.ts";

type Session = { nodes: { author: string; parts: { kind: string; text?: string }[] }[] };

async function run(skein: FakeCliHome, words: string[]): Promise<string> {
  const ran = await skein.run(["run", ...words, "--output-format", "json"]);
  expect({ code: ran.code, err: ran.err }).toEqual({ code: 0, err: "" });
  return String(ran.json()["result"]);
}

async function talkOf(skein: FakeCliHome, session: string): Promise<string[]> {
  const { nodes } = (await skein.run(["show", session, "--json"])).json() as unknown as Session;
  const texts = nodes.map(({ author, parts }) => [author, parts.flatMap(({ kind, text }) => (kind === "text" ? [text] : [])).join("")]);
  return texts.filter(([author, text]) => author !== "tool" && text !== "").map(([author, text]) => `${author}: ${text}`);
}

test("full work_with flow with Claude: a task by a model's name, with role and effort, to an answer in the tree", async () => {
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
  expect(await talkOf(skein, "work")).toEqual(["user: do the work", "agent: All three were said."]);
  const [start] = skein.started();
  expect(start).toMatchObject({ name: "claude", how: "new" });
  for (const words of ["--model=claude-opus-4-5", "--effort=high", "--append-system-prompt=You are a planner.", "do the work"])
    expect(start!.told).toContain(words);
});

test("environment isolation: a configuration directory of its own below skein's, which only the user can open", async () => {
  using skein = homeWithFakeClis(["claude", "codex"]);
  await run(skein, ["one", "-a", "claude", "--session", "tree"]);
  await run(skein, ["two", "-a", "codex", "--session", "tree"]);
  const data = join(skein.env["SKEIN_HOME"]!, "data", "agents");
  const [tree] = readdirSync(data);
  expect(readdirSync(join(data, tree!)).sort()).toEqual(["claude", "codex"]);
  for (const name of ["claude", "codex"]) expect(statSync(join(data, tree!, name)).mode & 0o077).toBe(0);
  expect(readdirSync(skein.home).filter((name) => /claude|codex/.test(name))).toEqual([]);
});

test("resume same CLI session: the second turn goes on in it, and only the new words are sent", async () => {
  using skein = homeWithFakeClis(["claude"]);
  await run(skein, ["remember the heron", "-a", "claude", "--session", "work"]);
  expect(await run(skein, ["and then?", "--session", "work"])).toBe("Only this.");
  const [first, second] = skein.started();
  expect(second).toMatchObject({ how: "resume", from: first!.id });
  expect(second!.told).not.toContain("heron");
});

test("cross-CLI handoff (consult_with → work_with): what an API model said is told to the CLI, and back", async () => {
  const server = startModelServer(shellScript([], "Ask the heron."));
  using skein = homeWithFakeClis(["codex", "gemini"], vendorEnv(server.url));
  try {
    await run(skein, ["whom do I ask?", "-m", wireModels.anthropic, "--tool-level", "none", "--session", "work"]);
    await run(skein, ["then do it", "-a", "codex", "--session", "work"]);
    await run(skein, ["and check it", "-a", "gemini", "--session", "work"]);
    const [codex, gemini] = skein.started();
    for (const words of ["whom do I ask?", "Ask the heron.", "then do it"]) expect(codex!.told).toContain(words);
    for (const words of ["Ask the heron.", "then do it", "All three were said.", "and check it"]) expect(gemini!.told).toContain(words);
    server.setScript(shellScript([], "So it is."));
    await run(skein, ["was it right?", "-a", "native", "-m", wireModels.anthropic, "--tool-level", "none", "--session", "work"]);
    const asked = server.main().at(-1)!.text;
    for (const words of ["whom do I ask?", "then do it", "All three were said.", "and check it", "was it right?"])
      expect(asked).toContain(words);
    expect((await talkOf(skein, "work")).filter((line) => line.startsWith("user"))).toEqual([
      "user: whom do I ask?",
      "user: then do it",
      "user: and check it",
      "user: was it right?",
    ]);
  } finally {
    await server.stop();
  }
});

test("consult_with multi-turn: an API model without tools is asked again with what was said before", async () => {
  const server = startModelServer(shellScript([], "Twelve."));
  using skein = homeWithFakeClis([], vendorEnv(server.url));
  try {
    await run(skein, ["how many herons?", "-m", wireModels.gemini, "--tool-level", "none", "--session", "consult"]);
    expect(await run(skein, ["are you sure?", "--tool-level", "none", "--session", "consult"])).toBe("Twelve.");
    const second = server.requests.findLast(({ protocol }) => protocol !== null)!;
    for (const words of ["how many herons?", "Twelve.", "are you sure?"]) expect(second.text).toContain(words);
    expect(second.text).not.toContain("functionDeclarations");
  } finally {
    await server.stop();
  }
});
