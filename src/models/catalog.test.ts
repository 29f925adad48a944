import { describe, expect, test } from "bun:test";
import { calcPrice, findProvider } from "@pydantic/genai-prices";
import { reduceNames, reducePrices } from "../../tools/prices.ts";
import { listModels, priceOf, contextWindowOf } from "./catalog.ts";
import data from "./catalog-data.json";
import names from "./model-names.json";
import { vendors } from "./vendors.ts";

const sources = {
  anthropic: "anthropic",
  openai: "openai",
  gemini: "google",
  openrouter: "openrouter",
  xai: "x-ai",
  deepseek: "deepseek",
  mistral: "mistral",
  groq: "groq",
};
const moments = ["2026-11-16T03:00:00Z", "2026-11-16T12:00:00Z", "2027-02-01T08:00:00Z"].map((text) => new Date(text));
const usages = [
  { input: 1000, output: 500, cacheRead: 0, cacheWrite: 0 },
  { input: 2000, output: 100, cacheRead: 90_000, cacheWrite: 3000 },
  { input: 10_000, output: 4000, cacheRead: 300_000, cacheWrite: 0 },
];

describe("the catalog", () => {
  test("our price equals that of the price list for every model, usage and date", async () => {
    let compared = 0;
    for (const [vendor, source] of Object.entries(sources)) {
      for (const { id } of findProvider({ providerId: source })?.models ?? []) {
        for (const [index, usage] of usages.entries()) {
          const moment = moments[index]!;
          const ours = await priceOf(vendor, id, usage, { at: moment.getTime() });
          if (ours === null) continue;
          const theirs = calcPrice(
            {
              input_tokens: usage.input + usage.cacheRead + usage.cacheWrite,
              output_tokens: usage.output,
              cache_read_tokens: usage.cacheRead,
              cache_write_tokens: usage.cacheWrite,
            },
            id,
            { providerId: source, timestamp: moment },
          );
          expect(`${id} ${ours.toFixed(7)}`).toBe(`${id} ${theirs?.total_price.toFixed(7)}`);
          compared += 1;
        }
      }
    }
    expect(compared).toBeGreaterThan(1500);
  });

  test("the stored table equals the output of tools/prices.ts", () => {
    expect(data as unknown).toEqual(JSON.parse(JSON.stringify(reducePrices())));
    expect(names as unknown).toEqual(reduceNames(reducePrices()));
  });

  test("dated ids, aliases and capital letters find their model", async () => {
    const usage = usages[0]!;
    expect(await priceOf("anthropic", "claude-opus-5-5-20261001", usage)).toBeCloseTo(0.014, 9);
    expect(await priceOf("openai", "GPT-6-Sol", usage)).toBeCloseTo(0.007, 9);
    expect(await contextWindowOf("anthropic", "claude-opus-5-5")).toBe(1_000_000);
  });

  test("an unknown model or vendor has no price and no window", async () => {
    const usage = usages[0]!;
    for (const [vendor, model] of [
      ["anthropic", "claude-nine"],
      ["ollama", "llama3:8b"],
      ["acme", "gpt-6-sol"],
      ["openai", ""],
    ] as const) {
      expect(await priceOf(vendor, model, usage)).toBeNull();
      expect(await contextWindowOf(vendor, model)).toBeNull();
    }
  });

  test("every default model of a vendor with prices is in the table", async () => {
    const names = (await listModels()).map(({ name }) => name);
    for (const vendor of vendors) if (!vendor.isLocal) expect(names).toContain(`${vendor.name}/${vendor.defaultModel}`);
  });

  test("the list has no model that was switched off, and none of another vendor", async () => {
    const listed = (await listModels()).map(({ name }) => name);
    const old =
      /ada|babbage|curie|davinci|gpt-3|gpt-4|o1|claude-(v?[123]|instant)|gemini-(1|2\.0|pro|flash)|^gemini\/(claude|gemma)|grok-2/;
    expect(listed.filter((name) => old.test(name))).toEqual([]);
    expect(listed).toContain("openai/o3-deep-research");
  });

  test("the recommended models of a vendor come first, then the newest", async () => {
    const ids = (await listModels()).filter(({ vendor }) => vendor === "anthropic").map(({ name }) => name.slice("anthropic/".length));
    expect(ids.slice(0, 6)).toEqual([
      "claude-opus-5-5",
      "claude-sonnet-5",
      "claude-haiku-4-5",
      "claude-fable-5-1",
      "claude-fable-5",
      "claude-opus-5",
    ]);
    expect(ids.at(-1)).toBe("claude-sonnet-4-0");
  });

  test("a price from the configuration replaces that of the list, field by field", async () => {
    const price = { input: 1, output: null, cacheRead: null, cacheWrite: null };
    const settings = {
      "ollama/llama3:8b": { temperature: null, maxOutputTokens: null, price: { ...price, output: 2 } },
      "anthropic/claude-opus-5-5": { temperature: null, maxOutputTokens: null, price },
      "ollama/half": { temperature: null, maxOutputTokens: null, price },
    };
    const usage = usages[0]!;
    expect(await priceOf("ollama", "llama3:8b", usage, { settings })).toBeCloseTo(0.002, 9);
    expect(await priceOf("anthropic", "claude-opus-5-5", usage, { settings })).toBeCloseTo(0.011, 9);
    expect(await priceOf("ollama", "half", usage, { settings })).toBeNull();
    expect((await listModels({ settings })).find(({ name }) => name === "ollama/llama3:8b")).toMatchObject({
      inputPrice: 1,
      outputPrice: 2,
    });
  });

  test("the list has each model once, with its prices", async () => {
    const rows = await listModels({ at: moments[0]!.getTime() });
    expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length);
    expect(rows.find(({ name }) => name === "anthropic/claude-opus-5-5")).toEqual({
      name: "anthropic/claude-opus-5-5",
      vendor: "anthropic",
      recommended: true,
      contextWindow: 1_000_000,
      inputPrice: 4,
      outputPrice: 20,
    });
  });
});
