// The JSON schema of a config file, made from the table of keys, for editors and `skein config schema`.
import { configKeys, type ConfigKey } from "./keys.ts";

type Schema = Record<string, unknown>;

export function configSchema(): Schema {
  const root = emptyObject();
  properties(root)["$schema"] = { type: "string" };
  for (const entry of configKeys) insert(root, entry.key.split("."), leafSchema(entry));
  return { $schema: "http://json-schema.org/draft-07/schema#", title: "skein configuration", ...root };
}

function insert(object: Schema, words: string[], schema: Schema): void {
  const [word = "", ...rest] = words;
  if (word === "*") {
    const inner = (object["additionalProperties"] || emptyObject()) as Schema;
    object["additionalProperties"] = inner;
    insert(inner, rest, schema);
  } else if (rest.length === 0) {
    properties(object)[word] = schema;
  } else {
    insert((properties(object)[word] ??= emptyObject()), rest, schema);
  }
}

function leafSchema(entry: ConfigKey): Schema {
  const fallback = entry.default === null ? {} : { default: entry.default };
  return { description: entry.description, ...fallback, ...typeSchema(entry) };
}

function typeSchema(entry: ConfigKey): Schema {
  switch (entry.type) {
    case "choice":
      return { enum: [...(entry.choices ?? []), null] };
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
