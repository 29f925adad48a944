import { describe, expect, test } from "bun:test";
import { Fault } from "../protocol/api/error.ts";
import { vendorAuth, endpointFor, localModels, parseModelName, vendors, withLocalServer, type VendorSource } from "./vendors.ts";

describe("parseModelName", () => {
  const table: [string, [string, string, string | null]][] = [
    ["anthropic/claude-opus-5-5", ["anthropic", "claude-opus-5-5", null]],
    ["anthropic/claude-opus-5-5:high", ["anthropic", "claude-opus-5-5", "high"]],
    ["openai/gpt-6-sol:xhigh", ["openai", "gpt-6-sol", "xhigh"]],
    ["ollama/llama3:8b", ["ollama", "llama3:8b", null]],
    ["ollama/qwen3:8b:low", ["ollama", "qwen3:8b", "low"]],
    ["openrouter/anthropic/claude-opus-5.5:beta", ["openrouter", "anthropic/claude-opus-5.5:beta", null]],
    ["openrouter/openai/gpt-6-sol:medium", ["openrouter", "openai/gpt-6-sol", "medium"]],
    ["groq/openai/gpt-oss-120b", ["groq", "openai/gpt-oss-120b", null]],
    ["acme/x:highest", ["acme", "x:highest", null]],
    ["replay/./a b/script:high", ["replay", "./a b/script:high", null]],
    ["claude-opus-5-5:low", ["anthropic", "claude-opus-5-5", "low"]],
    ["gpt-5.2", ["openai", "gpt-5.2", null]],
    ["gemini-3-pro-preview", ["gemini", "gemini-3-pro-preview", null]],
    ["grok-4.6", ["xai", "grok-4.6", null]],
    [" openai/gpt-6-sol ", ["openai", "gpt-6-sol", null]],
  ];
  test("a model name is split at its first slash and before a known effort", () => {
    for (const [text, [vendor, model, effort]] of table) expect(parseModelName(text)).toEqual({ vendor, model, effort } as never);
  });

  test("a wrong model name throws a fault that shows the format", () => {
    for (const text of ["", "llama3", "/x", "openai/", "a b/c", "42/x"]) {
      expect(() => parseModelName(text)).toThrow(Fault);
      try {
        parseModelName(text);
      } catch (error) {
        expect(error).toMatchObject({ code: "usage", hint: expect.stringContaining("vendor/id") as never });
      }
    }
  });
});

