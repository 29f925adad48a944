// Reading what a vendor sent without trusting its shape: every getter has an answer for what is missing.

export type Json = Record<string, unknown>;

export function parseJson(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text);
    return isJson(value) ? value : null;
  } catch {
    return null;
  }
}

export function isJson(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function objectAt(value: Json | undefined, key: string): Json | undefined {
  const found = value?.[key];
  return isJson(found) ? found : undefined;
}

export function listAt(value: Json | undefined, key: string): Json[] {
  const found = value?.[key];
  return Array.isArray(found) ? found.filter(isJson) : [];
}

export function textAt(value: Json | undefined, key: string): string {
  const found = value?.[key];
  return typeof found === "string" ? found : "";
}

export function numberAt(value: Json | undefined, key: string): number | undefined {
  const found = value?.[key];
  return typeof found === "number" && Number.isFinite(found) ? found : undefined;
}
