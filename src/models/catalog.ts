// Prices and context windows of models, from a table that tools/prices.ts generates. An unknown model has no price.
// Import it lazily: the table must not be loaded before the first model request.
import type { ModelInfo } from "../protocol/api/api.ts";
import type { Usage } from "../protocol/tree/usage.ts";
import data from "./catalog-data.json";
import { namesOf } from "./model-names.ts";
import { settingsFor, type ModelSettingsTable } from "./model-settings.ts";

/** Dollars per million tokens. A list is [price, input tokens, price above them, ...]. */
export type Rate = number | number[] | null;
/** Input, output, cache read, cache write. */
export type Rates = [Rate, Rate, Rate, Rate];
/** `between` is a time of day in UTC. The last entry that applies counts. An entry without a time always applies. */
export type DatedRates = { rates: Rates; from?: string; between?: [string, string] };
/** The first character is the kind: `=` equals, `^` starts with, `$` ends with, `*` contains, `/` is a regular expression. All of a list must match. */
export type Matcher = string | string[];
/** Without matchers only the exact id matches. */
export type CatalogEntry = [id: string, match: Matcher[], window: number | null, ...prices: (Rates | DatedRates)[]];
export type CatalogData = Record<string, CatalogEntry[]>;

const catalog = data as unknown as CatalogData;

export type PriceOptions = { at?: number; settings?: ModelSettingsTable };

/** Null if the price of input or output is unknown. */
export async function priceOf(
  vendor: string,
  model: string,
  usage: Usage,
  { at = Date.now(), settings = {} }: PriceOptions = {},
): Promise<number | null> {
  const [input, output, read, write] = ratesOf(vendor, model, at, settings);
  if (input === null || output === null) return null;
  const promptTokens = usage.input + usage.cacheRead + usage.cacheWrite;
  const cost =
    usage.input * pricePerMillion(input, promptTokens) +
    usage.output * pricePerMillion(output, promptTokens) +
    usage.cacheRead * pricePerMillion(read ?? input, promptTokens) +
    usage.cacheWrite * pricePerMillion(write ?? input, promptTokens);
  return cost / 1_000_000;
}

/** The rates of the price list, each replaced by that of the configuration. */
function ratesOf(vendor: string, model: string, at: number, settings: ModelSettingsTable): Rates {
  const entry = findEntry(vendor, model);
  const [input, output, read, write] = (entry && ratesAt(entry, at)) ?? [null, null, null, null];
  const own = settingsFor(settings, vendor, model)?.price;
  return [own?.input ?? input, own?.output ?? output, own?.cacheRead ?? read, own?.cacheWrite ?? write];
}

export async function contextWindowOf(vendor: string, model: string): Promise<number | null> {
  return findEntry(vendor, model)?.[2] ?? null;
}

export type CatalogModel = Omit<ModelInfo, "ready" | "isDefault" | "aliases">;

/** The models to choose from: recommended ones first, then newest first, and those of the configuration that are not in the price list. */
export async function listModels({ at = Date.now(), settings = {} }: PriceOptions = {}): Promise<CatalogModel[]> {
  const listed = Object.keys(catalog).flatMap((vendor) => {
    const { ids, aliases } = namesOf(vendor);
    return ids.map((id) => ({ vendor, id, recommended: Object.values(aliases).includes(id) }));
  });
  const configured = Object.keys(settings).map((name) => {
    const [vendor = "", ...rest] = name.split("/");
    return { vendor, id: rest.join("/"), recommended: false };
  });
  const unlisted = configured.filter(({ vendor, id }) => !namesOf(vendor).ids.includes(id));
  return [...listed, ...unlisted].map(({ vendor, id, recommended }) => {
    const [input, output] = ratesOf(vendor, id, at, settings);
    return {
      name: `${vendor}/${id}`,
      vendor,
      recommended,
      contextWindow: findEntry(vendor, id)?.[2] ?? null,
      inputPrice: input === null ? null : pricePerMillion(input, 0),
      outputPrice: output === null ? null : pricePerMillion(output, 0),
    };
  });
}

/** Each answer is priced, and the search tries hundreds of patterns. */
const found = new Map<string, CatalogEntry | undefined>();
const maxFound = 1000;

function findEntry(vendor: string, model: string): CatalogEntry | undefined {
  const key = `${vendor}/${model}`;
  if (found.has(key)) return found.get(key);
  if (found.size >= maxFound) found.clear();
  const entry = searchEntry(vendor, model.toLowerCase());
  found.set(key, entry);
  return entry;
}

function searchEntry(vendor: string, name: string): CatalogEntry | undefined {
  return catalog[vendor]?.find(([id, match]) => (match.length === 0 ? id === name : match.some((matcher) => matchesName(matcher, name))));
}

export function matchesName(matcher: Matcher, name: string): boolean {
  if (Array.isArray(matcher)) return matcher.every((inner) => matchesName(inner, name));
  const [kind, text] = [matcher[0], matcher.slice(1).toLowerCase()];
  if (kind === "=") return name === text;
  if (kind === "^") return name.startsWith(text);
  if (kind === "$") return name.endsWith(text);
  if (kind === "*") return name.includes(text);
  return new RegExp(matcher.slice(1)).test(name);
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

function pricePerMillion(rate: Rate, promptTokens: number): number {
  if (rate === null) return 0;
  if (typeof rate === "number") return rate;
  let price = rate[0] ?? 0;
  for (let index = 1; index + 1 < rate.length; index += 2) if (promptTokens > (rate[index] ?? 0)) price = rate[index + 1] ?? price;
  return price;
}
