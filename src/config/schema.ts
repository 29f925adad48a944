// The JSON schema of a config file, made from the table of keys, for editors and `skein config schema`.
import { valueSchema } from "./check-value.ts";
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
  return { description: entry.description, ...fallback, ...valueSchema(entry) };
}

function emptyObject(): Schema {
  return { type: "object", properties: {}, additionalProperties: false };
}

function properties(object: Schema): Record<string, Schema> {
  return object["properties"] as Record<string, Schema>;
}
