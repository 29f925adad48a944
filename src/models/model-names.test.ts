import { describe, expect, test } from "bun:test";
import { Fault } from "../protocol/api/error.ts";
import { namesOf, resolveModelName, type NameOptions } from "./model-names.ts";
import { vendors } from "./vendors.ts";

const options: NameOptions = { isReady: () => false, vendors: ["acme", "Proxy"], models: ["anthropic/clade-sonnet-9"] };

function faultOf(name: string): Fault {
  try {
    resolveModelName(name, options);
  } catch (error) {
    if (error instanceof Fault) return error;
  }
  throw new Error(`${name} was accepted`);
}

describe("resolveModelName", () => {
  test.each([
    ["anthropic/claude-sonnet-4-5:high", "anthropic/claude-sonnet-4-5:high"],
    ["claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"],
    ["Claude Sonnet 4.5", "anthropic/claude-sonnet-4-5"],
    ["claude_sonnet_4_5:high", "anthropic/claude-sonnet-4-5:high"],
    ["claude45_opus", "anthropic/claude-opus-4-5"],
    ["sonnet 4.5", "anthropic/claude-sonnet-4-5"],
    ["gpt-5-2", "openai/gpt-5.2"],
    ["gpt52", "openai/gpt-5.2"],
    ["GPT 5.2", "openai/gpt-5.2"],
    ["OpenAI/gpt_5_2", "openai/gpt-5.2"],
    ["Gemini3ProPreview", "gemini/gemini-3-pro-preview"],
    ["grok41", "xai/grok-4-1-fast-reasoning"],
    ["claude-haiku", "anthropic/claude-haiku-4-5"],
    ["gpt-6", "openai/gpt-6-sol"],
    ["openrouter/anthropic/claude-opus-4-5", "openrouter/anthropic/claude-opus-4.5"],
  ])("the spelling %s means %s", (name, expected) => {
    expect(resolveModelName(name, options)).toBe(expected);
  });

  test.each([
    "anthropic/claude-opus-7",
    "anthropic/claude-sonnet-4-5-20250929",
    "anthropic/a-new-line-1",
    "openai/gpt-5.2-codex",
    "openai/gpt-4.1",
    "openai/ft:gpt-4.1:mine",
    "xai/grok-4",
    "openrouter/someone/anything",
    "openrouter/anthropic/clade-sonnet-4-5",
    "ollama/qwen3:8b",
    "lmstudio/clade",
    "acme/clade-sonnet-4-5",
    "Proxy/GPT 5.2",
    "unknown-vendor/model",
    "replay//tmp/Script.json",
    "anthropic/clade-sonnet-9",
  ])("the name %s is sent as it is", (name) => {
    expect(resolveModelName(name, options)).toBe(name);
  });

  test.each([
    ["anthropic/clade-sonnet-4-5", 'anthropic has no model "clade-sonnet-4-5"; did you mean anthropic/claude-sonnet-4-5?'],
    ["anthropic/claude-sonet-4-5:high", 'anthropic has no model "claude-sonet-4-5"; did you mean anthropic/claude-sonnet-4-5?'],
    ["openai/gtp-5.2", 'openai has no model "gtp-5.2"; did you mean openai/gpt-5.2?'],
    ["clade-sonnet-4-5", 'there is no model "clade-sonnet-4-5"; did you mean anthropic/claude-sonnet-4-5?'],
    ["nonsense", 'there is no model "nonsense"'],
    ["", 'there is no model ""'],
  ])("the mistake %s is refused with the nearest name", (name, message) => {
    expect([faultOf(name).code, faultOf(name).message]).toEqual(["usage", message]);
  });

  test("an alias means the newest model of its line, of the first vendor that is ready", () => {
    expect(resolveModelName("sonnet:high", options)).toBe("anthropic/claude-sonnet-5:high");
    expect(resolveModelName("gpt", { ...options, isReady: (vendor) => vendor === "openrouter" })).toBe("openrouter/openai/gpt-6-sol");
    expect(resolveModelName("openrouter/opus", options)).toBe("openrouter/anthropic/claude-opus-5.5");
  });

  test("every listed id, alias and other name of a vendor is a name of that vendor", () => {
    for (const { name: vendor } of vendors) {
      const { ids, also, aliases } = namesOf(vendor);
      for (const id of ids) expect(resolveModelName(`${vendor}/${id}`, options)).toBe(`${vendor}/${id}`);
      for (const id of Object.values(aliases)) expect(ids).toContain(id);
      for (const name of also) expect(resolveModelName(`${vendor}/${name}`, options)).toStartWith(`${vendor}/`);
    }
  });

  test("an alias with the name of a vendor is that vendor's default model", () => {
    for (const { name, defaultModel } of vendors) {
      const alias = namesOf(name).aliases[name];
      if (alias !== undefined) expect(alias).toBe(defaultModel);
    }
  });
});
