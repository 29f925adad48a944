// Checks one value of one key, from JSON or from text (a variable, `config set`). Reads no file.
import { keyPresets } from "../protocol/api/settings.ts";
import { parseAtLimit } from "../protocol/limits/at-limit.ts";
import { parseHostPattern } from "../kit/flow/host-pattern.ts";
import { isRecord } from "../kit/text/json.ts";
import { parseDuration } from "../kit/text/duration.ts";
import { environmentVariables } from "./env.ts";
import type { ConfigKey, KeyType } from "./keys.ts";

/** The value as the program uses it (durations in ms), or a description of what is expected. */
export type CheckedValue = { ok: true; value: unknown } | { ok: false; expected: string };

export function checkValue(entry: ConfigKey, value: unknown): CheckedValue {
  const isValid = entry.type === "choice" ? entry.choices?.includes(value as string) : valueTypes[entry.type].accepts(value);
  if (!isValid) return { ok: false, expected: expectedText(entry) };
  return { ok: true, value: entry.type === "duration" ? parseDuration(String(value)) : value };
}

/** Converts the text of a variable or a command line to the JSON value that a file would have. */
export function jsonFromText({ type }: ConfigKey, text: string): unknown {
  if (type === "integer" || type === "count" || type === "number" || type === "amount") return text.trim() === "" ? text : Number(text);
  if (type === "boolean") return booleans[text.trim().toLowerCase()] ?? text;
  if (type === "hook") return text.startsWith("[") ? (parseOrNull(text) ?? text) : text;
  if (!/-(?:list|map)$/.test(type)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return type.endsWith("-map") ? text : [text];
  }
}

/** Null if the text is no JSON. */
function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

export function expectedText(entry: ConfigKey): string {
  return entry.type === "choice" ? `one of ${entry.choices?.join(", ")}` : valueTypes[entry.type].expected;
}

/** The JSON schema of the values that `checkValue` accepts, and of null. */
export function valueSchema(entry: ConfigKey): Record<string, unknown> {
  if (entry.type === "choice") return { enum: [...(entry.choices ?? []), null] };
  const { type, ...rules } = valueTypes[entry.type].schema;
  return { type: [type, "null"].flat(), ...rules };
}

const booleans: Record<string, boolean> = { true: true, on: true, yes: true, "1": true, false: false, off: false, no: false, "0": false };

type ValueType = {
  /** Completes "must be ...". */
  expected: string;
  accepts: (value: unknown) => boolean;
  schema: { type: string | string[]; [rule: string]: unknown };
};

const valueTypes: Record<Exclude<KeyType, "choice">, ValueType> = {
  string: { expected: "a text that is not empty", accepts: isText, schema: { type: "string", minLength: 1 } },
  integer: {
    expected: "a whole number above 0",
    accepts: (value) => Number.isSafeInteger(value) && (value as number) > 0,
    schema: { type: "integer", exclusiveMinimum: 0 },
  },
  count: {
    expected: "a whole number of at least 0",
    accepts: (value) => Number.isSafeInteger(value) && (value as number) >= 0,
    schema: { type: "integer", minimum: 0 },
  },
  number: {
    expected: "a number above 0",
    accepts: (value) => Number.isFinite(value) && (value as number) > 0,
    schema: { type: "number", exclusiveMinimum: 0 },
  },
  amount: {
    expected: "a number of at least 0",
    accepts: (value) => Number.isFinite(value) && (value as number) >= 0,
    schema: { type: "number", minimum: 0 },
  },
  boolean: { expected: "true or false", accepts: (value) => typeof value === "boolean", schema: { type: "boolean" } },
  duration: {
    expected: 'seconds, or a time like "90s", "10m" or "2h"',
    accepts: (value) => (typeof value === "number" || typeof value === "string") && (parseDuration(String(value)) ?? 0) > 0,
    schema: { type: ["number", "string"], exclusiveMinimum: 0, pattern: "^[0-9]+(\\.[0-9]+)? *(ms|s|m|h|d)?$" },
  },
  "at-limit": {
    expected: "stop, wait, or agents with commas between them",
    accepts: (value) => typeof value === "string" && isAtLimit(value),
    schema: { type: "string", minLength: 1 },
  },
  url: {
    expected: "a URL that starts with http:// or https://",
    accepts: (value) => typeof value === "string" && /^https?:$/.test(URL.parse(value)?.protocol ?? ""),
    schema: { type: "string", pattern: "^https?://" },
  },
  "key-map": {
    expected: `${keyPresets.map((name) => `"${name}"`).join(", ")} or an object of keys and commands`,
    accepts: (value) => isStringMap(value) || keyPresets.some((name) => name === value),
    schema: { type: ["string", "object"], pattern: `^(${keyPresets.join("|")})$`, additionalProperties: { type: "string" } },
  },
  "string-map": {
    expected: "an object whose values are texts",
    accepts: isStringMap,
    schema: { type: "object", additionalProperties: { type: "string" } },
  },
  "string-list": {
    expected: "a list of texts",
    accepts: (value) => Array.isArray(value) && value.every((item) => typeof item === "string"),
    schema: { type: "array", items: { type: "string" } },
  },
  "path-list": {
    expected: "a list of paths",
    accepts: (value) => Array.isArray(value) && value.every(isText),
    schema: { type: "array", items: { type: "string", minLength: 1 } },
  },
  hook: {
    expected: "a shell command, a list of a program and its arguments, or a URL that starts with http:// or https://",
    accepts: (value) => isCommandText(value) || (Array.isArray(value) && value.length > 0 && value.every(isCommandText)),
    schema: { type: ["string", "array"], minLength: 1, minItems: 1, items: { type: "string", minLength: 1 } },
  },
  "host-list": {
    expected: 'a list of hosts such as "example.com", "example.com:8080" or "*.example.com"',
    accepts: (value) => Array.isArray(value) && value.every((item) => typeof item === "string" && parseHostPattern(item) !== null),
    schema: { type: "array", items: { type: "string", minLength: 1 } },
  },
  "variable-list": {
    expected: "a list of names of variables, none of them the key of a model vendor",
    accepts: (value) => Array.isArray(value) && value.every(mayPassToTools),
    schema: { type: "array", items: { type: "string", pattern: "^[A-Za-z_][A-Za-z0-9_]*$" } },
  },
};

function isStringMap(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every((item) => typeof item === "string");
}

function isAtLimit(text: string): boolean {
  try {
    parseAtLimit(text);
    return true;
  } catch {
    return false;
  }
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

/** A URL must be complete, else it would be run as a command. */
function isCommandText(value: unknown): boolean {
  if (typeof value !== "string" || value.trim() === "" || value.includes("\0")) return false;
  return !/^https?:/i.test(value) || URL.canParse(value);
}

function mayPassToTools(name: unknown): boolean {
  const isName = typeof name === "string" && /^[A-Za-z_]\w*$/.test(name);
  return isName && !environmentVariables.some((variable) => variable.group === "keys" && variable.name === name);
}
