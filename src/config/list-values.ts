// The configuration as `skein config` shows it. Secrets must not pass: they only say that they are set.
import type { ConfigEntry } from "../protocol/api/api.ts";
import { configKeys, findKey, type ConfigKey } from "./keys.ts";
import { variableIn, type Config, type ConfigValues } from "./load.ts";
import { isPlainObject } from "./check-value.ts";

/** Every key with its value and origin; of open maps those that are set. */
export function listConfig(config: Config): ConfigEntry[] {
  const plain = configKeys.filter((row) => !row.key.includes("*")).map((row) => row.key);
  const open = Object.keys(config.written).filter((key) => !plain.includes(key));
  return [...plain, ...open.sort()].map((key) => {
    const row = findKey(key) as ConfigKey;
    const written = shown(row, config.written[key] ?? row.default);
    const value = used[key]?.(config.values) ?? written;
    const origin = config.origins[key] ?? "default";
    return { key, value, ...(Bun.deepEquals(value, written) ? {} : { written }), origin, description: row.description };
  });
}

/** Keys whose value is used in another form than it is written in. */
const used: Record<string, (values: ConfigValues) => unknown> = {
  timeout: (values) => values.timeoutMs,
  idle_timeout: (values) => values.idleMs,
  ask_timeout: (values) => values.askTimeoutMs,
  allow_write: (values) => values.allowWrite,
};

function shown(row: ConfigKey, value: unknown): unknown {
  if (row.type === "url" && typeof value === "string") return withoutLogin(value);
  if (!row.secret || value === null) return value;
  if (isPlainObject(value)) return Object.fromEntries(Object.entries(value).map(([name, text]) => [name, hidden(text)]));
  return hidden(value);
}

function hidden(value: unknown): string {
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
