// Finds the entry of a configuration key by its name. A `*` in a key stands for the name of a provider, a model or an agent.
import { configKeys, plainKeys, type ConfigKey } from "./keys.ts";

/** A name may only have characters that are also allowed in `vendor/id`. A model is `vendor/id` itself. */
const plainName = "[A-Za-z0-9][A-Za-z0-9_-]{0,63}";
const modelName = '[A-Za-z0-9][A-Za-z0-9_-]{0,63}/[^\\s"]{1,200}';

const plainKeysByName = new Map(plainKeys.map((entry) => [entry.key, entry]));
const openKeys = configKeys
  .filter(({ key }) => key.includes("*"))
  .map((entry) => ({ entry, pattern: entry.key.split("."), dotted: dottedPattern(entry.key) }));

/** The entry for a dotted key; `providers.acme.wire` finds `providers.*.wire`. */
export function findKey(dotted: string): ConfigKey | undefined {
  const plain = plainKeysByName.get(dotted);
  if (plain !== undefined || !dotted.includes(".")) return plain;
  return openKeys.find(({ dotted: pattern }) => pattern.test(dotted))?.entry;
}

/** The words of a dotted key. The name of a model may contain dots. */
export function wordsOf(dotted: string): string[] {
  for (const { dotted: pattern, entry } of openKeys) {
    const name = pattern.exec(dotted)?.[1];
    if (name !== undefined) return entry.key.split(".").map((word) => (word === "*" ? name : word));
  }
  return dotted.split(".");
}

/** The entry for the words of a key in a file. */
export function findKeyAt(words: readonly string[]): ConfigKey | undefined {
  const plain = plainKeysByName.get(words.join("."));
  if (plain !== undefined && plain.key.split(".").length === words.length) return plain;
  return openKeys.find(({ pattern }) => pattern.length === words.length && matches(words, pattern))?.entry;
}

/** Whether there are keys below this one: `hooks`, `providers`, `providers.acme`. */
export function hasSubKeys(words: readonly string[]): boolean {
  if (plainKeys.some(({ key }) => key.startsWith(`${words.join(".")}.`))) return true;
  return openKeys.some(({ pattern }) => words.length < pattern.length && matches(words, pattern));
}

function nameIn(group: string | undefined): string {
  return group === "models" ? modelName : plainName;
}

function dottedPattern(key: string): RegExp {
  const [group, ...rest] = key.split(".*.");
  return new RegExp(`^${group}\\.(${nameIn(group)})\\.${rest.join().replaceAll(".", "\\.")}$`);
}

function matches(words: readonly string[], pattern: readonly string[]): boolean {
  return words.every((word, index) =>
    pattern[index] === "*" ? new RegExp(`^${nameIn(pattern[0])}$`).test(word) : pattern[index] === word,
  );
}
