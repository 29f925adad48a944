// The layers of the configuration: defaults < user < project < environment; flags are put on top by the caller.
// On the road to the first request: synchronous, nothing heavy, one stat for a file that is not there.
import { join } from "node:path";
import type { WireName } from "../protocol/api/wire-name.ts";
import type { NotifyMode } from "../protocol/api/api.ts";
import { Fault } from "../protocol/api/error.ts";
import type { PolicyName, SandboxMode, ToolLevel } from "../protocol/api/policy.ts";
import { nearestWord } from "../kit/text/nearest-word.ts";
import { absolutePath } from "../kit/files/absolute-path.ts";
import { configKeys, findKey, hasSubKeys, defaultAskTimeoutMs, type ConfigKey } from "./keys.ts";
import type { Paths } from "./paths.ts";
import { parseConfigText, readConfigText } from "./read-file.ts";
import { checkValue, isPlainObject, jsonFromText } from "./check-value.ts";

export type Config = {
  readonly values: ConfigValues;
  /** Dotted key → "default", the file, or `$VARIABLE`. */
  readonly origins: Readonly<Record<string, string>>;
  readonly warnings: readonly string[];
  /** Dotted key → value as it was written, for `config`; secrets are in here too. */
  readonly written: Readonly<Record<string, unknown>>;
};

export type ConfigValues = Readonly<{
  model: string | null;
  agent: string;
  toolLevel: ToolLevel;
  policy: PolicyName;
  sandbox: SandboxMode | null;
  net: "on" | "off";
  allowWrite: readonly string[];
  toolEnv: readonly string[];
  maxSteps: number | null;
  maxTokens: number | null;
  maxBudgetUsd: number | null;
  maxChildren: number | null;
  timeoutMs: number | null;
  idleMs: number | null;
  askTimeoutMs: number;
  contextFiles: boolean;
  purgeAfterMs: number | null;
  skills: boolean;
  unixSockets: boolean;
  keys: Readonly<Record<string, string>>;
  notify: NotifyMode;
  screenReader: boolean;
  providers: Readonly<Record<string, ProviderConfig>>;
  agents: Readonly<Record<string, AgentConfig>>;
}>;

export type ProviderConfig = Readonly<{
  baseUrl: string | null;
  apiKey: string | null;
  wire: WireName | null;
  headers: Readonly<Record<string, string>>;
  contextWindow: number | null;
}>;

/** An agent that has no adapter of its own. Whether it makes sense is judged where it is used. */
export type AgentConfig = Readonly<{
  command: string | null;
  args: readonly string[];
  resumeArgs: readonly string[] | null;
  output: "text" | "json" | "stream-json" | "acp";
  env: Readonly<Record<string, string>>;
  hint: string | null;
}>;

export type LoadOptions = {
  project: string;
  env: Record<string, string | undefined>;
  paths: Paths;
  /** Asked only when the project's config tries to widen something. */
  trusted: () => boolean;
};

type Entry = { value: unknown; written: unknown; origin: string };
type Entries = Map<string, Entry>;

export function loadConfig(options: LoadOptions): Config {
  const entries: Entries = new Map();
  const warnings: string[] = [];
  const userFile = options.paths.userConfig;
  const projectFile = join(options.project, ".skein", "config.jsonc");
  for (const [key, entry] of readLayer(userFile)) entries.set(key, entry);
  const ignored = addProject(entries, readLayer(projectFile), options.trusted);
  if (ignored.length > 0) warnings.push(untrustedWarning(projectFile, ignored));
  addEnvironment(entries, options.env);
  return freeze(entries, warnings, { ...options, userFile });
}

/** Checks a whole file without using it; throws the fault that loading would throw. */
export function checkConfigFile(path: string): "missing" | "fine" {
  return readLayer(path, { tellMissing: true }) === null ? "missing" : "fine";
}

/** "did you mean ..." for a key that does not exist. */
export function unknownKeyHint(dotted: string): string {
  const words = dotted.split(".");
  const known = configKeys.map((row) =>
    row.key
      .split(".")
      .map((word, at) => (word === "*" ? (words[at] ?? "<name>") : word))
      .join("."),
  );
  const near = nearestWord(dotted, known);
  return near ? `did you mean "${near}"?` : "`skein config` lists every key";
}

