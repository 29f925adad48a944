// What models cost and how much they hold, from a table that tools/prices.ts makes. Load it only when it is asked:
// it is not on the road to the first request. An unknown model has no price: never a guess.
import type { ModelInfo } from "../protocol/api/api.ts";
import type { Usage } from "../protocol/tree/usage.ts";
import data from "./catalog-data.json";

/** Dollars for a million tokens; a list is the first price, then from how many tokens of input each next one counts. */
export type Rate = number | number[] | null;
/** Input, output, cache read, cache write. */
export type Rates = [Rate, Rate, Rate, Rate];
/** `between` is a time of day in UTC. The last entry that applies counts; one without a time always does. */
export type DatedRates = { rates: Rates; from?: string; between?: [string, string] };
export type Matcher = string | string[];
/** Without matchers it is only the id that fits. */
export type CatalogEntry = [id: string, match: Matcher[], window: number | null, ...prices: (Rates | DatedRates)[]];
export type CatalogData = Record<string, CatalogEntry[]>;

const catalog = data as unknown as CatalogData;

export async function priceOf(vendor: string, model: string, usage: Usage, at: number = Date.now()): Promise<number | null> {
  const row = rowOf(vendor, model);
  const rates = row && ratesAt(row, at);
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
  return rowOf(vendor, model)?.[2] ?? null;
}

export async function listModels(at: number = Date.now()): Promise<Omit<ModelInfo, "ready" | "isDefault">[]> {
  return Object.entries(catalog).flatMap(([vendor, rows]) =>
    rows.map((row) => {
      const rates = ratesAt(row, at);
      return {
        name: `${vendor}/${row[0]}`,
        vendor,
        contextWindow: row[2],
        inputPrice: rates ? tierOf(rates[0], 0) : null,
        outputPrice: rates ? tierOf(rates[1], 0) : null,
      };
    }),
  );
}

const found = new Map<string, CatalogEntry | undefined>();

/** Asked at every step, for the same few models. */
function rowOf(vendor: string, model: string): CatalogEntry | undefined {
  const key = `${vendor}/${model}`;
  if (!found.has(key)) found.set(key, findRow(vendor, model.toLowerCase()));
  return found.get(key);
}

function findRow(vendor: string, name: string): CatalogEntry | undefined {
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

function ratesAt(row: CatalogEntry, at: number): Rates | undefined {
  const [, , , ...prices] = row;
  const [date = "", time = ""] = new Date(at).toISOString().split("T");
  const found = prices.findLast((entry) => {
    if (Array.isArray(entry)) return true;
    if (entry.from !== undefined) return entry.from <= date;
    return entry.between === undefined || isBetween(time.slice(0, 8), entry.between[0].slice(0, 8), entry.between[1].slice(0, 8));
  });
  return Array.isArray(found) ? found : found?.rates;
}

function isBetween(time: string, start: string, end: string): boolean {
  return start <= end ? time >= start && time < end : time >= start || time < end;
}

function tierOf(rate: Rate, prompt: number): number {
  if (rate === null) return 0;
  if (typeof rate === "number") return rate;
  let price = rate[0] ?? 0;
  for (let at = 1; at + 1 < rate.length; at += 2) if (prompt > (rate[at] ?? 0)) price = rate[at + 1] ?? price;
  return price;
}
