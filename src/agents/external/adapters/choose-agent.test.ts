import { describe, expect, test } from "bun:test";
import { Fault } from "../../../protocol/api/error.ts";
import { agentModel, chooseAgent } from "./choose-agent.ts";
import { externalAgentNames, externalAgents, findExternalAgent } from "./index.ts";

function faultOf(act: () => unknown): Fault {
  try {
    act();
  } catch (error) {
    if (error instanceof Fault) return error;
  }
  throw new Error("no fault was thrown");
}

const configured = { agents: ["mine"], vendors: ["acme"], models: [], isReady: () => false };

/** The models in mcp-the-force's document, and the agent of each; null if only the API can be asked. */
const agentsByModel: [string, string | null][] = [
  ["claude-sonnet-4-5", "claude"],
  ["claude-opus-4-5", "claude"],
  ["gpt-5.2", "codex"],
  ["gpt-5.2-pro", "codex"],
  ["gpt-5.1-codex-max", "codex"],
  ["gpt-4.1", "codex"],
  ["o3", "codex"],
  ["o3-deep-research", null],
  ["o4-mini-deep-research", null],
  ["o4-mini", "codex"],
  ["gemini-3-pro-preview", "gemini"],
  ["gemini-3-flash-preview", "gemini"],
  ["xai/grok-4.1", null],
  ["openrouter/meta/llama-4", null],
  ["ollama/qwen3:8b", null],
  ["mistral/large", null],
];

describe("the table of CLIs", () => {
  test.each([...externalAgents])("the entry $name has the name of its adapter", async ({ name, vendor, load }) => {
    const adapter = await load();
    expect(adapter.name).toBe(name);
    expect(vendor).toBe(adapter.isMultiVendor ? null : adapter.vendor);
  });
});

describe("chooseAgent", () => {
  for (const name of ["native", "mine", ...externalAgentNames]) {
    test(`the name ${name} chooses that agent and leaves the model unchanged`, () => {
      expect(chooseAgent(name, "m/x", configured)).toEqual({ agent: name, model: "m/x" });
    });
  }

  test("the name of a vendor chooses the native agent with a model of that vendor", () => {
    expect(chooseAgent("anthropic", null, configured)).toEqual({ agent: "native", model: "anthropic" });
    expect(chooseAgent("acme", "big", configured)).toEqual({ agent: "native", model: "acme/big" });
    expect(chooseAgent("openai", "openai/gpt-5.2", configured)).toEqual({ agent: "native", model: "openai/gpt-5.2" });
  });

  for (const [model, agent] of agentsByModel) {
    test(`the model ${model} is ${agent === null ? "only available over its API" : `used by ${agent}`}`, () => {
      if (agent !== null) expect(chooseAgent(model, null, configured)).toMatchObject({ agent, model: expect.stringMatching(model) });
      else expect(faultOf(() => chooseAgent(model, null, configured)).message).toMatch(/only be asked over the API/);
    });
  }

  test("the name of a model may have an effort", () => {
    expect(chooseAgent("gpt-5.2:high", null, configured)).toEqual({ agent: "codex", model: "openai/gpt-5.2:high" });
  });

  test.each([
    ["gpt-5-2", "codex", "openai/gpt-5.2"],
    ["claude45_opus", "claude", "anthropic/claude-opus-4-5"],
    ["GPT 5.2", "codex", "openai/gpt-5.2"],
    ["sonnet", "claude", "anthropic/claude-sonnet-5"],
  ])("the spelling %s chooses %s with %s", (name, agent, model) => {
    expect(chooseAgent(name, null, configured)).toEqual({ agent, model });
  });

  test("an unknown name is refused, and the nearest one is suggested", () => {
    expect(faultOf(() => chooseAgent("clade-sonnet-4-5", null, configured)).message).toMatch(/did you mean anthropic\/claude-sonnet-4-5/);
    expect(faultOf(() => chooseAgent("cladue", null, configured)).message).toMatch(/did you mean claude/);
  });

  test("the name of a model together with another model is refused", () => {
    expect(faultOf(() => chooseAgent("gpt-5.2", "gpt-5.1", configured)).code).toBe("usage");
  });
});

describe("agentModel", () => {
  const claude = findExternalAgent("claude")!;
  const pi = findExternalAgent("pi")!;

  test("the model is left to the agent when none is named", () => {
    expect(agentModel(claude, null, configured)).toBe(null);
  });

  test("a model may be named with or without its vendor", () => {
    expect(agentModel(claude, "claude-sonnet-4-5", configured)).toBe("anthropic/claude-sonnet-4-5");
    expect(agentModel(claude, "anthropic/claude-sonnet-4-5:high", configured)).toBe("anthropic/claude-sonnet-4-5:high");
  });

  test.each(["claude", "codex", "gemini", "opencode", "pi", "mine"])("%s refuses a model that only the API answers", (name) => {
    const entry = findExternalAgent(name) ?? { name, vendor: null };
    const vendor = entry.vendor ?? "openai";
    const fault = faultOf(() => agentModel(entry, `${vendor}/o3-deep-research`, configured));
    expect([fault.code, fault.hint]).toEqual([
      "model-api-only",
      `ask it with consult_with (skein mcp), or with the native agent: skein run -a native -m ${vendor}/o3-deep-research --tool-level none`,
    ]);
  });

  test("an alias means a model of the agent's own vendor", () => {
    expect(agentModel(claude, "sonnet", configured)).toBe("anthropic/claude-sonnet-5");
    expect(agentModel(findExternalAgent("codex")!, "gpt:high", configured)).toBe("openai/gpt-6-sol:high");
  });

  test("a model of another vendor is refused, unless the agent works with any vendor", () => {
    expect(faultOf(() => agentModel(claude, "gpt-5.2", configured)).message).toMatch(/claude can't use openai's gpt-5.2/);
    expect(agentModel(pi, "gpt-5.2", configured)).toBe("openai/gpt-5.2");
  });
});
