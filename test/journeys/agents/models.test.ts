// Names of models, the agent that answers by default, and settings of single models, through the real program.
import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { requestedModel } from "../../../src/scripted-model/side-requests.ts";
import { homeWithFakeClis } from "../../support/fake-clis.ts";
import { mcpClient } from "../../support/mcp-clients.ts";
import { temporaryHome, vendorEnv, type TemporaryHome } from "../../support/temporary-home.ts";

const noKeys = { ANTHROPIC_API_KEY: "", OPENAI_API_KEY: "", GEMINI_API_KEY: "" };

function signIn({ home }: TemporaryHome): void {
  mkdirSync(join(home, ".claude"), { recursive: true });
  const claudeAiOauth = { accessToken: "sk-ant-oat01-test", refreshToken: "r", expiresAt: 4_102_444_800_000, scopes: ["user:inference"] };
  writeFileSync(join(home, ".claude", ".credentials.json"), JSON.stringify({ claudeAiOauth }));
}

describe("names of models", () => {
  test("every spelling of a model means the same on the command line and over MCP", async () => {
    const server = startModelServer({ steps: [], final: "fine" });
    using skein = temporaryHome(vendorEnv(server.url));
    await using mcp = await mcpClient(skein);
    try {
      for (const [name, id] of [
        ["gpt-5-2", "gpt-5.2"],
        ["GPT 5.2", "gpt-5.2"],
        ["claude45_opus", "claude-opus-4-5"],
        ["sonnet", "claude-sonnet-5"],
      ] as const) {
        server.clear();
        expect((await skein.run(["run", "-m", name, "hello"])).code).toBe(0);
        expect((await mcp.call("consult_with", { model: name, question: "hello", session_id: name })).isError).toBe(false);
        expect(server.requests.map(({ path, body }) => requestedModel(path, body))).toEqual([id, id]);
      }
    } finally {
      await skein.run(["hub", "stop"]);
      await server.stop();
    }
  });

  test("a misspelt model is refused before a request, and a model of a router is not", async () => {
    const server = startModelServer({ steps: [], final: "fine" });
    using skein = temporaryHome(vendorEnv(server.url));
    const refused = await skein.run(["run", "-m", "anthropic/clade-sonnet-4-5", "hello"]);
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining("did you mean anthropic/claude-sonnet-4-5?")]);
    expect(server.requests).toEqual([]);
    expect((await skein.run(["run", "-m", "ollama/clade-sonnet-4-5", "hello"])).code).toBe(0);
    await server.stop();
  });

  const vendors: Record<string, string> = { claude: "anthropic", gemini: "gemini" };
  test.each(["claude", "codex", "gemini", "opencode", "pi"])("%s refuses a model that only answers over the API", async (agent) => {
    using skein = homeWithFakeClis([agent]);
    const vendor = vendors[agent] ?? "openai";
    const refused = await skein.run(["run", "-a", agent, "-m", `${vendor}/o3-deep-research`, "hello"]);
    expect([refused.code, refused.err]).toEqual([2, expect.stringMatching(/only be asked over the API\n.*consult_with.*-a native/)]);
    const named = await skein.run(["run", "-a", "o3-deep-research", "hello"]);
    expect([named.code, named.err]).toEqual([2, expect.stringContaining("consult_with")]);
    expect(skein.started()).toEqual([]);
  });

  test("models lists only models of today, recommended ones first, with their aliases", async () => {
    using skein = temporaryHome({ OPENAI_API_KEY: "k", ANTHROPIC_API_KEY: "k", GEMINI_API_KEY: "k" });
    const { out } = await skein.run(["models"]);
    expect(out).not.toMatch(/ada|babbage|davinci|claude-(v1|2|3)|gemini\/claude/);
    const rows = out.split("\n").map((line) => line.split(/\s+/).slice(1, 3));
    expect(rows[1]).toEqual(["anthropic/claude-opus-5-5", "opus"]);
    expect(rows.slice(1, 6)).toContainEqual(["openai/gpt-6-sol", "gpt"]);
  });

  test("config set refuses a value that a later command would refuse, and writes nothing", async () => {
    using skein = temporaryHome({ ANTHROPIC_API_KEY: "k" });
    for (const [key, value] of [
      ["model", "nonsense"],
      ["agent", "nobody"],
      ["sandbox", "off"],
      ["agents.mine.command", "./relative"],
      ["keys", '{"ctrl+t": "no-such-command"}'],
      ["models.nowhere/x.temperature", "1"],
    ] as const)
      expect([key, (await skein.run(["config", "set", key, value])).code]).toEqual([key, 3]);
    expect(await Bun.file(join(skein.env["SKEIN_HOME"]!, "config", "config.jsonc")).exists()).toBe(false);
    expect((await skein.run(["config", "set", "model", "sonnet"])).code).toBe(0);
  });
});

