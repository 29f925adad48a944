// Checks one value of one key, from JSON or from text (a variable, `config set`). Files and layers are elsewhere.
import { isRecord } from "../kit/text/json.ts";
import { parseDuration } from "../kit/text/duration.ts";
import { environmentVariables } from "./env.ts";
import type { ConfigKey } from "./keys.ts";

/** The value as the program uses it (durations in ms), or a description of what is expected. */
export type CheckedValue = { ok: true; value: unknown } | { ok: false; expected: string };

export function checkValue(entry: ConfigKey, value: unknown): CheckedValue {
  const good = { ok: true as const, value };
  const bad = { ok: false as const, expected: expectedText(entry) };
  switch (entry.type) {
    case "string":
      return typeof value === "string" && value !== "" ? good : bad;
    case "integer":
      return Number.isSafeInteger(value) && (value as number) > 0 ? good : bad;
    case "number":
      return typeof value === "number" && Number.isFinite(value) && value > 0 ? good : bad;
    case "boolean":
      return typeof value === "boolean" ? good : bad;
    case "choice":
      return typeof value === "string" && entry.choices?.includes(value) ? good : bad;
    case "url":
      return typeof value === "string" && isHttpUrl(value) ? good : bad;
    case "duration": {
      const ms = typeof value === "number" || typeof value === "string" ? durationMs(value) : null;
      return ms === null ? bad : { ok: true, value: ms };
    }
    case "string-map":
      return isRecord(value) && Object.values(value).every((item) => typeof item === "string") ? good : bad;
    case "string-list":
      return Array.isArray(value) && value.every((item) => typeof item === "string") ? good : bad;
    case "path-list":
      return Array.isArray(value) && value.every((item) => typeof item === "string" && item !== "") ? good : bad;
    case "variable-list":
      return Array.isArray(value) && value.every((item) => typeof item === "string" && isToolVariable(item)) ? good : bad;
  }
}

/** Converts the text of a variable or a command line to the JSON value that a file would have. */
export function jsonFromText(entry: ConfigKey, text: string): unknown {
  switch (entry.type) {
    case "integer":
    case "number":
      return text.trim() === "" ? text : Number(text);
    case "boolean":
      return booleans[text.trim().toLowerCase()] ?? text;
    case "string-map":
    case "string-list":
    case "path-list":
    case "variable-list":
      try {
        return JSON.parse(text);
      } catch {
        return entry.type === "string-map" ? text : [text];
      }
    default:
      return text;
  }
}

export function expectedText(entry: ConfigKey): string {
  return entry.type === "choice" ? `one of ${entry.choices?.join(", ")}` : expectations[entry.type];
}

const booleans: Record<string, boolean> = { true: true, on: true, yes: true, "1": true, false: false, off: false, no: false, "0": false };

const expectations: Record<Exclude<ConfigKey["type"], "choice">, string> = {
  string: "a text that is not empty",
  integer: "a whole number above 0",
  number: "a number above 0",
  boolean: "true or false",
  duration: 'seconds, or a time like "90s", "10m" or "2h"',
  url: "a URL that starts with http:// or https://",
  "string-map": "an object whose values are texts",
  "string-list": "a list of texts",
  "path-list": "a list of paths",
  "variable-list": "a list of names of variables, none of them the key of a model vendor",
};

function durationMs(value: number | string): number | null {
  const ms = parseDuration(String(value));
  return ms !== null && Number.isFinite(ms) && ms > 0 ? ms : null;
}

function isToolVariable(name: string): boolean {
  return /^[A-Za-z_]\w*$/.test(name) && !environmentVariables.some((variable) => variable.group === "keys" && variable.name === name);
}

function isHttpUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && (url.protocol === "http:" || url.protocol === "https:") && url.host !== "";
}
