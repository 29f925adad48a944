// Chooses the models that `skein models` lists, their order and their aliases. The price list also has models that were
// switched off long ago, and models of other services. Their prices stay in the table; only the list leaves them out.
import { dateSuffix, type ModelNames } from "../src/models/model-names.ts";
import { findVendor } from "../src/models/vendors.ts";

type ListRules = {
  /** Ids that the vendor's own service offers. */
  listed: RegExp;
  /** An alias is the newest listed model that its pattern matches. The order is the order of the list. */
  aliases: Record<string, RegExp>;
};

const rules: Record<string, ListRules> = {
  anthropic: {
    listed: /^claude-(opus|sonnet|haiku|fable)-\d/,
    aliases: { opus: /-opus-/, sonnet: /-sonnet-/, haiku: /-haiku-/, fable: /-fable-/ },
  },
  openai: {
    listed: /^(gpt-\d|o\d)(?!.*(chat|-search|extended))/,
    aliases: { gpt: /^gpt-[\d.]+(-sol)?$/, astra: /-astra$/, luna: /-luna$/ },
  },
  gemini: {
    listed: /^gemini-(2\.5|[3-9])/,
    aliases: { gemini: /-(flash|pro|pro-preview)$/, flash: /-flash$/, "gemini-pro": /-pro(-preview)?$/, "flash-lite": /-flash-lite$/ },
  },
  // A router has more models than anyone reads. These makers have models that can work with tools.
  openrouter: {
    listed:
      /^(anthropic\/claude-(opus|sonnet|haiku|fable)-|openai\/(gpt-\d|o\d)(?!.*(chat|-search|extended))|google\/gemini-(2\.5|[3-9])|x-ai\/grok-\d|deepseek\/deepseek-v[3-9]|moonshotai\/|z-ai\/glm-(4\.[5-9]|[5-9])|qwen\/qwen3|minimax\/minimax-m[2-9]|mistralai\/(devstral|codestral|mistral-(large|medium|small))-|meta-llama\/llama-4|xiaomi\/)/,
    aliases: {
      opus: /^anthropic\/claude-opus-[\d.]+$/,
      sonnet: /^anthropic\/claude-sonnet-[\d.]+$/,
      haiku: /^anthropic\/claude-haiku-[\d.]+$/,
      fable: /^anthropic\/claude-fable-[\d.]+$/,
      gpt: /^openai\/gpt-[\d.]+(-sol)?$/,
      gemini: /^google\/gemini-[\d.]+-(flash|pro|pro-preview)$/,
      flash: /^google\/gemini-[\d.]+-flash$/,
      grok: /^x-ai\/grok-[\d.]+$/,
      deepseek: /^deepseek\/deepseek-v\d+-pro$/,
      kimi: /^moonshotai\/kimi-k[\d.]+$/,
      glm: /^z-ai\/glm-[\d.]+$/,
      qwen: /^qwen\/qwen[\d.]+-max$/,
    },
  },
  xai: { listed: /^grok-(\d|code)(?!.*vision)/, aliases: { grok: /^grok-[\d.]+$/, "grok-code": /^grok-code/ } },
  deepseek: { listed: /^deepseek-(v\d+-|chat$|reasoner$)/, aliases: { deepseek: /^deepseek-v\d+-pro$/ } },
  mistral: {
    listed: /^(mistral|codestral|devstral|magistral|ministral)-(?!.*instruct).*(latest|2[5-9]\d\d|\d-\d)$/,
    aliases: { mistral: /^mistral-medium-\d-\d$/, codestral: /^codestral-\d/, devstral: /^devstral-/ },
  },
  groq: { listed: /^(llama-3\.1-8b-instant$|llama-3\.3-70b-versatile$|meta-llama\/|moonshotai\/|openai\/|qwen\/)/, aliases: {} },
};

/** `names` are the ids of the price list with the other names that the vendor accepts for them. */
export function listedNames(vendor: string, names: readonly { id: string; also: string[] }[]): ModelNames {
  const { listed, aliases } = rules[vendor] ?? { listed: /./, aliases: {} };
  const candidates = names.map(({ id }) => id).filter((id) => listed.test(id));
  const current = newestFirst(candidates.filter((id) => !isOutdated(id, candidates)));
  const targets = Object.entries(aliases).flatMap(([alias, pattern]) => {
    const target = current.find((id) => pattern.test(id));
    return target === undefined ? [] : [[alias, target] as const];
  });
  const first = [findVendor(vendor)?.defaultModel ?? "", ...targets.map(([, id]) => id)].filter((id) => current.includes(id));
  const ids = [...new Set([...first, ...current])];
  return { aliases: Object.fromEntries(targets), ids, also: otherNames(vendor, names).filter((name) => !ids.includes(name)) };
}

/** Names without a date. Only vendors whose models are all known need them, to tell a typing mistake from an older model. */
function otherNames(vendor: string, names: readonly { id: string; also: string[] }[]): string[] {
  const ownIds = findVendor(vendor)?.ids;
  const all = names.flatMap(({ id, also }) => [id, ...also]);
  return [...new Set(all.filter((name) => ownIds?.test(name) === true && !dateSuffix.test(name)))];
}

/** The big vendors switch a generation off after the second one that follows it. */
function isOutdated(id: string, ids: readonly string[]): boolean {
  const family = familyOf(id);
  if (!["claude", "gpt", "o", "gemini", "grok"].includes(family) || id.startsWith("grok-code")) return false;
  const newest = Math.max(...ids.filter((other) => familyOf(other) === family).map(versionOf));
  return Math.floor(versionOf(id)) < Math.floor(newest) - 1;
}

function familyOf(id: string): string {
  return /^[a-z]*/.exec(id.slice(id.indexOf("/") + 1))?.[0] ?? "";
}

/** `claude-opus-4-5` is 4.5. A version by year and month, such as 2512, is 2.512. Sizes such as 70b are no versions. */
function versionOf(id: string): number {
  const [, major = "0", minor = "0"] = /(?<![\d.])(\d+)(?:[.-](\d{1,2}))?(?![\db])/.exec(id.slice(id.indexOf("/") + 1)) ?? [];
  return major.length === 4 ? Number(major) / 1000 : Number(`${major}.${minor}`);
}

function newestFirst(ids: readonly string[]): string[] {
  return ids.toSorted((a, b) => versionOf(b) - versionOf(a) || a.localeCompare(b, "en"));
}
