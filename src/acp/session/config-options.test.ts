import { expect, test } from "bun:test";
import type { AgentInfo } from "../../protocol/api/agents.ts";
import type { ModelInfo } from "../../protocol/api/api.ts";
import { changeOption, initialChoices, optionsOf, turnAgent, type Offer } from "./config-options.ts";

function agentInfo(name: string, fields: Partial<AgentInfo> = {}): AgentInfo {
  const can = { resume: true, fork: true, efforts: ["low", "high"], role: "own" as const };
  const kind = name === "native" ? ("native" as const) : ("cli" as const);
  const unset = { path: null, version: null, credentials: [], tried: null, testedVersion: null, signIn: null, missing: null, hint: null };
  return { name, kind, installed: true, vendors: [], can, ...unset, ...fields };
}

function modelInfo(name: string, fields: Partial<ModelInfo> = {}): ModelInfo {
  const unset = { isDefault: false, recommended: false, aliases: [], contextWindow: null, inputPrice: null, outputPrice: null };
  return { name, vendor: name.split("/")[0]!, ready: true, ...unset, ...fields };
}

const offer: Offer = {
  agents: [
    agentInfo("native"),
    agentInfo("claude", { credentials: [{ vendor: "anthropic", kind: "sign-in", source: null, note: null }] }),
    agentInfo("codex", { missing: "it is not installed" }),
  ],
  models: [modelInfo("anthropic/a", { ready: false }), modelInfo("openai/o"), modelInfo("openai/new", { recommended: true })],
};

const valuesOf = (choices: Parameters<typeof optionsOf>[0], wanted: string) => {
  const option = optionsOf(choices, offer).find(({ id }) => id === wanted);
  return option?.type === "select" ? option.options.map((entry) => ("value" in entry ? entry.value : "")) : [];
};

test("an effort at the end of a model's name is an option of its own, but other colons are part of the name", () => {
  const model = (name: string) => initialChoices({ agent: "native", model: name }, "workspace", offer);
  expect(model("openai/o:high")).toMatchObject({ model: "openai/o", effort: "high" });
  expect(model("ollama/qwen3:8b")).toMatchObject({ model: "ollama/qwen3:8b", effort: null });
  expect(turnAgent(model("openai/o:high"))).toEqual({ agent: "native", model: "openai/o:high" });
});

test("agents that can't take a turn are not offered, and models only with a credential of the agent", () => {
  const native = initialChoices({ agent: "native", model: "openai/o" }, "workspace", offer);
  expect(valuesOf(native, "agent")).toEqual(["native", "claude"]);
  expect(valuesOf(native, "model")).toEqual(["openai/new", "openai/o"]);
  const claude = changeOption(changeOption(native, "effort", "high"), "agent", "claude");
  expect(claude).toEqual({ agent: "claude", model: null, effort: null, policy: "workspace" });
  expect(valuesOf(claude, "model")).toEqual(["default", "anthropic/a"]);
  expect(turnAgent(changeOption(claude, "effort", "low"))).toEqual({ agent: "claude", model: null, effort: "low" });
});

test("the current value is always among the values", () => {
  const odd = initialChoices({ agent: "codex", model: "other/model" }, "full", offer);
  expect(valuesOf(odd, "agent")).toContain("codex");
  expect(valuesOf(odd, "model")).toContain("other/model");
});
