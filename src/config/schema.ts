// The JSON schema of a config file, printed from the table of keys for editors and `config schema`.
import { configKeys, type ConfigKey } from "./keys.ts";

type Schema = Record<string, unknown>;

export function configSchema(): Schema {
  const root = emptyObject();
  properties(root)["$schema"] = { type: "string" };
  for (const row of configKeys) place(root, row.key.split("."), leaf(row));
  return { $schema: "http://json-schema.org/draft-07/schema#", title: "skein configuration", ...root };
}

function place(object: Schema, words: string[], schema: Schema): void {
  const [word = "", ...rest] = words;
  if (word === "*") {
    const inner = (object["additionalProperties"] || emptyObject()) as Schema;
    object["additionalProperties"] = inner;
    place(inner, rest, schema);
  } else if (rest.length === 0) {
    properties(object)[word] = schema;
  } else {
    place((properties(object)[word] ??= emptyObject()), rest, schema);
  }
}

function leaf(row: ConfigKey): Schema {
  const fallback = row.default === null ? {} : { default: row.default };
  return { description: row.description, ...fallback, ...shape(row) };
}

function shape(row: ConfigKey): Schema {
  switch (row.type) {
    case "choice":
      return { enum: [...(row.choices ?? []), null] };
    case "integer":
      return { type: ["integer", "null"], exclusiveMinimum: 0 };
    case "number":
      return { type: ["number", "null"], exclusiveMinimum: 0 };
    case "boolean":
      return { type: ["boolean", "null"] };
    case "duration":
      return { type: ["number", "string", "null"], exclusiveMinimum: 0, pattern: "^[0-9]+(\\.[0-9]+)? *(ms|s|m|h|d)?$" };
    case "url":
      return { type: ["string", "null"], pattern: "^https?://" };
    case "string-map":
      return { type: ["object", "null"], additionalProperties: { type: "string" } };
    case "string-list":
      return { type: ["array", "null"], items: { type: "string" } };
    case "path-list":
      return { type: ["array", "null"], items: { type: "string", minLength: 1 } };
    case "variable-list":
      return { type: ["array", "null"], items: { type: "string", pattern: "^[A-Za-z_][A-Za-z0-9_]*$" } };
    case "string":
      return { type: ["string", "null"], minLength: 1 };
  }
}

function emptyObject(): Schema {
  return { type: "object", properties: {}, additionalProperties: false };
}

function properties(object: Schema): Record<string, Schema> {
  return object["properties"] as Record<string, Schema>;
}