function readLayer(path: string): Entries;
function readLayer(path: string, options: { tellMissing: true }): Entries | null;
function readLayer(path: string, options: { tellMissing?: boolean } = {}): Entries | null {
  const text = readConfigText(path);
  const entries: Entries = new Map();
  if (text === null) return options.tellMissing ? null : entries;
  for (const [key, written] of flatten(parseConfigText(text, path), path)) {
    const row = findKey(key) as ConfigKey;
    const checked = checkValue(row, written);
    if (!checked.ok)
      throw new Fault("config", `${path}: "${key}" must be ${checked.expected}`, { hint: `it is ${describe(row, written)}` });
    entries.set(key, { value: checked.value, written, origin: path });
  }
  return entries;
}

/** The leaves of the file by dotted key. Null leaves a key unset. */
function* flatten(object: Record<string, unknown>, path: string, prefix = ""): Generator<[string, unknown]> {
  for (const [word, value] of Object.entries(object)) {
    const key = prefix + word;
    if (key === "$schema" || value === null) continue;
    if (findKey(key)) {
      yield [key, value];
    } else if (hasSubKeys(key)) {
      if (!isPlainObject(value)) throw new Fault("config", `${path}: "${key}" must be an object`);
      yield* flatten(value, path, `${key}.`);
    } else {
      throw new Fault("config", `${path}: unknown key "${key}"`, { hint: unknownKeyHint(key) });
    }
  }
}

/** Adds what a project may set, and returns the keys that only a trusted one may. */
function addProject(entries: Entries, project: Entries, trusted: () => boolean): string[] {
  const widening = [...project].filter(([key, entry]) => widens(findKey(key) as ConfigKey, entries.get(key)?.value, entry.value));
  const ignored = widening.length > 0 && !trusted() ? widening.map(([key]) => key) : [];
  for (const [key, entry] of project) if (!ignored.includes(key)) entries.set(key, entry);
  return ignored;
}

function widens(row: ConfigKey, before: unknown, after: unknown): boolean {
  if (row.project !== "narrow") return row.project === "trusted";
  const from = before ?? row.default;
  if (row.order) return row.order.indexOf(after) > Math.max(0, row.order.indexOf(from));
  return (after as number) > ((from as number | null) ?? row.ceiling ?? Number.POSITIVE_INFINITY);
}

function untrustedWarning(file: string, ignored: string[]): string {
  return `${file} is not trusted, so ${ignored.join(", ")} ${ignored.length === 1 ? "is" : "are"} ignored; read it, then run \`skein trust\``;
}

function addEnvironment(entries: Entries, env: LoadOptions["env"]): void {
  for (const row of configKeys) {
    const text = row.env === undefined ? undefined : env[row.env];
    if (!text) continue;
    const written = jsonFromText(row, text);
    const checked = checkValue(row, written);
    if (!checked.ok) throw new Fault("config", `${row.env} must be ${checked.expected}`, { hint: `it is ${describe(row, text)}` });
    entries.set(row.key, { value: checked.value, written, origin: `$${row.env}` });
  }
}

