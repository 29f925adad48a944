// Agents from the configuration: checks of their recipe, arguments, environment and model.
import { describe, expect, test } from "bun:test";
import { Fault } from "../../../protocol/api/error.ts";
import { defaultPolicy } from "../../../protocol/api/policy.ts";
import type { TurnCheckInput } from "../../../protocol/api/ports.ts";
import type { CliLaunch } from "../adapters/adapter.ts";
import { configuredAdapter } from "./configured-adapter.ts";
import type { AgentConfig } from "../../../protocol/api/agents.ts";
import { recipeEntry } from "./recipe.ts";

const recipe: AgentConfig = { command: "mine", args: [], resumeArgs: null, output: "text", env: {}, hint: null };
const launch: CliLaunch = {
  prompt: "do it",
  model: null,
  effort: null,
  role: null,
  directory: "/project",
  addDirs: [],
  configDir: "/data/agents/tree/mine",
  start: { how: "new", id: "chosen" },
  endpoint: { url: "http://127.0.0.1:8787", token: "throw-away" },
  isSandboxed: true,
  isRoot: false,
  isOffline: true,
  servers: { list: [], values: {} },
  extraArgs: [],
};
const turn: TurnCheckInput = {
  policy: defaultPolicy,
  directory: "/project",
  model: null,
  toolLevel: "minimal",
  tools: null,
  spawn: false,
  mcpServers: null,
  limits: { maxSteps: 1, maxTokens: null, maxBudgetUsd: null, maxChildren: null, treeSteps: null },
  answerSchema: null,
  images: [],
  agentArgs: [],
  group: null,
  team: null,
  race: null,
  project: "/",
};

function args(changes: Partial<AgentConfig>, more: Partial<CliLaunch> = {}): string[] {
  return configuredAdapter("mine", { ...recipe, ...changes }).args({ ...launch, ...more });
}

function env(changes: Partial<AgentConfig>, more: Partial<CliLaunch> = {}): Record<string, string> {
  return configuredAdapter("mine", { ...recipe, ...changes }).env({ ...launch, ...more });
}

describe("the recipe of a configured agent", () => {
  test.each([
    ["claude", {}, "agents.claude: claude is a built-in agent"],
    ["native", {}, "agents.native: native is a built-in agent"],
    ["openai", {}, "agents.openai: openai is a vendor of models"],
    ["mine", { command: null }, "agents.mine.command: it is missing"],
    ["mine", { command: "./mine" }, "agents.mine.command: ./mine is a relative path"],
    ["mine", { resumeArgs: ["-c"] }, "agents.mine.resume_args: they have no {session}"],
    ["mine", { resumeArgs: ["{session}"] }, "agents.mine.resume_args: an agent that prints text can't report"],
    ["mine", { output: "acp", resumeArgs: ["{session}"] }, "agents.mine.resume_args: an ACP agent does not use"],
  ] as [string, Partial<AgentConfig>, string][])("%s with %j is a fault that names the key", (name, changes, message) => {
    const act = () => recipeEntry(name, { ...recipe, ...changes });
    expect(act).toThrow(message);
    expect(act).toThrow(Fault);
  });

  test.each([
    [{}, false],
    [{ output: "json", resumeArgs: ["{session}"] }, true],
    [{ args: ["{session}"], resumeArgs: ["{session}"] }, true],
    [{ output: "acp" }, true],
  ] as [Partial<AgentConfig>, boolean][])("the recipe %j can resume its own sessions: %j", (changes, resumes) => {
    expect(recipeEntry("mine", { ...recipe, ...changes })).toEqual({ name: "mine", canFork: false, vendor: null, resumes });
  });
});

describe("the arguments of a configured agent", () => {
  test.each<[string[], Partial<CliLaunch>, string[]]>([
    [[], {}, ["do it"]],
    [["run"], { extraArgs: ["--fast"] }, ["run", "--fast", "do it"]],
    [["-p", "{prompt}", "--json"], { extraArgs: ["--fast"] }, ["-p", "do it", "--json", "--fast"]],
    [["--prompt={prompt}"], {}, ["--prompt=do it"]],
    [["-m", "{model}", "{prompt}"], {}, ["do it"]],
    [["--quiet", "--model={model}"], {}, ["--quiet", "do it"]],
    [["-m", "{vendor}/{model}"], { model: "claude-x", vendor: "anthropic" }, ["-m", "anthropic/claude-x", "do it"]],
    [["--effort", "{effort}", "-C", "{directory}"], { effort: "high" }, ["--effort", "high", "-C", "/project", "do it"]],
    [["--id", "{session}", "--home={config}"], {}, ["--id", "chosen", "--home=/data/agents/tree/mine", "do it"]],
    [['{"a":"{prompt}"}', "{other}"], {}, ['{"a":"do it"}', "{other}"]],
    [[], { prompt: "-rf" }, [" -rf"]],
  ])("the placeholders of the arguments %j are filled in", (template, more, expected) => {
    expect(args({ args: template }, more)).toEqual(expected);
  });

  test("a resumed session uses resume_args", () => {
    const resumable = { args: ["{prompt}"], resumeArgs: ["--resume", "{session}"] };
    expect(args(resumable, { start: { how: "resume", id: "s-1" } })).toEqual(["--resume", "s-1", "do it"]);
  });

  test("a prompt that is too long for an argument goes to stdin", () => {
    const prompt = "x".repeat(200_000);
    expect(args({ args: ["-p", "{prompt}"] }, { prompt })).toEqual(["-p"]);
    expect(args({}, { prompt })).toEqual([]);
    expect(configuredAdapter("mine", recipe).stdin?.({ ...launch, prompt })).toBe(prompt);
    expect(configuredAdapter("mine", recipe).stdin?.(launch)).toBeNull();
  });

  test("the prompt begins with the added directories", () => {
    expect(args({}, { addDirs: ["/more", "/other"] })).toEqual(["Besides the working directory you may work in: /more, /other\n\ndo it"]);
  });

  test("the arguments of an ACP agent contain no prompt", () => {
    expect(args({ args: ["acp"], output: "acp" }, { extraArgs: ["--fast"] })).toEqual(["acp", "--fast"]);
  });
});

