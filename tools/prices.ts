// Reduces the price list of @pydantic/genai-prices to src/models/catalog-data.json: the vendors we know, text models
// only, one line each. Run it after that package was updated; nothing here ships.
import { findProvider, type MatchLogic, type ModelInfo, type ModelPrice, TieredPrices } from "@pydantic/genai-prices";
import {
  type CatalogData,
  type CatalogEntry,
  type DatedRates,
  matchesName,
  type Matcher,
  type Rate,
  type Rates,
} from "../src/models/catalog.ts";

const vendors: Record<string, string> = {
  anthropic: "anthropic",
  openai: "openai",
  gemini: "google",
  openrouter: "openrouter",
  xai: "x-ai",
  deepseek: "deepseek",
  mistral: "mistral",
  groq: "groq",
};

const otherTrades =
  /^ft:|\.ft-|audio|tts|realtime|live|image|transcribe|embed|whisper|voice|voxtral|moderation|ocr|guard|dall-e|sora|veo|lyria|robotics|computer-use|rerank|:batch/;

export function reducePrices(): CatalogData {
  return Object.fromEntries(
    Object.entries(vendors).map(([name, id]) => [name, (findProvider({ providerId: id })?.models ?? []).flatMap(reduceModel)]),
  );
}

function reduceModel(model: ModelInfo): CatalogEntry[] {
  const isOld = model.deprecated === true;
  const prices = (Array.isArray(model.prices) ? model.prices : [{ prices: model.prices }]).map((entry): Rates | DatedRates | null => {
    const rates = reduceRates(entry.prices);
    const when = entry.constraint;
    if (!rates || !when) return rates;
    return when.type === "start_date" ? { rates, from: when.start_date } : { rates, between: [when.start_time, when.end_time] };
  });
  const known = prices.filter((entry) => entry !== null);
  if (isOld || otherTrades.test(model.id) || known.length < prices.length) return [];
  const match = reduceMatch(model.match);
  const isPlain = match.length === 1 && match[0] === `=${model.id}`;
  const id = callable(model.id, match);
  return [[id, isPlain ? [] : match, model.context_window ?? null, ...known]];
}

/** The list's own id is sometimes only a label: then the first name that the vendor takes. */
function callable(id: string, match: Matcher[]): string {
  if (match.some((matcher) => matchesName(matcher, id))) return id;
  const name = match.find((matcher) => typeof matcher === "string" && matcher.startsWith("="));
  return typeof name === "string" ? name.slice(1) : `${id}-latest`;
}

function reduceRates(price: ModelPrice): Rates | null {
  const rates = [price.input_mtok, price.output_mtok, price.cache_read_mtok, price.cache_write_mtok].map(reduceRate);
  const [input, output, read, write] = rates;
  return input == null || output == null ? null : [input, output, read ?? null, write ?? null];
}

function reduceRate(price: ModelPrice[string]): Rate {
  if (price === undefined || typeof price === "number") return price ?? null;
  if (price instanceof TieredPrices || "tiers" in price) return [price.base, ...price.tiers.flatMap((tier) => [tier.start, tier.price])];
  return null;
}

/** `=equals`, `^starts`, `$ends`, `*contains`, `/regex`; several are alternatives, a list inside means all of them. */
function reduceMatch(match: MatchLogic): Matcher[] {
  if ("or" in match) return match.or.flatMap(reduceMatch);
  if ("and" in match) return [match.and.map((inner) => reduceMatch(inner)[0] as string)];
  if ("equals" in match) return [`=${match.equals}`];
  if ("starts_with" in match) return [`^${match.starts_with}`];
  if ("ends_with" in match) return [`$${match.ends_with}`];
  if ("contains" in match) return [`*${match.contains}`];
  return [`/${match.regex}`];
}

if (import.meta.main) {
  const lines = Object.entries(reducePrices()).map(
    ([vendor, rows]) => `${JSON.stringify(vendor)}: [\n${rows.map((row) => JSON.stringify(row)).join(",\n")}\n]`,
  );
  await Bun.write(new URL("../src/models/catalog-data.json", import.meta.url), `{\n${lines.join(",\n")}\n}\n`);
}