function freeze(entries: Entries, warnings: string[], options: LoadOptions & { userFile: string }): Config {
  const get = <T>(key: string): T => (entries.get(key)?.value ?? findKey(key)?.default ?? null) as T;
  const allowWrite = entries.get("allow_write");
  const from = allowWrite?.origin === options.userFile ? options.paths.home : options.project;
  const values: ConfigValues = Object.freeze({
    model: get<string | null>("model"),
    agent: get<string>("agent"),
    toolLevel: get<ToolLevel>("tool_level"),
    policy: get<PolicyName>("policy"),
    sandbox: get<SandboxMode | null>("sandbox"),
    net: get<"on" | "off">("net"),
    allowWrite: Object.freeze(get<string[]>("allow_write").map((path) => absolutePath(path, { cwd: from, home: options.paths.home }))),
    toolEnv: Object.freeze([...get<string[]>("tool_env")]),
    maxSteps: get<number | null>("max_steps"),
    maxTokens: get<number | null>("max_tokens"),
    maxBudgetUsd: get<number | null>("max_budget_usd"),
    maxChildren: get<number | null>("max_children"),
    timeoutMs: get<number | null>("timeout"),
    idleMs: get<number | null>("idle_timeout"),
    askTimeoutMs: get<number | null>("ask_timeout") ?? defaultAskTimeoutMs,
    contextFiles: get<boolean>("context_files"),
    purgeAfterMs: get<number | null>("purge_after"),
    skills: get<boolean>("skills"),
    unixSockets: get<boolean>("unix_sockets"),
    notify: get<NotifyMode>("notify"),
    screenReader: get<boolean>("screen_reader"),
    keys: Object.freeze({ ...get<Record<string, string>>("keys") }),
    providers: providersOf(entries, options.env, warnings),
    agents: agentsOf(entries, options.env, warnings),
  });
  const origins: Record<string, string> = {};
  const written: Record<string, unknown> = {};
  for (const [key, entry] of entries) {
    origins[key] = entry.origin;
    written[key] = entry.written;
  }
  return Object.freeze({ values, origins: Object.freeze(origins), written: Object.freeze(written), warnings: Object.freeze(warnings) });
}

function providersOf(entries: Entries, env: LoadOptions["env"], warnings: string[]): Record<string, ProviderConfig> {
  const resolve = resolverOf(env, warnings);
  const provider = (name: string): ProviderConfig => {
    const get = <T>(field: string): T | null => (entries.get(`providers.${name}.${field}`)?.value ?? null) as T | null;
    const key = get<string>("api_key");
    return Object.freeze({
      baseUrl: get<string>("base_url"),
      apiKey: key === null ? null : resolve(`providers.${name}.api_key`, key),
      wire: get<NonNullable<ProviderConfig["wire"]>>("wire"),
      headers: resolvedMap(`providers.${name}.headers`, get("headers"), resolve),
      contextWindow: get<number>("context_window"),
    });
  };
  return Object.freeze(Object.fromEntries(namesBelow(entries, "providers").map((name) => [name, provider(name)])));
}

function agentsOf(entries: Entries, env: LoadOptions["env"], warnings: string[]): Record<string, AgentConfig> {
  const resolve = resolverOf(env, warnings);
  const agent = (name: string): AgentConfig => {
    const get = <T>(field: string): T | null => (entries.get(`agents.${name}.${field}`)?.value ?? null) as T | null;
    return Object.freeze({
      command: get<string>("command"),
      args: Object.freeze(get<string[]>("args") ?? []),
      resumeArgs: Object.freeze(get<string[]>("resume_args")),
      output: get<AgentConfig["output"]>("output") ?? "text",
      env: resolvedMap(`agents.${name}.env`, get("env"), resolve),
      hint: get<string>("hint"),
    });
  };
  return Object.freeze(Object.fromEntries(namesBelow(entries, "agents").map((name) => [name, agent(name)])));
}

function namesBelow(entries: Entries, branch: "providers" | "agents"): string[] {
  const keys = [...entries.keys()].filter((key) => key.startsWith(`${branch}.`));
  return [...new Set(keys.map((key) => key.split(".")[1] as string))];
}

type Resolver = (key: string, text: string) => string | null;

function resolverOf(env: LoadOptions["env"], warnings: string[]): Resolver {
  return (key, text) => {
    const name = variableIn(text);
    if (name === null) return text;
    if (!env[name]) warnings.push(`${key} names the variable ${name}, which is not set`);
    return env[name] || null;
  };
}

/** What names a variable that is not set is left out. */
function resolvedMap(key: string, map: Record<string, string> | null, resolve: Resolver): Readonly<Record<string, string>> {
  const pairs = Object.entries(map ?? {}).map(([name, text]) => [name, resolve(`${key}.${name}`, text)] as const);
  return Object.freeze(Object.fromEntries(pairs.filter((pair): pair is readonly [string, string] => pair[1] !== null)));
}

/** `$NAME` and `${NAME}` stand for a variable. */
export function variableIn(text: string): string | null {
  const match = /^\$(?:\{(\w+)\}|(\w+))$/.exec(text);
  return match?.[1] ?? match?.[2] ?? null;
}

function describe(row: ConfigKey, value: unknown): string {
  if (row.secret) return "something else";
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
