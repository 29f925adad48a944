// JSON objects of unknown shape.

export type Json = Record<string, unknown>;

/** True for an object that is neither null nor an array. */
export function isRecord(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** More values than any message of an agent, a server or a transcript has. That many take some 100 MB when they are parsed. */
export const maxJsonValues = 1_000_000;

/**
 * Whether an untrusted JSON text has too many values to parse it: a megabyte of `[],[],` becomes 50 MB. Counts the marks that
 * start a value, in strings too, because the text also decides what looks like a string.
 */
export function hasTooManyValues(text: string | Uint8Array, max = maxJsonValues): boolean {
  if (text.length <= max) return false;
  let count = 0;
  for (let index = 0; index < text.length && count <= max; index += 1) {
    if (isValueMark(typeof text === "string" ? text.charCodeAt(index) : text[index]!)) count += 1;
  }
  return count > max;
}

/** True for a comma, `[` and `{`: each value of a JSON text but the first comes after one of them. */
export function isValueMark(code: number): boolean {
  return code === 0x2c || code === 0x5b || code === 0x7b;
}

/** Functions that walk a deeper value overflow the stack. No message of an agent, a server or a transcript is as deep. */
const maxJsonDepth = 1_000;

/** Null if the text is not a JSON object, has too many values, or is too deep. */
export function parseJson(text: string): Json | null {
  if (hasTooManyValues(text)) return null;
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) && !(mayBeTooDeep(text) && isTooDeep(value)) ? value : null;
  } catch {
    return null;
  }
}

/** Each level needs a mark at its start and one at its end. Marks in strings are counted too, so this is only a first look. */
function mayBeTooDeep(text: string): boolean {
  if (text.length <= 2 * maxJsonDepth) return false;
  let count = 0;
  for (let index = 0; index < text.length && count <= maxJsonDepth; index += 1) {
    const code = text.charCodeAt(index);
    if (code === 0x5b || code === 0x7b) count += 1;
  }
  return count > maxJsonDepth;
}

/** Walks level by level, because a recursive walk is what a deep value would break. */
function isTooDeep(value: Json): boolean {
  let level: object[] = [value];
  for (let depth = 0; depth < maxJsonDepth && level.length > 0; depth += 1)
    level = level.flatMap((parent) => Object.values(parent).filter((child) => typeof child === "object" && child !== null));
  return level.length > 0;
}
