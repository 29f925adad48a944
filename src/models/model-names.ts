// Resolves the name of a model as a person or another model wrote it: an alias, without a vendor, in capitals, with other
// dashes and dots. No other file does that. It is loaded at every start, so it must not load the price table.
import { nearestWord } from "../kit/text/nearest-word.ts";
import { Fault } from "../protocol/api/error.ts";
import data from "./model-names.json";
import { findVendor, splitEffort, vendors } from "./vendors.ts";

/** The names of one vendor's models. tools/prices.ts writes them. */
export type ModelNames = {
  /** Alias → id of the newest model with that name, such as `opus`. */
  aliases: Record<string, string>;
  /** The ids that `skein models` lists: recommended ones first, then newest first. */
  ids: string[];
  /** Further names that the vendor accepts, and models that are not listed any more. */
  also: string[];
};

export type NameOptions = {
  /** Whether a request to the vendor could be sent. Decides between the vendors of an alias. */
  isReady: (vendor: string) => boolean;
  /** Vendors from the configuration. */
  vendors: readonly string[];
  /** Models that have settings in the configuration. Their names are never corrected. */
  models: readonly string[];
};

const names: Readonly<Record<string, ModelNames>> = data;

/** A date or a stage at the end of an id: the same model. */
export const dateSuffix = /[-@](\d{8}|\d{4}-\d{2}-\d{2}|latest)$/;

export function namesOf(vendor: string): ModelNames {
  return names[vendor] ?? { aliases: {}, ids: [], also: [] };
}

/**
 * Returns `vendor/id[:effort]`. An unknown id of a vendor is returned as it is, because no list is complete, unless it
 * looks like a typing mistake. Throws a usage fault with the nearest names.
 */
export function resolveModelName(text: string, options: NameOptions): string {
  const { name, effort } = splitEffort(text.trim());
  const suffix = effort === null ? "" : `:${effort}`;
  if (options.models.includes(name)) return name + suffix;
  const slash = name.indexOf("/");
  if (slash === -1) return resolveBareName(name, options) + suffix;
  const vendor = [name.slice(0, slash), name.slice(0, slash).toLowerCase()].find((word) => isVendor(word, options));
  if (vendor === undefined) return text.trim();
  return `${vendor}/${resolveId(vendor, name.slice(slash + 1), options)}${suffix}`;
}

function isVendor(name: string, { vendors: configured }: NameOptions): boolean {
  return findVendor(name) !== undefined || configured.includes(name);
}

/** Like `resolveModelName`. Accepts a vendor alone too, for its default model. Throws if the vendor does not exist. */
export function requireModelName(text: string, options: NameOptions): string {
  if (isVendor(text, options)) return text;
  const name = resolveModelName(text, options);
  const vendor = name.slice(0, name.indexOf("/"));
  if (vendor === "replay" || isVendor(vendor, options)) return name;
  const all = [...vendors.map((entry) => entry.name), ...options.vendors];
  const near = nearestWord(vendor, all);
  throw new Fault("usage", `there is no vendor "${vendor}"${near === null ? "" : `; did you mean ${near}?`}`, {
    hint: `the vendors are: ${all.join(", ")}; any other needs providers.${vendor}.base_url in the configuration`,
  });
}

/** Full name of a model → its aliases. */
export function aliasTargets(options: NameOptions): Record<string, string[]> {
  const targets: Record<string, string[]> = {};
  const aliases = new Set(vendors.flatMap(({ name }) => Object.keys(namesOf(name).aliases)));
  for (const alias of aliases) (targets[resolveBareName(alias, options)] ??= []).push(alias);
  return targets;
}

function resolveBareName(name: string, options: NameOptions): string {
  const alias = name.toLowerCase();
  const matches = vendors.flatMap(({ name: vendor }) => {
    const { aliases } = namesOf(vendor);
    return Object.hasOwn(aliases, alias) ? [{ vendor, id: aliases[alias]! }] : [];
  });
  const match = matches.find(({ vendor }) => options.isReady(vendor)) ?? matches[0];
  if (match !== undefined) return `${match.vendor}/${match.id}`;
  for (const { name: vendor, ids } of vendors) {
    const id = ids === undefined ? null : (knownId(vendor, name) ?? similarId(vendor, name));
    if (id !== null) return `${vendor}/${id}`;
  }
  const owner = vendors.find(({ ids }) => ids?.test(alias));
  if (owner !== undefined) return `${owner.name}/${resolveId(owner.name, name, options)}`;
  throw unknownModel(name);
}

