// Merges the layers of the configuration: defaults < user < project < environment. Callers put flags on top.
// It runs before the first request: synchronous, nothing heavy, one stat for a file that does not exist.
import { join } from "node:path";
import { Fault } from "../protocol/api/error.ts";
import { checkServer } from "../protocol/mcp/server-entry.ts";
import { FileReader } from "../kit/files/file-reader.ts";
import { coversHosts } from "../kit/flow/host-pattern.ts";
import { nearestWord } from "../kit/text/nearest-word.ts";
import { isRecord } from "../kit/text/json.ts";
import { findKey, findKeyAt, hasSubKeys } from "./find-key.ts";
import { configKeys, type ConfigKey } from "./keys.ts";
import type { Paths } from "./paths.ts";
import { readProjectServers, type ProjectServers } from "./servers/project-servers.ts";
import { parseConfigText, readConfigText } from "./read-file.ts";
import { checkValue, jsonFromText } from "./check-value.ts";
import { buildValues, type ConfigSources, type ConfigValues } from "./values.ts";

export type Config = {
  readonly values: ConfigValues;
  /** Dotted key → "default", the file, or `$VARIABLE`. */
  readonly origins: Readonly<Record<string, string>>;
  readonly warnings: readonly string[];
  /** The servers of the project's .mcp.json; null if there are none. */
  readonly projectServers: ProjectServers | null;
  /** Dotted key → value as it was written. Contains secrets. */
  readonly written: Readonly<Record<string, unknown>>;
};

export type LoadOptions = {
  project: string;
  env: Record<string, string | undefined>;
  paths: Paths;
  /** Called only if the project's config tries to widen something. `files` has the bytes that were parsed. */
  trusted: (files: FileReader) => boolean;
};

export function loadConfig({ project, env, paths, trusted }: LoadOptions): Config {
  const warnings: string[] = [];
  const userFile = paths.userConfig;
  const projectFile = join(project, ".skein", "config.jsonc");
  const files = new FileReader(project);
  const sources: ConfigSources = new Map(readLayer(userFile, null));
  const projectLayer: ConfigSources = readLayer(projectFile, files) ?? new Map();
  const forbidden = [...projectLayer.keys()].filter((key) => (findKey(key) as ConfigKey).project === "never");
  for (const key of forbidden) projectLayer.delete(key);
  if (forbidden.length > 0) warnings.push(forbiddenWarning(projectFile, forbidden, userFile));
  const warn = (message: string) => void warnings.push(message);
  // The file is read before the first question about trust, which hashes the bytes of every file that was parsed.
  const projectServers = readProjectServers({ project, files, env, isTrusted: () => trusted(files), warn });
  const ignored = addProject(sources, projectLayer, () => trusted(files));
  if (ignored.length > 0) warnings.push(untrustedWarning(projectFile, ignored));
  addEnvironment(sources, env);
  const values = buildValues(sources, { env, home: paths.home, project, userFile, warn });
  for (const [name, entry] of Object.entries(values.mcpServers)) {
    const server = checkServer(entry);
    if (typeof server === "string") warn(`mcp_servers.${name} ${server}; it is left out`);
  }
  const entries = [...sources];
  return Object.freeze({
    values,
    origins: Object.freeze(Object.fromEntries(entries.map(([key, { origin }]) => [key, origin]))),
    written: Object.freeze(Object.fromEntries(entries.map(([key, { written }]) => [key, written]))),
    warnings: Object.freeze(warnings),
    projectServers,
  });
}

/** Checks a file without using it; throws the same fault as loading it. `project` is null for the user's file. */
export function checkConfigFile(path: string, project: string | null): "missing" | "ok" {
  return readLayer(path, project === null ? null : new FileReader(project)) === null ? "missing" : "ok";
}

/** "did you mean ..." for a key that does not exist. */
export function unknownKeyHint(dotted: string): string {
  // The name of a model contains dots, so it ends before the price or the last word.
  const name = /^\w+\.(.+?)(?:\.price)?\.[^.]*$/.exec(dotted)?.[1] ?? dotted.split(".")[1];
  const candidates = configKeys.map(({ key }) => key.replace("*", name ?? "<name>"));
  const near = nearestWord(dotted, candidates);
  return near ? `did you mean "${near}"?` : "`skein config` lists every key";
}

