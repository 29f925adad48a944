// Reads fields of JSON from a vendor without trusting its shape. Every getter has a value for a missing field.
import { isRecord, type Json } from "../../kit/text/json.ts";

export { parseJson } from "../../kit/text/json.ts";

export function objectAt(json: Json | undefined, key: string): Json | undefined {
  const value = json?.[key];
  return isRecord(value) ? value : undefined;
}

/** The objects of a list; other items are left out. */
export function listAt(json: Json | undefined, key: string): Json[] {
  const value = json?.[key];
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

export function textAt(json: Json | undefined, key: string): string {
  const value = json?.[key];
  return typeof value === "string" ? value : "";
}

export function numberAt(json: Json | undefined, key: string): number | undefined {
  const value = json?.[key];
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** A time in milliseconds. A number that no Date can have counts as missing. */
export function timeAt(json: Json | undefined, key: string): number | undefined {
  const value = numberAt(json, key);
  return value === undefined || Math.abs(value) > lastTime ? undefined : value;
}

const lastTime = 8.64e15;

/** A number of tokens or an amount of money. A negative one counts as missing: it would give back budget that was used. */
export function countAt(json: Json | undefined, key: string): number | undefined {
  const value = numberAt(json, key);
  return value === undefined || value < 0 ? undefined : Math.min(value, maxCount);
}

/** No vendor counts more. Sums of larger numbers would not be exact. */
const maxCount = 1e12;
