import { describe, expect, test } from "bun:test";
import { calcPrice, findProvider } from "@pydantic/genai-prices";
import { reducePrices } from "../../tools/prices.ts";
import { listModels, priceOf, contextWindowOf } from "./catalog.ts";
import data from "./catalog-data.json";
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
          const ours = await priceOf(vendor, id, usage, moment.getTime());
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

  test("the list has each model once, with its prices", async () => {
    const rows = await listModels(moments[0]!.getTime());
    expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length);
    expect(rows.find(({ name }) => name === "anthropic/claude-opus-5-5")).toEqual({
      name: "anthropic/claude-opus-5-5",
      vendor: "anthropic",
      contextWindow: 1_000_000,
      inputPrice: 4,
      outputPrice: 20,
    });
  });
});