describe("the environment of a configured agent", () => {
  test("the environment has its own home, and no credential if no vendor has a key", () => {
    const variables = env({});
    expect(variables["HOME"]).toBe("/data/agents/tree/mine/home");
    expect(Object.keys(variables).filter((name) => /KEY|TOKEN|URL/.test(name))).toEqual([]);
  });

  test("the environment leads to the gateway for the available vendors", () => {
    const wires = ["anthropic", "openai-responses", "gemini"] as const;
    expect(env({}, { endpoint: { url: "http://127.0.0.1:1", token: "t", wires } })).toMatchObject({
      ANTHROPIC_BASE_URL: "http://127.0.0.1:1",
      ANTHROPIC_API_KEY: "t",
      OPENAI_BASE_URL: "http://127.0.0.1:1/v1",
      OPENAI_API_KEY: "t",
      GOOGLE_GEMINI_BASE_URL: "http://127.0.0.1:1",
      GEMINI_API_KEY: "t",
    });
    expect(env({}, { endpoint: { url: "u", token: "t", wires: ["openai-chat"] } })).toMatchObject({ OPENAI_API_KEY: "t" });
  });

  test("placeholders for the gateway need a model, and the token is never an argument", () => {
    const recipeEnv = { TYPE: "{wire}", URL: "{base_url}", TOKEN: "{api_key}", NAME: "{model}" };
    const own = (model: Partial<CliLaunch>) =>
      Object.fromEntries(Object.entries(env({ env: recipeEnv }, model)).filter(([name]) => name in recipeEnv));
    const url = "http://127.0.0.1:8787";
    expect(own({ model: "claude-x", vendor: "anthropic" })).toEqual({ TYPE: "anthropic", URL: url, TOKEN: "throw-away", NAME: "claude-x" });
    expect(own({ model: "gpt-x", vendor: "groq" })).toEqual({ TYPE: "openai", URL: `${url}/v1`, TOKEN: "throw-away", NAME: "gpt-x" });
    expect(own({})).toEqual({});
    expect(args({ args: ["--key", "{api_key}", "{wire}"] }, { model: "x", vendor: "openai" })).toEqual(["openai", "do it"]);
  });

  test("variables of the recipe override others, with their placeholders filled in", () => {
    expect(env({ env: { HOME: "/home/me", DIR: "{config}/x", ANTHROPIC_API_KEY: "mine" } })).toMatchObject({
      HOME: "/home/me",
      DIR: "/data/agents/tree/mine/x",
      ANTHROPIC_API_KEY: "mine",
    });
  });
});

describe("the model of a configured agent", () => {
  const check = (changes: Partial<AgentConfig>, model: string | null) => () =>
    configuredAdapter("mine", { ...recipe, ...changes }).check?.({ ...turn, model });

  test("a model or an effort without a placeholder is refused", () => {
    expect(check({}, "anthropic/claude-x")).toThrow("mine takes no model: its args have no {model}");
    expect(check({ args: ["{model}"] }, "anthropic/claude-x:high")).toThrow("takes no effort");
    expect(check({}, null)).not.toThrow();
    expect(check({ args: ["{model}", "{effort}"] }, "anthropic/claude-x:high")).not.toThrow();
    expect(check({ output: "acp" }, "anthropic/claude-x")).not.toThrow();
  });
});

describe("detection of a lost session", () => {
  const { sessionLost } = configuredAdapter("mine", recipe);

  test.each([
    "Session abc not found",
    "Error: no conversation with id 7",
    "unknown thread 12",
    "could not resume session x",
    "The session has expired",
  ])("the message %j reports a lost session", (message) => {
    expect(message).toMatch(sessionLost);
  });

  test.each(["401 invalid x-api-key", "Rate limit exceeded", "model not found", "it broke"])(
    "the message %j does not report a lost session",
    (message) => {
      expect(message).not.toMatch(sessionLost);
    },
  );
});
