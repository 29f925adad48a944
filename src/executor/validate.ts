// Checks what a model sent against a tool's parameters. One line says what is wrong; nothing is guessed but a
// number that was sent as text.
import type { ToolDefinition, ToolProperty } from "../protocol/api/ports.ts";
import { nearestWord } from "../kit/text/nearest-word.ts";
import { oneLine } from "../kit/text/cut-text.ts";

export type Validated = { input: Record<string, unknown>; problem: null } | { input: null; problem: string };

export function validateInput(definition: ToolDefinition, input: unknown): Validated {
  const { properties, required } = definition.parameters;
  const wrong = (problem: string): Validated => ({ input: null, problem: `${definition.name}: ${problem}` });
  if (typeof input !== "object" || input === null || Array.isArray(input)) return wrong("the arguments must be an object");

  const checked: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(input)) {
    if (!Object.hasOwn(properties, name)) return wrong(unknownProperty(name, Object.keys(properties)));
    // Some models send null for what they leave out.
    if (value === null && !required.includes(name)) continue;
    const fitted = fit(value, properties[name]!.type);
    if (fitted === undefined) return wrong(`"${name}" must be ${article[properties[name]!.type]}, not ${kindOf(value)}`);
    checked[name] = fitted;
  }
  const missing = required.find((name) => !Object.hasOwn(checked, name));
  return missing === undefined ? { input: checked, problem: null } : wrong(`"${missing}" is missing`);
}

const article: Record<ToolProperty["type"], string> = {
  string: "a string",
  integer: "an integer",
  number: "a number",
  boolean: "true or false",
  array: "an array",
  object: "an object",
};

function unknownProperty(name: string, known: string[]): string {
  const nearest = nearestWord(name, known);
  const shown = JSON.stringify(oneLine(name, 80));
  return `unknown parameter ${shown}; ${nearest ? `did you mean "${nearest}"?` : `it takes ${known.join(", ")}`}`;
}

/** The value in the wanted type, or undefined. */
function fit(value: unknown, type: ToolProperty["type"]): unknown {
  if (type === "string" || type === "boolean") return typeof value === type ? value : undefined;
  if (type === "array") return Array.isArray(value) ? value : undefined;
  if (type === "object") return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  const isNumeric = typeof value === "string" && /^\s*-?\d+(\.\d+)?\s*$/.test(value);
  const number = typeof value === "number" ? value : isNumeric ? Number(value) : Number.NaN;
  if (!Number.isFinite(number)) return undefined;
  return type === "integer" && !Number.isSafeInteger(number) ? undefined : number;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "string") return value.length <= 40 ? JSON.stringify(value) : "a string";
  return typeof value === "object" ? "an object" : JSON.stringify(value);
}