/** The vendor's id for `id`. Only a vendor whose models are all known can tell a typing mistake from another model. */
function resolveId(vendor: string, id: string, options: NameOptions): string {
  const { aliases } = namesOf(vendor);
  if (Object.hasOwn(aliases, id.toLowerCase())) return aliases[id.toLowerCase()]!;
  const known = knownId(vendor, id) ?? (findVendor(vendor)?.ids === undefined ? null : similarId(vendor, id));
  if (known !== null) return known;
  const meant = withoutMistake(vendor, id);
  if (meant === null || options.models.includes(`${vendor}/${id}`)) return id;
  throw new Fault("usage", `${vendor} has no model "${id}"; did you mean ${vendor}/${meant}?`, {
    hint: `if it does exist, name it in the configuration: skein config set models.${vendor}/${id}.max_output_tokens <n>`,
  });
}

/** The id with the same letters and digits; an accepted name or a dated id as it is. Null if there is none. */
function knownId(vendor: string, name: string): string | null {
  const { ids, also } = namesOf(vendor);
  const lower = name.toLowerCase();
  if (ids.includes(lower)) return lower;
  const same = ids.find((id) => isSame(id, lower));
  if (same !== undefined) return same;
  const base = lower.replace(dateSuffix, "");
  return also.includes(lower) || ids.includes(base) || also.includes(base) ? lower : null;
}

/** The first listed id with these words and digits and the fewest others: `grok41`, `claude-opus`, `sonnet 4.5`. */
function similarId(vendor: string, name: string): string | null {
  const { ids, aliases } = namesOf(vendor);
  const { words, digits } = partsOf(name.toLowerCase());
  const [first] = words;
  if (first === undefined || !(Object.hasOwn(aliases, first) || ids.some((id) => partsOf(id).words[0] === first))) return null;
  const similar = ids
    .map((id) => ({ id, parts: partsOf(id) }))
    .filter(({ parts }) => words.every((word) => parts.words.includes(word)) && (digits === "" || parts.digits === digits));
  // Without a version the order of the list decides, which has the newest first.
  if (digits !== "") similar.sort((a, b) => a.parts.words.length - b.parts.words.length);
  return similar[0]?.id ?? null;
}

type NameParts = { words: string[]; digits: string };

/** `claude45_opus` has the words claude and opus and the digits 45. */
function partsOf(name: string): NameParts {
  return { words: name.match(/[a-z]+/g) ?? [], digits: name.replaceAll(/\D/g, "") };
}

/** Whether two names differ only in their punctuation, or in the order of their words. */
function isSame(a: string, b: string): boolean {
  if (a.replaceAll(/[^a-z0-9]/g, "") === b.replaceAll(/[^a-z0-9]/g, "")) return true;
  const [first, second] = [partsOf(a), partsOf(b)];
  return first.digits === second.digits && first.words.toSorted().join() === second.words.toSorted().join();
}

/** The id with its misspelt words corrected; null if it has none, or the vendor has more models than the list. */
function withoutMistake(vendor: string, id: string): string | null {
  // A colon is part of the names of the user's own models, such as fine-tuned ones.
  if (findVendor(vendor)?.ids === undefined || id.includes(":")) return null;
  const { ids, also } = namesOf(vendor);
  const known = new Set([...ids, ...also].flatMap((name) => partsOf(name).words));
  let hasMistake = false;
  const corrected = id.toLowerCase().replaceAll(/[a-z]{3,}/g, (word) => {
    const near = known.has(word) ? null : nearestWord(word, known);
    hasMistake ||= near !== null;
    return near ?? word;
  });
  if (!hasMistake) return null;
  return knownId(vendor, corrected) ?? similarId(vendor, corrected) ?? corrected;
}

/** The full name of the model that a misspelt name means; null if there is none. */
export function nearestModel(name: string): string | null {
  for (const { name: vendor } of vendors) {
    const meant = withoutMistake(vendor, name);
    if (meant !== null && knownId(vendor, meant) !== null) return `${vendor}/${meant}`;
  }
  return null;
}

function unknownModel(name: string): Fault {
  const near = nearestModel(name);
  const [word = ""] = partsOf(name.toLowerCase()).words;
  const similar = vendors.flatMap(({ name: vendor }) =>
    namesOf(vendor).ids.filter((id) => word !== "" && partsOf(id).words.includes(word)),
  );
  const similarNames = similar.length === 0 ? "" : `similar names: ${similar.slice(0, 5).join(", ")}; `;
  return new Fault("usage", `there is no model "${name}"${near === null ? "" : `; did you mean ${near}?`}`, {
    hint: `${similarNames}write any other model as vendor/id, as in anthropic/claude-opus-5-5 or ollama/qwen3:8b; \`skein models\` lists them`,
  });
}
