import { describe, expect, test } from "bun:test";
import { chooseModel, type ChooseModelOptions } from "./choose-model.ts";

const noCredentials: ChooseModelOptions = { env: { OLLAMA_HOST: "127.0.0.1:9" }, providers: {}, configured: null };
const withKey = (env: Record<string, string>): ChooseModelOptions => ({ ...noCredentials, env: { ...noCredentials.env, ...env } });

describe("chooseModel", () => {
  test("the requested model is chosen if its vendor has a key", async () => {
    expect(await chooseModel("openai/gpt-5.2:high", withKey({ OPENAI_API_KEY: "k" }))).toEqual({
      model: "openai/gpt-5.2:high",
      because: null,
    });
  });

  test("the vendor of a bare model id is found", async () => {
    expect((await chooseModel("claude-sonnet-4-5", withKey({ ANTHROPIC_API_KEY: "k" }))).model).toBe("anthropic/claude-sonnet-4-5");
  });

  test("a vendor alone means its default model", async () => {
    expect((await chooseModel("anthropic", withKey({ ANTHROPIC_API_KEY: "k" }))).model).toStartWith("anthropic/claude-");
  });

  test("the configured model takes precedence over any default", async () => {
    const from = { ...withKey({ ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k" }), configured: "openai/gpt-5.2" };
    expect((await chooseModel(null, from)).model).toBe("openai/gpt-5.2");
  });

  test("the default is that of the first vendor with a key, with the reason", async () => {
    expect(await chooseModel(null, withKey({ ANTHROPIC_API_KEY: "a", OPENAI_API_KEY: "o" }))).toEqual({
      model: "anthropic/claude-opus-5-5",
      because: "ANTHROPIC_API_KEY is set",
    });
    const providers = { anthropic: { apiKey: "k" }, mistral: { apiKey: "k" } };
    expect((await chooseModel(null, { ...withKey({ GEMINI_API_KEY: "k" }), providers })).because).toBe("GEMINI_API_KEY is set");
    expect((await chooseModel(null, { ...noCredentials, providers })).because).toBe("providers.anthropic.api_key is set");
  });

  test("without a key the default is a model of a local Ollama", async () => {
    const models = [{ name: "nomic-embed-text:latest" }, { name: "qwen3:8b" }];
    const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => Response.json({ models }) });
    try {
      expect((await chooseModel(null, withKey({ OLLAMA_HOST: `127.0.0.1:${server.port}` }))).model).toBe("ollama/qwen3:8b");
    } finally {
      await server.stop(true);
    }
  });

  test("without a key and a local server the hint names the variables to set", async () => {
    const fault = await chooseModel(null, noCredentials).catch((error: unknown) => error);
    expect(fault).toMatchObject({ code: "auth", hint: expect.stringContaining("ANTHROPIC_API_KEY") });
  });

  test("SKEIN_OFFLINE refuses a model that is not on this machine", async () => {
    const offline = withKey({ SKEIN_OFFLINE: "1", ANTHROPIC_API_KEY: "k" });
    expect(await chooseModel("anthropic", offline).catch((error: unknown) => error)).toMatchObject({ code: "network" });
    expect((await chooseModel("ollama/qwen3", offline)).model).toBe("ollama/qwen3");
  });
});
