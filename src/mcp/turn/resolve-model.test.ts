import { expect, test } from "bun:test";
import type { Api } from "../../protocol/api/api.ts";
import { resolveModel } from "./resolve-model.ts";

const names = ["openai/gpt-5.2", "openrouter/gpt-5.2", "anthropic/claude-sonnet-4-5", "gemini/gemini-3-pro-preview", "ollama/qwen3:8b"];
const ready = new Set(["openrouter", "anthropic", "ollama"]);

const api = {
  models: { list: async () => names.map((name) => ({ name, ready: ready.has(name.split("/")[0]!) })) },
  auth: { status: async () => ["openai", "openrouter", "anthropic", "gemini", "ollama"].map((vendor) => ({ vendor })) },
} as unknown as Api;

test.each([
  ["anthropic/claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"],
  ["claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"],
  ["Claude Sonnet 4.5", "anthropic/claude-sonnet-4-5"],
  ["claude_sonnet_4_5:high", "anthropic/claude-sonnet-4-5:high"],
  ["Gemini3ProPreview", "gemini/gemini-3-pro-preview"],
  ["qwen3:8b", "ollama/qwen3:8b"],
  ["openai/gpt-5.2", "openai/gpt-5.2"],
  ["openai/not-in-the-catalog:high", "openai/not-in-the-catalog:high"],
  ["anthropic", "anthropic"],
])("the name %s means %s", async (name, expected) => {
  expect(await resolveModel(api, name)).toBe(expected);
});

test("of two models with the same id, the one with a key is chosen", async () => {
  expect(await resolveModel(api, "gpt-5.2")).toBe("openrouter/gpt-5.2");
});

test("an unknown name is refused with similar names, or with the form of a name", async () => {
  await expect(resolveModel(api, "gpt-5.3")).rejects.toMatchObject({ code: "usage", hint: expect.stringContaining("gpt-5.2") });
  await expect(resolveModel(api, "zzz")).rejects.toMatchObject({ hint: expect.stringContaining("vendor/id") });
  await expect(resolveModel(api, "nobody/model")).rejects.toMatchObject({ message: 'there is no model "nobody/model"' });
});