describe("endpointFor", () => {
  const faultOf = (name: string, source: VendorSource): Fault => {
    try {
      endpointFor(name, source);
    } catch (error) {
      if (error instanceof Fault) return error;
    }
    throw new Error("no fault");
  };

  test("a missing key is reported with its variable and the page to get one", () => {
    for (const vendor of vendors.filter(({ isLocal }) => !isLocal)) {
      const fault = faultOf(vendor.name, { env: { [vendor.keyVariables[0]!.name]: " " } });
      expect(fault).toMatchObject({ code: "auth", message: `no key for ${vendor.name}` });
      expect(fault.hint).toContain(vendor.keyVariables[0]!.name);
      expect(fault.hint).toContain(vendor.keyUrl);
    }
  });

  test("key and base URL of the environment take precedence over those of the config", () => {
    const env = { OPENAI_API_KEY: "env", OPENAI_BASE_URL: "http://env/v1" };
    const config = { apiKey: "config", baseUrl: "http://config/v1", headers: { "X-Team": "t" } };
    expect(endpointFor("openai", { env, config })).toEqual({
      vendor: "openai",
      wire: "openai-responses",
      baseUrl: "http://env/v1",
      apiKey: "env",
      headers: { "x-team": "t" },
    });
    expect(endpointFor("openai", { env: {}, config })).toMatchObject({ baseUrl: "http://config/v1", apiKey: "config" });
    expect(endpointFor("openai", { env: {}, config: { ...config, wire: "openai-chat" } }).wire).toBe("openai-chat");
  });

  test("Anthropic's auth token is sent as bearer if there is no key", () => {
    expect(endpointFor("anthropic", { env: { ANTHROPIC_AUTH_TOKEN: "t" } }).headers).toEqual({ authorization: "Bearer t" });
    expect(endpointFor("anthropic", { env: { ANTHROPIC_AUTH_TOKEN: "t", ANTHROPIC_API_KEY: "k" } })).toMatchObject({
      apiKey: "k",
      headers: {},
    });
  });

  test("the key of Gemini is read from either of Google's variables", () => {
    expect(endpointFor("gemini", { env: { GOOGLE_API_KEY: "g" } }).apiKey).toBe("g");
    expect(endpointFor("gemini", { env: { GOOGLE_API_KEY: "g", GEMINI_API_KEY: "m" } }).apiKey).toBe("m");
  });

  test("every form of OLLAMA_HOST is read", () => {
    const hosts: [string | undefined, string][] = [
      [undefined, "http://127.0.0.1:11434/v1"],
      ["", "http://127.0.0.1:11434/v1"],
      ["0.0.0.0", "http://127.0.0.1:11434/v1"],
      ["0.0.0.0:8000", "http://127.0.0.1:8000/v1"],
      [":8000", "http://127.0.0.1:8000/v1"],
      ["box", "http://box:11434/v1"],
      ["http://box:9/", "http://box:9/v1"],
      ["https://ollama.example/v1", "https://ollama.example/v1"],
      ["https://ollama.example/sub", "https://ollama.example/sub/v1"],
    ];
    for (const [host, url] of hosts) expect(endpointFor("ollama", { env: { OLLAMA_HOST: host } }).baseUrl).toBe(url);
  });

  test("an unknown vendor needs a base URL in the config", () => {
    expect(endpointFor("acme", { env: {}, config: { baseUrl: "https://acme.example/v1" } })).toEqual({
      vendor: "acme",
      wire: "openai-chat",
      baseUrl: "https://acme.example/v1",
      apiKey: "",
      headers: {},
    });
    expect(faultOf("acme", { env: {} })).toMatchObject({ code: "config", hint: expect.stringContaining("anthropic") as never });
    const bad = faultOf("acme", { env: {}, config: { baseUrl: "ftp://user:secret@acme/?key=secret" } });
    expect(bad.code).toBe("config");
    expect(bad.message).not.toContain("secret");
  });

  test("vendorAuth never contains a key", () => {
    const auth = vendorAuth("openai", { env: { OPENAI_API_KEY: "sk-secret", OPENAI_BASE_URL: "https://u:sk-secret@x/v1?key=sk-secret" } });
    const key = { source: "OPENAI_API_KEY", keyVariable: "OPENAI_API_KEY", keyUrl: "https://platform.openai.com/api-keys" };
    expect(auth).toEqual({ vendor: "openai", ready: true, ...key, baseUrl: "https://x/v1", hint: "" });
    expect(vendorAuth("openai", { env: { OPENAI_BASE_URL: "https://u:sec@ret@x/v1" } }).baseUrl).toBe("https://x/v1");
    expect(vendorAuth("openai", { env: {} })).toMatchObject({
      ready: false,
      source: null,
      hint: expect.stringContaining("OPENAI_API_KEY") as never,
    });
    expect(vendorAuth("openai", { env: {}, config: { apiKey: "k" } }).source).toBe("providers.openai.api_key");
    expect(vendorAuth("ollama", { env: {} })).toMatchObject({ ready: true, source: null });
  });
});

describe("localModels", () => {
  test("local models are those of Ollama, and none if the server is not Ollama", async () => {
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: (request) =>
        new URL(request.url).pathname === "/api/tags"
          ? Response.json({ models: [{ name: "qwen3:8b" }, { name: "llama3:8b" }] })
          : new Response("no", { status: 404 }),
    });
    expect(await localModels(`http://127.0.0.1:${server.port}/v1`, 5000)).toEqual(["qwen3:8b", "llama3:8b"]);
    expect(await localModels(`http://127.0.0.1:${server.port}/other/v1`, 5000)).toEqual([]);
    await server.stop(true);
    expect(await localModels(`http://127.0.0.1:${server.port}/v1`)).toEqual([]);
  });
});

test("a vendor on this machine is ready only while its server answers, and needs no key", async () => {
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => Response.json({ data: [] }) });
  const env = { OLLAMA_HOST: `127.0.0.1:${server.port}` };
  const running = await withLocalServer(vendorAuth("ollama", { env }));
  expect(running).toMatchObject({ ready: true, keyVariable: null });
  await server.stop(true);
  const stopped = await withLocalServer(vendorAuth("ollama", { env }));
  expect(stopped).toMatchObject({
    ready: false,
    hint: `no server answers at http://${env.OLLAMA_HOST}/v1; get it at https://ollama.com/download`,
  });
  expect(await withLocalServer(vendorAuth("openai", { env: {} }))).toMatchObject({ ready: false, keyVariable: "OPENAI_API_KEY" });
});
