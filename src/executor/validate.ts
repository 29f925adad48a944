// Checks the input of a tool call against the tool's parameters. The problem is one line for the model.
// The only conversion is from text to number.
import type { ToolDefinition, ToolProperty } from "../protocol/api/ports.ts";
import { nearestWord } from "../kit/text/nearest-word.ts";
import { oneLine } from "../kit/text/cut-text.ts";
import { isRecord } from "../kit/text/json.ts";

export type Validated = { input: Record<string, unknown>; problem: null } | { input: null; problem: string };

export function validateInput(definition: ToolDefinition, input: unknown): Validated {
  const { properties, required } = definition.parameters;
  const reject = (problem: string): Validated => ({ input: null, problem: `${definition.name}: ${problem}` });
  if (!isRecord(input)) return reject("the arguments must be an object");

  const checked: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(input)) {
    if (!Object.hasOwn(properties, name)) return reject(unknownProperty(name, Object.keys(properties)));
    // Some models send null for a parameter that they leave out.
    if (value === null && !required.includes(name)) continue;
    const converted = convert(value, properties[name]!.type);
    if (converted === undefined) return reject(`"${name}" must be ${typeText[properties[name]!.type]}, not ${describeValue(value)}`);
    checked[name] = converted;
  }
  const missing = required.find((name) => !Object.hasOwn(checked, name));
  return missing === undefined ? { input: checked, problem: null } : reject(`"${missing}" is missing`);
}

const typeText: Record<ToolProperty["type"], string> = {
  string: "a string",
  integer: "an integer",
  number: "a number",
  boolean: "true or false",
  array: "an array",
  object: "an object",
};

function unknownProperty(name: string, allowed: string[]): string {
  const nearest = nearestWord(name, allowed);
  const quoted = JSON.stringify(oneLine(name, 80));
  return `unknown parameter ${quoted}; ${nearest ? `did you mean "${nearest}"?` : `it takes ${allowed.join(", ")}`}`;
}

/** The value in its type, or undefined if it does not have that type. */
function convert(value: unknown, type: ToolProperty["type"]): unknown {
  if (type === "string" || type === "boolean") return typeof value === type ? value : undefined;
  if (type === "array") return Array.isArray(value) ? value : undefined;
  if (type === "object") return isRecord(value) ? value : undefined;
  const isNumeric = typeof value === "string" && /^\s*-?\d+(\.\d+)?\s*$/.test(value);
  const number = typeof value === "number" ? value : isNumeric ? Number(value) : Number.NaN;
  if (!Number.isFinite(number)) return undefined;
  return type === "integer" && !Number.isSafeInteger(number) ? undefined : number;
}

function describeValue(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "string") return value.length <= 40 ? JSON.stringify(value) : "a string";
  return typeof value === "object" ? "an object" : JSON.stringify(value);
}
