// Reduces the price list of @pydantic/genai-prices to src/models/catalog-data.json: only known vendors and text models,
// one line each. Also writes their names to src/models/model-names.json, which is loaded at every start.
// Run it after an update of that package. It is not part of the program.
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
import type { ModelNames } from "../src/models/model-names.ts";
import { vendors } from "../src/models/vendors.ts";
import { listedNames } from "./listed-models.ts";

const otherModels =
  /^ft:|\.ft-|audio|tts|realtime|live|image|transcribe|embed|whisper|voice|voxtral|moderation|ocr|guard|dall-e|sora|veo|lyria|robotics|computer-use|rerank|:batch/;

export function reducePrices(): CatalogData {
  return Object.fromEntries(
    vendors
      .filter(({ isLocal }) => !isLocal)
      .map(({ name, priceListName }) => [name, (findProvider({ providerId: priceListName ?? name })?.models ?? []).flatMap(reduceModel)]),
  );
}

export function reduceNames(data: CatalogData): Record<string, ModelNames> {
  const exactNames = (match: Matcher[]) => match.flatMap((one) => (typeof one === "string" && one.startsWith("=") ? [one.slice(1)] : []));
  return Object.fromEntries(
    Object.entries(data).map(([vendor, entries]) => [
      vendor,
      listedNames(
        vendor,
        entries.map(([id, match]) => ({ id, also: exactNames(match) })),
      ),
    ]),
  );
}

function reduceModel(model: ModelInfo): CatalogEntry[] {
  const isDeprecated = model.deprecated === true;
  const prices = (Array.isArray(model.prices) ? model.prices : [{ prices: model.prices }]).map((entry): Rates | DatedRates | null => {
    const rates = reduceRates(entry.prices);
    const period = entry.constraint;
    if (!rates || !period) return rates;
    return period.type === "start_date" ? { rates, from: period.start_date } : { rates, between: [period.start_time, period.end_time] };
  });
  const priced = prices.filter((entry) => entry !== null);
  if (isDeprecated || otherModels.test(model.id) || priced.length < prices.length) return [];
  const match = reduceMatch(model.match);
  const isPlain = match.length === 1 && match[0] === `=${model.id}`;
  const id = acceptedName(model.id, match);
  return [[id, isPlain ? [] : match, model.context_window ?? null, ...priced]];
}

/** The id of the list, or the first accepted name where that id is only a label. */
function acceptedName(id: string, match: Matcher[]): string {
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

/** `=equals`, `^starts`, `$ends`, `*contains`, `/regex`. Several matchers are alternatives; all of an inner list must match. */
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
  const data = reducePrices();
  const prices = Object.entries(data).map(
    ([vendor, entries]) => `${JSON.stringify(vendor)}: [\n${entries.map((entry) => JSON.stringify(entry)).join(",\n")}\n]`,
  );
  const names = Object.entries(reduceNames(data)).map(([vendor, listed]) => `${JSON.stringify(vendor)}: ${JSON.stringify(listed)}`);
  await writeData("catalog-data.json", prices);
  await writeData("model-names.json", names);
}

async function writeData(name: string, lines: readonly string[]): Promise<void> {
  await Bun.write(new URL(`../src/models/${name}`, import.meta.url), `{\n${lines.join(",\n")}\n}\n`);
}
