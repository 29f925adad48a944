// JSON objects of unknown shape.

export type Json = Record<string, unknown>;

/** True for an object that is neither null nor an array. */
export function isRecord(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Null if the text is not a JSON object. */
export function parseJson(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}
