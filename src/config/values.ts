// Turns the entries of all layers into the values that the program uses, by the table in keys.ts.
import type { AgentConfig } from "../protocol/api/agents.ts";
import type { KeyPreset } from "../protocol/api/settings.ts";
import type { Settings } from "../protocol/api/api.ts";
import { absolutePath } from "../kit/files/absolute-path.ts";
import { isRecord } from "../kit/text/json.ts";
import { wordsOf } from "./find-key.ts";
import { configKeys, plainKeys, type ConfigKey, type ConfigKeyEntry } from "./keys.ts";

type CamelName<Name extends string> = Name extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<CamelName<Tail>>}` : Name;
type TypeValues = {
  string: string;
  url: string;
  integer: number;
  count: number;
  number: number;
  amount: number;
  duration: number;
  boolean: boolean;
  choice: never;
  "at-limit": string;
  "string-map": Readonly<Record<string, string>>;
  "key-map": KeyPreset | Readonly<Record<string, string>>;
  "string-list": readonly string[];
  "path-list": readonly string[];
  "host-list": readonly string[];
  hook: string | readonly string[];
  "variable-list": readonly string[];
};
type NullIfUnset<Entry> = Entry extends { fallback: unknown } | { default: unknown } ? never : null;
type ValueOf<Entry extends ConfigKeyEntry> =
  | (Entry extends { choices: readonly (infer Choice)[] } ? Choice : TypeValues[Entry["type"]])
  | NullIfUnset<Entry>;
type FieldOf<Entry, Name extends string> = Entry extends { field: infer Field extends string } ? Field : CamelName<Name>;
type PlainEntry = Exclude<ConfigKeyEntry, { key: `${string}.*.${string}` }>;
/** The fields of one name in a group of keys like `providers.*.wire`. */
type GroupValues<Group extends string> = Readonly<{
  [Entry in ConfigKeyEntry as Entry["key"] extends `${Group}.*.${infer Name}` ? FieldOf<Entry, Name> : never]: ValueOf<Entry>;
}>;

export type ProviderConfig = GroupValues<"providers">;

export type ConfigValues = Readonly<{ [Entry in PlainEntry as FieldOf<Entry, Entry["key"]>]: ValueOf<Entry> }> &
  Readonly<{
    providers: Readonly<Record<string, ProviderConfig>>;
    models: Readonly<Record<string, GroupValues<"models">>>;
    /** May be incomplete. The code that starts an agent checks it. */
    agents: Readonly<Record<string, AgentConfig>>;
    mcpServers: Readonly<Record<string, GroupValues<"mcp_servers">>>;
  }>;

type InternalField = FieldOf<Extract<PlainEntry, { isInternal: true }>, Extract<PlainEntry, { isInternal: true }>["key"]>;

/** `value` is in the form that the program uses, `written` as in the file or variable, which `origin` names. */
export type ConfigSource = { value: unknown; written: unknown; origin: string };
export type ConfigSources = Map<string, ConfigSource>;

export type ValueOptions = {
  env: Record<string, string | undefined>;
  home: string;
  project: string;
  userFile: string;
  /** Called for every variable that is named and not set. */
  warn: (message: string) => void;
};

export function buildValues(sources: ConfigSources, options: ValueOptions): ConfigValues {
  const plain = plainKeys.map((entry) => [fieldOf(entry), valueOf(entry, entry.key, sources, options)]);
  return Object.freeze({
    ...Object.fromEntries(plain),
    providers: groupValues("providers", sources, options),
    models: groupValues("models", sources, options),
    agents: groupValues("agents", sources, options),
    mcpServers: groupValues("mcp_servers", sources, options),
  }) as ConfigValues;
}

/** The part of the configuration that front ends may see. Keys of vendors and variables of MCP servers are not in it. */
export function settingsOf(config: ConfigValues): Settings {
  const { providers: _providers, models: _models, agents: _agents, mcpServers: _servers, ...values } = config;
  const internal = plainKeys.filter((entry) => entry.isInternal).map(fieldOf);
  return Object.fromEntries(Object.entries(values).filter(([name]) => !internal.includes(name))) as Omit<typeof values, InternalField>;
}

/** The name of a key in `ConfigValues`: the last part of the key in camel case, unless the table names another. */
export function fieldOf({ key, field }: ConfigKey): string {
  return field ?? key.slice(key.lastIndexOf(".") + 1).replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}

/** The values of `providers.*` and similar keys, by name. */
function groupValues(group: string, sources: ConfigSources, options: ValueOptions): Readonly<Record<string, unknown>> {
  const keys = configKeys.filter(({ key }) => key.startsWith(`${group}.`));
  const names = new Set([...sources.keys()].filter((key) => key.startsWith(`${group}.`)).map((key) => wordsOf(key)[1] as string));
  const valuesOf = (name: string) =>
    Object.fromEntries(keys.map((entry) => [fieldOf(entry), valueOf(entry, entry.key.replace("*", name), sources, options)]));
  return Object.freeze(Object.fromEntries([...names].map((name) => [name, Object.freeze(valuesOf(name))])));
}

function valueOf(entry: ConfigKey, key: string, sources: ConfigSources, options: ValueOptions): unknown {
  const source = sources.get(key);
  const value = source?.value ?? entry.fallback ?? entry.default;
  if (entry.secret) return resolveSecret(key, value, { ...options, isInside: entry.hasVariablesInside === true });
  if (entry.type === "path-list") {
    const cwd = source?.origin === options.userFile ? options.home : options.project;
    return Object.freeze((value as string[]).map((path) => absolutePath(path, { cwd, home: options.home })));
  }
  if (Array.isArray(value)) return Object.freeze([...value]);
  return isRecord(value) ? Object.freeze({ ...value }) : value;
}

/** Replaces `$NAME` by the variable; in a map, leaves out entries whose variable is not set. */
function resolveSecret(key: string, value: unknown, options: SecretOptions): unknown {
  if (typeof value === "string") return resolveVariable(key, value, options);
  if (!isRecord(value)) return value;
  const pairs = Object.entries(value).map(([name, text]) => [name, resolveVariable(`${key}.${name}`, text as string, options)]);
  return Object.freeze(Object.fromEntries(pairs.filter(([, text]) => text !== null)));
}

type SecretOptions = ValueOptions & { isInside: boolean };

/** Null if a variable that the text names is not set. */
function resolveVariable(key: string, text: string, { env, warn, isInside }: SecretOptions): string | null {
  const whole = variableIn(text);
  const names = whole !== null ? [whole] : isInside ? [...text.matchAll(/\$\{(\w+)\}/g)].map((match) => match[1] as string) : [];
  const missing = names.find((name) => !env[name]);
  if (missing !== undefined) {
    warn(`${key} names the variable ${missing}, which is not set`);
    return null;
  }
  return whole !== null
    ? (env[whole] ?? null)
    : names.reduce((result, name) => result.replaceAll(`\${${name}}`, () => env[name] ?? ""), text);
}

/** The name in `$NAME` or `${NAME}`; null for any other text. */
export function variableIn(text: string): string | null {
  const match = /^\$(?:\{(\w+)\}|(\w+))$/.exec(text);
  return match?.[1] ?? match?.[2] ?? null;
}