/** The checked values of a file by dotted key; null if there is no file. */
function readLayer(path: string, files: FileReader | null): ConfigSources | null {
  const text = readConfigText(path, files);
  if (text === null) return null;
  const sources: ConfigSources = new Map();
  for (const [key, written] of flatten(parseConfigText(text, path), path)) {
    const entry = findKey(key) as ConfigKey;
    const checked = checkValue(entry, written);
    if (!checked.ok)
      throw new Fault("config", `${path}: "${key}" must be ${checked.expected}`, { hint: `it is ${describe(entry, written)}` });
    sources.set(key, { value: checked.value, written, origin: path });
  }
  return sources;
}

/** The leaves of the file by dotted key. A key that is null counts as not set. */
function* flatten(object: Record<string, unknown>, path: string, parents: readonly string[] = []): Generator<[string, unknown]> {
  for (const [word, value] of Object.entries(object)) {
    const words = [...parents, word];
    const key = words.join(".");
    if (key === "$schema" || value === null) continue;
    if (findKeyAt(words)) {
      yield [key, value];
    } else if (hasSubKeys(words)) {
      if (!isRecord(value)) throw new Fault("config", `${path}: "${key}" must be an object`);
      yield* flatten(value, path, words);
    } else {
      throw new Fault("config", `${path}: unknown key "${key}"`, { hint: unknownKeyHint(key) });
    }
  }
}

/** Adds the values that the project may set. Returns the keys that only a trusted project may set. */
function addProject(sources: ConfigSources, project: ConfigSources, trusted: () => boolean): string[] {
  const widening = [...project].filter(([key, { value }]) => widens(findKey(key) as ConfigKey, sources.get(key)?.value, value));
  const ignored = widening.length > 0 && !trusted() ? widening.map(([key]) => key) : [];
  for (const [key, source] of project) if (!ignored.includes(key)) sources.set(key, source);
  return ignored;
}

function widens(entry: ConfigKey, before: unknown, after: unknown): boolean {
  if (entry.project !== "narrow") return entry.project === undefined;
  const from = before ?? entry.default;
  if (entry.type === "host-list") return !coversHosts(from as string[], after as string[]);
  const order: readonly unknown[] | undefined = entry.type === "boolean" ? [false, true] : (entry.order ?? entry.choices);
  // A value that is not set counts as the narrowest.
  if (order) return order.indexOf(after) > Math.max(0, order.indexOf(from));
  return (after as number) > ((from as number | null) ?? entry.ceiling ?? Number.POSITIVE_INFINITY);
}

function untrustedWarning(file: string, ignored: string[]): string {
  return `${file} is not trusted, so ${ignored.join(", ")} ${ignored.length === 1 ? "is" : "are"} ignored; read it, then run \`skein trust\``;
}

/** Trust does not help: these keys run programs outside of the sandbox. */
function forbiddenWarning(file: string, keys: string[], userFile: string): string {
  return `${file}: ${keys.join(", ")} ${keys.length === 1 ? "is" : "are"} ignored in a project, also in a trusted one; only ${userFile} sets hooks`;
}

function addEnvironment(sources: ConfigSources, env: LoadOptions["env"]): void {
  for (const entry of configKeys) {
    const text = entry.env === undefined ? undefined : env[entry.env];
    if (!text) continue;
    const written = jsonFromText(entry, text);
    const checked = checkValue(entry, written);
    if (!checked.ok) throw new Fault("config", `${entry.env} must be ${checked.expected}`, { hint: `it is ${describe(entry, text)}` });
    sources.set(entry.key, { value: checked.value, written, origin: `$${entry.env}` });
  }
}

/** A secret must not be part of an error message. */
function describe(entry: ConfigKey, value: unknown): string {
  if (entry.secret) return "something else";
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
