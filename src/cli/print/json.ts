// What leaves the process: snake_case keys and ISO times, whatever the names inside are.

/** Values under these keys are somebody else's words and stay as they are. */
const verbatim = new Set(["input", "value", "written", "data", "opaque", "headers", "schema"]);

export function toSnakeCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toSnakeCase);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      snake(key),
      isTime(key, item) ? new Date(item).toISOString() : verbatim.has(key) ? item : toSnakeCase(item),
    ]),
  );
}

/** One JSON document, as `--json` prints it. */
export function jsonText(value: unknown): string {
  return `${JSON.stringify(toSnakeCase(value), null, 2)}\n`;
}

function snake(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Times are named `...At` and count milliseconds. */
function isTime(key: string, value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && (key === "at" || key.endsWith("At"));
}
