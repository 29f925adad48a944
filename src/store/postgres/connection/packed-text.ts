// Postgres refuses NUL in text, and a lone surrogate has no UTF-8 form. Such a text is stored as JSON behind a marker.
// The JSON of node bodies needs none of this: it escapes both.

const marker = "\u0001j";

export function packText(text: string): string {
  if (!text.includes("\0") && text.isWellFormed() && !text.startsWith(marker)) return text;
  return marker + JSON.stringify(text);
}

export function unpackText(text: string): string {
  return text.startsWith(marker) ? (JSON.parse(text.slice(marker.length)) as string) : text;
}

/** Packs every text in a value that becomes JSON. */
export function packValue(value: unknown): unknown {
  if (typeof value === "string") return packText(value);
  if (Array.isArray(value)) return value.map(packValue);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, packValue(field)]));
}

/** Parses JSON that the database made of its columns. */
export function parsePacked<T>(json: string): T {
  if (!json.includes("\\u0001j")) return JSON.parse(json) as T;
  return JSON.parse(json, (_, value: unknown) => (typeof value === "string" ? unpackText(value) : value)) as T;
}
