// Describes the first problem of a request, in one line that names the field.
import { z } from "zod";
import { nearestWord } from "../../kit/text/nearest-word.ts";

type Issue = z.core.$ZodIssue;

/** Returns the first problem. A misspelt name takes precedence, because it explains a missing field. */
export function validationMessage(issues: Issue[], input: unknown, schema: z.ZodType): string {
  const unknown = issues.find((issue) => issue.code === "unrecognized_keys");
  if (unknown !== undefined) return unknownField(unknown.path, unknown.keys[0]!, schema);
  const issue = issues[0]!;
  const field = issue.path.join(".");
  const problem = issueText(issue, valueAt(input, issue.path));
  return field === "" ? `params ${problem}` : `${field} ${problem}`;
}

function unknownField(path: PropertyKey[], typed: string, schema: z.ZodType): string {
  const nearest = nearestWord(typed, namesIn(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" })));
  const shortened = typed.length > 100 ? `${typed.slice(0, 100)}…` : typed;
  return `there is no field ${JSON.stringify([...path, shortened].join("."))}${nearest === null ? "" : `; did you mean "${nearest}"?`}`;
}

/** All field names of the schema, at any depth. */
function namesIn(schema: unknown): string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const names = "properties" in schema ? Object.keys(schema.properties as object) : [];
  return [...names, ...Object.values(schema).flatMap(namesIn)];
}

export function valueAt(input: unknown, path: PropertyKey[]): unknown {
  return path.reduce<unknown>((value, key) => (value as Record<PropertyKey, unknown> | null | undefined)?.[key], input);
}

/** The problem without its field: "must be a text, not 5". */
export function issueText(issue: Issue, value: unknown): string {
  switch (issue.code) {
    case "invalid_type":
      return value === undefined ? "is missing" : `must be ${kinds[issue.expected] ?? issue.expected}, not ${kindOf(value)}`;
    case "invalid_value":
      return `must be one of ${issue.values.join(", ")}`;
    case "invalid_union":
      return "options" in issue && Array.isArray(issue.options) ? `must be one of ${issue.options.join(", ")}` : issue.message;
    case "too_big":
      return bound(issue.origin, "at most", issue.maximum);
    case "too_small":
      return bound(issue.origin, issue.inclusive ? "at least" : "more than", issue.minimum);
    default:
      return issue.message;
  }
}

const kinds: Record<string, string> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  object: "an object",
  record: "an object",
  array: "an array",
};

const lengths: Record<string, string> = { string: "characters", array: "items" };

function bound(origin: string, comparison: string, limit: number | bigint): string {
  const unit = lengths[origin];
  return unit === undefined
    ? `must be ${comparison} ${limit}`
    : `must have ${comparison} ${limit} ${limit === 1 ? unit.slice(0, -1) : unit}`;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "number" ? String(value) : (kinds[typeof value] ?? typeof value);
}
