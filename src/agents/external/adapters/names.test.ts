import { describe, expect, test } from "bun:test";
import { Fault } from "../../../protocol/api/error.ts";
import { chooseAgent, externalAgentTable, agentModel } from "./names.ts";

function faultOf(act: () => unknown): Fault {
  try {
    act();
  } catch (error) {
    if (error instanceof Fault) return error;
  }
  throw new Error("nothing was refused");
}

const others = { agents: ["mine"], vendors: ["acme"] };

/** Of the models that mcp-the-force's document lists: who takes a turn for each, or that only its API can be asked. */
const matrix: [string, string | null][] = [
  ["claude-sonnet-4-5", "claude"],
  ["claude-opus-4-5", "claude"],
  ["gpt-5.2", "codex"],
  ["gpt-5.2-pro", "codex"],
  ["gpt-5.1-codex-max", "codex"],
  ["gpt-4.1", "codex"],
  ["o3", "codex"],
  ["o4-mini", "codex"],
  ["gemini-3-pro-preview", "gemini"],
  ["gemini-3-flash-preview", "gemini"],
  ["xai/grok-4.1", null],
  ["openrouter/meta/llama-4", null],
  ["ollama/qwen3:8b", null],
  ["mistral/large", null],
];

describe("a name", () => {
  for (const name of ["native", "mine", ...externalAgentTable.map((row) => row.name)]) {
    test(`${name} is that agent, with whatever model was named`, () => {
      expect(chooseAgent(name, "m/x", others)).toEqual({ agent: name, model: "m/x" });
    });
  }

  test("of a vendor is the native agent on it", () => {
    expect(chooseAgent("anthropic", null, others)).toEqual({ agent: "native", model: "anthropic" });
    expect(chooseAgent("acme", "big", others)).toEqual({ agent: "native", model: "acme/big" });
    expect(chooseAgent("openai", "openai/gpt-5.2", others)).toEqual({ agent: "native", model: "openai/gpt-5.2" });
  });

  for (const [model, agent] of matrix) {
    test(`${model} is ${agent ?? "asked only over its API"}`, () => {
      if (agent !== null) expect(chooseAgent(model, null, others)).toMatchObject({ agent, model: expect.stringMatching(model) });
      else expect(faultOf(() => chooseAgent(model, null, others)).message).toMatch(/only be asked over the API/);
    });
  }

  test("brings the effort along", () => {
    expect(chooseAgent("gpt-5.2:high", null, others)).toEqual({ agent: "codex", model: "openai/gpt-5.2:high" });
  });

  test("that nobody knows is refused, with the nearest one", () => {
    expect(faultOf(() => chooseAgent("cladue", null, others)).message).toMatch(/did you mean claude/);
  });

  test("of a model beside another model is refused", () => {
    expect(faultOf(() => chooseAgent("gpt-5.2", "gpt-5.1", others)).code).toBe("usage");
  });
});

describe("the model of an agent", () => {
  const [claude] = externalAgentTable;
  const pi = externalAgentTable.find((row) => row.name === "pi")!;

  test("is left to it when none is named", () => {
    expect(agentModel(claude!, null)).toBe(null);
  });

  test("may be named with or without its vendor", () => {
    expect(agentModel(claude!, "claude-sonnet-4-5")).toBe("anthropic/claude-sonnet-4-5");
    expect(agentModel(claude!, "anthropic/claude-sonnet-4-5:high")).toBe("anthropic/claude-sonnet-4-5:high");
  });

  test("must be one that it can ask", () => {
    expect(faultOf(() => agentModel(claude!, "gpt-5.2")).message).toMatch(/claude can't ask openai's gpt-5.2/);
    expect(agentModel(pi, "gpt-5.2")).toBe("openai/gpt-5.2");
  });
});
