// The configuration as `skein config` shows it. A secret only shows that it is set.
import { isRecord } from "../kit/text/json.ts";
import type { ConfigEntry } from "../protocol/api/api.ts";
import { findKey } from "./find-key.ts";
import { plainKeys, type ConfigKey } from "./keys.ts";
import type { Config } from "./load.ts";
import { fieldOf, variableIn } from "./values.ts";

/** Every key with its value and origin. Of keys like `providers.*.wire`, only those that are set. */
export function listConfig({ values, origins, written }: Config): ConfigEntry[] {
  const plain = plainKeys.map(({ key }) => key);
  const open = Object.keys(written).filter((key) => !plain.includes(key));
  const plainValues: Readonly<Record<string, unknown>> = values;
  return [...plain, ...open.sort()].map((key) => {
    const entry = findKey(key) as ConfigKey;
    const visible = hideSecret(entry, written[key] ?? entry.default);
    const value = plain.includes(key) && !entry.secret ? plainValues[fieldOf(entry)] : visible;
    const origin = origins[key] ?? "default";
    return { key, value, ...(Bun.deepEquals(value, visible) ? {} : { written: visible }), origin, description: entry.description };
  });
}

function hideSecret(entry: ConfigKey, value: unknown): unknown {
  if (entry.type === "url" && typeof value === "string") return withoutLogin(value);
  if (!entry.secret || value === null) return value;
  if (isRecord(value)) return Object.fromEntries(Object.entries(value).map(([name, text]) => [name, hideText(text)]));
  return hideText(value);
}

/** The name of a variable is no secret. */
function hideText(value: unknown): string {
  return typeof value === "string" && variableIn(value) !== null ? value : "(set)";
}

function withoutLogin(text: string): string {
  const url = new URL(text);
  if (!url.username && !url.password && !url.search) return text;
  url.username = "";
  url.password = "";
  if (url.search) url.search = "?(set)";
  return url.href;
}
