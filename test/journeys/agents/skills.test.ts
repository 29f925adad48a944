// The native agent uses the example skill: it is a line in the catalog, a file to read and a program to run. Its body
// is still sent after the conversation was compacted.
import { expect, test } from "bun:test";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startModelServer, type ModelServer } from "../../../src/scripted-model/model-server.ts";
import { field, listOf, textOf, type JsonValue } from "../../../src/scripted-model/json.ts";
import type { ScriptCall, Script } from "../../../src/scripted-model/script.ts";
import { temporaryHome, vendorEnv, type TemporaryHome } from "../../support/temporary-home.ts";

const model = "anthropic/claude-sonnet-4-5";
const example = join(import.meta.dir, "..", "..", "..", "examples", "skills", "web-search");
const bodyLine = "An excerpt is not a source.";
const description = "Search the web for current facts";

test("a skill is listed in the catalog, read when it is used, and run through bash", async () => {
  await runSkillJourney(null, async ({ skein, server, searches: searched, run }) => {
    const skill = join(skein.project, ".skein", "skills", "web-search");
    const calls: ScriptCall[] = [
      { name: "read", input: { path: join(skill, "SKILL.md") } },
      { input: { command: `${skill}/web-search --query "bun sqlite" --max-results 2` } },
    ];
    await run(calls);
    const [first, second, third] = server.main().map((request) => request.body);
    const system = JSON.stringify(field(first ?? null, "system"));
    expect(system).toContain(`- web-search: ${description}`);
    expect(system).toContain(join(skill, "SKILL.md"));
    expect(system).not.toContain(bodyLine);
    expect(lastResult(second ?? null)).toContain(bodyLine);
    expect(searched).toEqual(["bun sqlite, 2"]);
    expect(lastResult(third ?? null)).toBe(
      "1. Found 1\n   https://found.example/1\n   about bun sqlite\n2. Found 2\n   https://found.example/2\n   about bun sqlite",
    );
  });
});

test("a skill can be read by a relative path, and the bodies of other skills are not sent", async () => {
  await runSkillJourney(null, async ({ skein, server, run }) => {
    const otherSkill = join(skein.project, ".agents", "skills", "other");
    mkdirSync(otherSkill, { recursive: true });
    writeFileSync(join(otherSkill, "SKILL.md"), "---\nname: other\ndescription: Something else entirely.\n---\nSECRET BODY\n");
    await run([{ name: "read", input: { path: ".skein/skills/web-search/SKILL.md" } }]);
    const texts = server.main().map((request) => request.text);
    expect(texts[0]).toContain("- other: Something else entirely.");
    expect(texts[1]).toContain(bodyLine);
    expect(texts.join("")).not.toContain("SECRET BODY");
  });
});

test("a skill that was read survives every compaction", async () => {
  const window = 8000;
  await runSkillJourney(window, async ({ server, run }) => {
    const fill = (index: number): ScriptCall => ({ input: { command: `echo ${index}; head -c 1500 /dev/zero | tr '\\0' z` } });
    await run([
      { name: "read", input: { path: ".skein/skills/web-search/SKILL.md" } },
      ...Array.from({ length: 30 }, (_, index) => fill(index)),
    ]);
    const bodies = server.main().map((request) => request.body);
    const summaries = bodies.filter(isSummary).length;
    expect(summaries).toBeGreaterThanOrEqual(2);
    const work = bodies.filter((body) => !isSummary(body)).slice(1);
    for (const body of work) expect(JSON.stringify(field(body, "messages")).split(bodyLine)).toHaveLength(2);
    const last = userTexts(work.at(-1) ?? null).filter((text) => text.startsWith("[Skill "));
    expect(last).toHaveLength(1);
    expect(last[0]).toContain(bodyLine);
  });
});

test("with skills off the catalog is not sent", async () => {
  await runSkillJourney(null, async ({ server, run }) => {
    await run([], { SKEIN_SKILLS: "off" });
    expect(server.main()[0]?.text).not.toContain(description);
  });
});

type SkillJourney = {
  skein: TemporaryHome;
  server: ModelServer;
  searches: string[];
  run: (calls: ScriptCall[], env?: Record<string, string>) => Promise<void>;
};

/** Runs `check` with a project that has the example skill, a local search endpoint, and a model that makes the calls. */
async function runSkillJourney(window: number | null, check: (ctx: SkillJourney) => Promise<void>): Promise<void> {
  let calls: ScriptCall[] = [];
  let summaries = 0;
  const script = ({ position, body }: { position: { step: number }; body: JsonValue }): Script => {
    if (isSummary(body)) return { steps: [], final: `summary ${(summaries += 1)}` };
    const call = calls[position.step - summaries];
    return { steps: call === undefined ? [] : Array.from({ length: position.step + 1 }, () => ({ calls: [call] })), final: "done" };
  };
  const server = startModelServer(script, { count: "requests" });
  const searches: string[] = [];
  const endpoint = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: (request) => answerSearch(new URL(request.url), searches) });
  using skein = temporaryHome({ ...vendorEnv(server.url), WEB_SEARCH_URL: `http://127.0.0.1:${endpoint.port}/search` });
  try {
    cpSync(example, join(skein.project, ".skein", "skills", "web-search"), { recursive: true });
    const config = join(skein.root, "skein", "config");
    mkdirSync(config, { recursive: true });
    writeFileSync(
      join(config, "config.jsonc"),
      JSON.stringify({ tool_env: ["WEB_SEARCH_URL"], providers: { anthropic: { context_window: window } } }),
    );
    const run: SkillJourney["run"] = async (newCalls, env = {}) => {
      calls = newCalls;
      const ran = await skein.run(["run", "look it up", "-m", model, "--net", "on", "--json"], { env });
      expect({ code: ran.code, err: ran.code === 0 ? "" : ran.err }).toEqual({ code: 0, err: "" });
      expect(ran.json()).toMatchObject({ status: "ok", result: "done" });
    };
    await check({ skein, server, searches: searches, run });
  } finally {
    await Promise.all([server.stop(), endpoint.stop(true)]);
  }
}

function answerSearch(url: URL, searches: string[]): Response {
  const [query, limit] = [url.searchParams.get("q"), Number(url.searchParams.get("limit"))];
  searches.push(`${query}, ${limit}`);
  const results = Array.from({ length: limit }, (_, index) => ({
    title: `Found ${index + 1}`,
    url: `https://found.example/${index + 1}`,
    snippet: `about ${query}`,
  }));
  return Response.json({ results });
}

function isSummary(body: JsonValue): boolean {
  return userTexts(body).at(-1)?.startsWith("Stop working for a moment") === true;
}

function userTexts(body: JsonValue): string[] {
  return listOf(field(body, "messages"))
    .filter((message) => field(message, "role") === "user")
    .flatMap((message) => listOf(field(message, "content")))
    .flatMap((block) => (field(block, "type") === "text" ? [textOf(field(block, "text"))] : []));
}

function lastResult(body: JsonValue): string {
  const results = listOf(field(body, "messages"))
    .flatMap((message) => listOf(field(message, "content")))
    .filter((block) => field(block, "type") === "tool_result");
  const content = field(results.at(-1) ?? null, "content");
  return typeof content === "string"
    ? content
    : listOf(content)
        .map((block) => textOf(field(block, "text")))
        .join("");
}
