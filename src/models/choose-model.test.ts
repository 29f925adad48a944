import { describe, expect, test } from "bun:test";
import { chooseModel, type ChooseModelOptions } from "./choose-model.ts";

const nothing: ChooseModelOptions = { env: { OLLAMA_HOST: "127.0.0.1:9" }, providers: {}, configured: null };
const withKey = (env: Record<string, string>): ChooseModelOptions => ({ ...nothing, env: { ...nothing.env, ...env } });

describe("the model that is asked", () => {
  test("is the one that was named, when its vendor has a key", async () => {
    expect(await chooseModel("openai/gpt-5.2:high", withKey({ OPENAI_API_KEY: "k" }))).toEqual({
      model: "openai/gpt-5.2:high",
      because: null,
    });
  });

  test("gets its vendor from a bare id", async () => {
    expect((await chooseModel("claude-sonnet-4-5", withKey({ ANTHROPIC_API_KEY: "k" }))).model).toBe("anthropic/claude-sonnet-4-5");
  });

  test("is a vendor's default when only the vendor was named", async () => {
    expect((await chooseModel("anthropic", withKey({ ANTHROPIC_API_KEY: "k" }))).model).toStartWith("anthropic/claude-");
  });

  test("is the configured one before any default", async () => {
    const from = { ...withKey({ ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k" }), configured: "openai/gpt-5.2" };
    expect((await chooseModel(null, from)).model).toBe("openai/gpt-5.2");
  });

  test("comes from the first vendor with a key, and says why", async () => {
    expect((await chooseModel(null, withKey({ GEMINI_API_KEY: "k" }))).because).toBe("GEMINI_API_KEY is set");
    const configured = { ...nothing, providers: { mistral: { apiKey: "k" } } };
    expect((await chooseModel(null, configured)).because).toBe("providers.mistral.api_key is set");
  });

  test("is what a local Ollama has when there is no key", async () => {
    const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => Response.json({ models: [{ name: "qwen3:8b" }] }) });
    try {
      expect((await chooseModel(null, withKey({ OLLAMA_HOST: `127.0.0.1:${server.port}` }))).model).toBe("ollama/qwen3:8b");
    } finally {
      await server.stop(true);
    }
  });

  test("does not exist where there is nothing, and the hint names what to set", async () => {
    const fault = await chooseModel(null, nothing).catch((error: unknown) => error);
    expect(fault).toMatchObject({ code: "auth", hint: expect.stringContaining("ANTHROPIC_API_KEY") });
  });

  test("is refused offline unless it is on this machine", async () => {
    const offline = withKey({ SKEIN_OFFLINE: "1", ANTHROPIC_API_KEY: "k" });
    expect(await chooseModel("anthropic", offline).catch((error: unknown) => error)).toMatchObject({ code: "network" });
    expect((await chooseModel("ollama/qwen3", offline)).model).toBe("ollama/qwen3");
  });
});