describe("without a key", () => {
  test("a signed-in CLI takes the turn and says so, and doctor calls the machine ready", async () => {
    using skein = homeWithFakeClis(["claude", "codex"], noKeys);
    signIn(skein);
    const ran = await skein.run(["run", "--net", "on", "--json", "hello"]);
    expect(ran.err).toContain("there is no key for a model, so claude answers with its own sign-in (~/.claude/.credentials.json)");
    expect([ran.code, ran.json()["agent"], ran.json()["status"]]).toEqual([0, "claude", "ok"]);
    const doctor = await skein.run(["doctor"]);
    expect([doctor.code, doctor.out]).toEqual([0, expect.stringContaining("claude answers, with its own sign-in")]);
    const explicit = await skein.run(["run", "-a", "native", "hello"]);
    expect(explicit.code).toBe(4);
  });

  test("doctor ends in a sentence, lists each key once and marks no server that does not answer", async () => {
    using skein = temporaryHome();
    const { code, out } = await skein.run(["doctor"]);
    expect(code).toBe(1);
    expect(out.trimEnd().split("\n").at(-1)).toMatch(/^not ready: set one of the keys .*\.$/);
    expect(out.split("ANTHROPIC_API_KEY")).toHaveLength(2);
    expect(out).toMatch(/○ key: ollama +no server answers/);
    expect(out).not.toMatch(/✓ key: (ollama|lmstudio|llamacpp)/);
  });
});

describe("settings of models", () => {
  const models = { "ollama/qwen3:8b": { temperature: 0.3, max_output_tokens: 77, price: { input: 1000, output: 1000 } } };
  const model = ["-m", "ollama/qwen3:8b"];

  test("temperature, output limit and price of the user's config apply, and a budget works with a local model", async () => {
    const server = startModelServer({ steps: [{ calls: [{ input: { command: "echo hello" } }] }], final: "fine" });
    using skein = temporaryHome(vendorEnv(server.url));
    const directory = join(skein.env["SKEIN_HOME"]!, "config");
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, "config.jsonc"), JSON.stringify({ models }));
    const ran = await skein.run(["run", ...model, "--json", "hello"]);
    expect(ran.json()["cost_usd"]).toBeGreaterThan(0);
    expect(server.requests[0]?.body).toMatchObject({ temperature: 0.3, max_tokens: 77 });
    const limited = await skein.run(["run", ...model, "--max-budget-usd", "0.001", "hello"]);
    expect(limited.code).toBe(7);
    await server.stop();
  });

  test("an untrusted project may set a temperature and a lower output limit, but no price", async () => {
    const server = startModelServer({ steps: [], final: "fine" });
    using skein = temporaryHome(vendorEnv(server.url));
    mkdirSync(join(skein.project, ".skein"), { recursive: true });
    writeFileSync(join(skein.project, ".skein", "config.jsonc"), JSON.stringify({ models }));
    const ran = await skein.run(["run", ...model, "--json", "hello"]);
    expect(ran.err).toContain("models.ollama/qwen3:8b.price.input");
    expect(server.requests[0]?.body).toMatchObject({ temperature: 0.3, max_tokens: 77 });
    expect(ran.json()["cost_usd"]).toBeNull();
    await server.stop();
  });

  test("max_retries of a provider limits how often a request is repeated, and config refuses other values", async () => {
    const server = startModelServer({ steps: [], final: "fine" });
    server.setFault({ type: "status", status: 529, retryAfter: "0" });
    using skein = temporaryHome(vendorEnv(server.url));
    for (const [retries, requests] of [
      [null, 4],
      ["0", 1],
      ["2", 3],
    ] as const) {
      if (retries !== null) expect((await skein.run(["config", "set", "providers.ollama.max_retries", retries])).code).toBe(0);
      server.clear();
      expect((await skein.run(["run", ...model, "--json", "hello"])).json()["status"]).toBe("overloaded");
      expect([retries, server.main().length]).toEqual([retries, requests]);
    }
    const refused = await skein.run(["config", "set", "providers.ollama.max_retries", "1.5"]);
    expect([refused.code, refused.err]).toEqual([3, expect.stringContaining("a whole number of at least 0")]);
    await server.stop();
  });

  test("requests_per_minute of a provider delays further requests of a run, and says so", async () => {
    const server = startModelServer({ steps: [{ calls: [{ input: { command: "echo hello" } }] }], final: "fine" });
    using skein = temporaryHome(vendorEnv(server.url));
    expect((await skein.run(["config", "set", "providers.ollama.requests_per_minute", "1"])).code).toBe(0);
    const child = skein.start(["run", ...model, "--output-format", "events", "hello"]);
    const reader = child.stdout.getReader();
    const decoder = new TextDecoder();
    let seen = "";
    while (!/"warning\.raised".*requests_per_minute/.test(seen)) seen += decoder.decode((await reader.read()).value, { stream: true });
    expect(seen).toMatch(/providers\.ollama\.requests_per_minute is 1: the next request waits \d+ s/);
    expect(server.main()).toHaveLength(1);
    child.kill("SIGINT");
    expect(await child.exited).toBe(130);
    expect(server.main()).toHaveLength(1);
    expect((await skein.run(["config", "set", "providers.ollama.requests_per_minute", "600"])).code).toBe(0);
    expect((await skein.run(["run", ...model, "hello"])).code).toBe(0);
    await server.stop();
  });
});
