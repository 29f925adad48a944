// Prints docs/HUB.md: the prose of hub.md with the table of methods.
import { z } from "zod";
import { isFeed, type Api, type MethodName } from "../../src/protocol/api/api.ts";
import { protocolVersion } from "../../src/protocol/api/control.ts";
import { snakeCase } from "../../src/protocol/json/field-names.ts";
import { methodNames } from "../../src/protocol/schema/check-params.ts";
import { configuredFields } from "../../src/protocol/schema/default-params.ts";
import { methods } from "../../src/protocol/schema/methods/index.ts";
import { fillTemplate, markdownTable, type SchemaNode } from "./template.ts";

const groups: readonly (readonly [title: string, nouns: readonly Exclude<keyof Api, "close">[]])[] = [
  ["Sessions and their trees", ["session", "branch"]],
  ["Turns, questions, commands", ["turn", "loop", "ask", "bash"]],
  ["Teams", ["team"]],
  ["Races", ["race"]],
  ["Nodes and their data", ["node", "graft", "context", "handle", "search", "history", "transcript"]],
  ["The project's files", ["files", "worktree", "plan", "tokens"]],
  ["Agents, models, roles", ["agents", "models", "auth", "skills", "roles", "hooks", "fleet", "doctor", "health"]],
  ["Configuration and store", ["config", "mcp", "trust", "usage", "limits", "store"]],
];

export function printHubDocs(): string {
  const tables = groups.flatMap(([title, nouns]) => [
    `### ${title}`,
    markdownTable(
      ["method", "params", "description", "result"],
      nouns.flatMap((noun) => methodNames.filter((name) => name.startsWith(`${noun}.`)).map(methodCells)),
    ),
  ]);
  const hello = { jsonrpc: "2.0", id: 1, method: "hub.hello", params: { protocol: protocolVersion, client: "my-tool 1.0" } };
  return fillTemplate("hub", {
    notice: "Written from `tools/docs/hub.md` and the method table in `src/protocol/schema/methods`.",
    hello: `\`\`\`json\n${JSON.stringify(hello)}\n\`\`\``,
    methods: [...tables, longParams("session.open"), longParams("turn.start")].join("\n\n"),
  });
}

function methodCells(name: MethodName): string[] {
  return [`\`${snakeCase(name)}\``, paramsCell(name), methods[name].summary, resultCell(name)];
}

function resultCell(name: MethodName): string {
  if (isFeed(name)) return "feed of **events**";
  const { result } = methods[name];
  if (result instanceof z.ZodVoid) return "`null`";
  return resultText(z.toJSONSchema(result, { io: "input", unrepresentable: "any" }) as SchemaNode);
}

/** A named type, or the names of the fields. */
function resultText(schema: SchemaNode, defs = schema.$defs ?? {}): string {
  if (schema.$ref !== undefined) return `**${decodeURIComponent(schema.$ref.split("/").at(-1)!)}**`;
  const named = Object.entries(defs).find(([, { properties }]) => properties !== undefined && properties === schema.properties);
  if (named !== undefined) return `**${named[0]}**`;
  if (schema.type === "array") return `array of ${resultText(schema.items ?? {}, defs)}`;
  const variants = schema.anyOf ?? schema.oneOf;
  if (variants !== undefined) return [...new Set(variants.map((variant) => resultText(variant, defs)))].join(" or ");
  if (schema.type === "null") return "`null`";
  const names = Object.keys(schema.properties ?? {});
  return names.length === 0 ? "object" : names.map((name) => `\`${name}\``).join(", ");
}

function paramsCell(name: MethodName): string {
  if (name === "turn.check")
    return "`directory`, `agent` = the configured one, `is_new` = `true`, and those of `turn.start` from `model` on";
  if (name === "turn.start" || name === "session.open") return "see below";
  const schema = paramsSchema(name);
  return Object.entries(schema.properties ?? {})
    .map(([field, type]) => `\`${field}\` ${typeName(type)}${defaultText(type, schema.required?.includes(field) ?? false)}`)
    .join("; ");
}

function longParams(name: MethodName): string {
  return `### Params of \`${snakeCase(name)}\`\n\n${markdownTable(["field", "type", "default"], fieldRows(name, paramsSchema(name), ""))}`;
}

function fieldRows(method: MethodName, schema: SchemaNode, prefix: string): string[][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const isRequired = schema.required?.includes(name) ?? false;
    const defaultValue = field.default === undefined ? "" : valueText(field.default);
    const fallback = isRequired ? "required" : configuredText(method, `${prefix}${name}`, defaultValue);
    const type = typeName(field);
    const row = [`\`${prefix}${name}\``, type, type === largeObject ? "see its fields" : fallback];
    return type === largeObject ? [row, ...fieldRows(method, field, `${prefix}${name}.`)] : [row];
  });
}

function configuredText(method: MethodName, path: string, defaultValue: string): string {
  const key = configuredFields[method]?.[path];
  const otherwise = path === "policy.sandbox" ? "`required` with `readonly` and `plan`, `auto` with the others" : defaultValue;
  return key === undefined ? defaultValue : `the configured \`${key}\`, else ${otherwise}`;
}

function paramsSchema(name: MethodName): SchemaNode {
  return z.toJSONSchema(methods[name].params, { io: "input", unrepresentable: "any" }) as SchemaNode;
}

function typeName(field: SchemaNode): string {
  const options = field.anyOf ?? field.oneOf;
  if (options !== undefined) return options.map(typeName).join(" or ");
  if (field.const !== undefined) return `\`${String(field.const)}\``;
  if (field.enum !== undefined) return field.enum.map((value) => `\`${String(value)}\``).join(", ");
  if (field.type === "array") return `array of ${typeName(field.items ?? {})}`;
  if (field.properties !== undefined) return objectText(field);
  if (field.type === "object") return "any object";
  const type = String(field.type ?? "anything");
  return typeWords[type] ?? type;
}

const typeWords: Record<string, string> = { string: "text", integer: "whole number", boolean: "true or false" };
const largeObject = "object";

/** Small objects are written out. */
function objectText({ properties = {}, required = [] }: SchemaNode): string {
  const names = Object.entries(properties).map(([name, field]) => {
    const text = field.const === undefined ? name : `${name}: "${String(field.const)}"`;
    return required.includes(name) ? text : `${text}?`;
  });
  return names.length > 3 ? largeObject : `\`{${names.join(", ")}}\``;
}

function defaultText(field: SchemaNode, isRequired: boolean): string {
  if (isRequired || field.properties !== undefined) return "";
  return field.default === undefined ? " (optional)" : ` = ${valueText(field.default)}`;
}

function valueText(value: unknown): string {
  return `\`${typeof value === "string" ? value : JSON.stringify(value)}\``;
}
