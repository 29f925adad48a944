// Prices and context windows of models, from a table that tools/prices.ts generates. An unknown model has no price.
// Import it lazily: the table must not be loaded before the first model request.
import type { ModelInfo } from "../protocol/api/api.ts";
import type { Usage } from "../protocol/tree/usage.ts";
import data from "./catalog-data.json";

/** Dollars per million tokens. A list is [price, input tokens, price above them, ...]. */
export type Rate = number | number[] | null;
/** Input, output, cache read, cache write. */
export type Rates = [Rate, Rate, Rate, Rate];
/** `between` is a time of day in UTC. The last entry that applies counts. An entry without a time always applies. */
export type DatedRates = { rates: Rates; from?: string; between?: [string, string] };
export type Matcher = string | string[];
/** Without matchers only the exact id matches. */
export type CatalogEntry = [id: string, match: Matcher[], window: number | null, ...prices: (Rates | DatedRates)[]];
export type CatalogData = Record<string, CatalogEntry[]>;

const catalog = data as unknown as CatalogData;

export async function priceOf(vendor: string, model: string, usage: Usage, at: number = Date.now()): Promise<number | null> {
  const entry = cachedEntry(vendor, model);
  const rates = entry && ratesAt(entry, at);
  if (!rates) return null;
  const [input, output, read, write] = rates;
  const prompt = usage.input + usage.cacheRead + usage.cacheWrite;
  const cost =
    usage.input * tierOf(input, prompt) +
    usage.output * tierOf(output, prompt) +
    usage.cacheRead * tierOf(read ?? input, prompt) +
    usage.cacheWrite * tierOf(write ?? input, prompt);
  return cost / 1_000_000;
}

export async function contextWindowOf(vendor: string, model: string): Promise<number | null> {
  return cachedEntry(vendor, model)?.[2] ?? null;
}

export async function listModels(at: number = Date.now()): Promise<Omit<ModelInfo, "ready" | "isDefault">[]> {
  return Object.entries(catalog).flatMap(([vendor, entries]) =>
    entries.map((entry) => {
      const rates = ratesAt(entry, at);
      return {
        name: `${vendor}/${entry[0]}`,
        vendor,
        contextWindow: entry[2],
        inputPrice: rates ? tierOf(rates[0], 0) : null,
        outputPrice: rates ? tierOf(rates[1], 0) : null,
      };
    }),
  );
}

const cache = new Map<string, CatalogEntry | undefined>();

/** Cached, because every step of a turn looks up the same few models. */
function cachedEntry(vendor: string, model: string): CatalogEntry | undefined {
  const key = `${vendor}/${model}`;
  if (!cache.has(key)) cache.set(key, findEntry(vendor, model.toLowerCase()));
  return cache.get(key);
}

function findEntry(vendor: string, name: string): CatalogEntry | undefined {
  return catalog[vendor]?.find(([id, match]) => (match.length === 0 ? id === name : match.some((matcher) => matchesName(matcher, name))));
}

export function matchesName(matcher: Matcher, name: string): boolean {
  if (Array.isArray(matcher)) return matcher.every((inner) => matchesName(inner, name));
  const text = matcher.slice(1);
  switch (matcher[0]) {
    case "=":
      return name === text.toLowerCase();
    case "^":
      return name.startsWith(text.toLowerCase());
    case "$":
      return name.endsWith(text.toLowerCase());
    case "*":
      return name.includes(text.toLowerCase());
    default:
      return new RegExp(text).test(name);
  }
}

function ratesAt(entry: CatalogEntry, at: number): Rates | undefined {
  const [, , , ...prices] = entry;
  const [date = "", time = ""] = new Date(at).toISOString().split("T");
  const current = prices.findLast((price) => {
    if (Array.isArray(price)) return true;
    if (price.from !== undefined) return price.from <= date;
    return price.between === undefined || isBetween(time.slice(0, 8), price.between[0].slice(0, 8), price.between[1].slice(0, 8));
  });
  return Array.isArray(current) ? current : current?.rates;
}

function isBetween(time: string, start: string, end: string): boolean {
  return start <= end ? time >= start && time < end : time >= start || time < end;
}

function tierOf(rate: Rate, prompt: number): number {
  if (rate === null) return 0;
  if (typeof rate === "number") return rate;
  let price = rate[0] ?? 0;
  for (let index = 1; index + 1 < rate.length; index += 2) if (prompt > (rate[index] ?? 0)) price = rate[index + 1] ?? price;
  return price;
}
