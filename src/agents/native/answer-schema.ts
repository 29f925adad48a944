// Checks a final answer against the user's JSON schema. Loaded only when one is given.
import Ajv7 from "ajv";
import Ajv2020 from "ajv/dist/2020.js";
import { Fault, messageOf } from "../../protocol/api/error.ts";

/** Null when the text is JSON that satisfies the schema, else what is wrong with it. */
export function checkAnswer(schema: Record<string, unknown>, text: string): string | null {
  const validate = compileSchema(schema);
  let value: unknown;
  try {
    value = JSON.parse(stripFence(text));
  } catch (error) {
    return `It is not JSON: ${messageOf(error)}.`;
  }
  if (validate(value)) return null;
  const first = validate.errors?.[0];
  return `At ${first?.instancePath || "the top"}: ${first?.message ?? "invalid"}.`;
}

/** By the draft that the schema names; 2020-12 when it names none. */
export function compileSchema({ $schema: draft, ...schema }: Record<string, unknown>) {
  const options = { strict: false, allErrors: false, validateFormats: false };
  const ajv = /draft-0\d/.test(String(draft)) ? new Ajv7(options) : new Ajv2020(options);
  try {
    return ajv.compile(schema);
  } catch (error) {
    throw new Fault("usage", `the JSON schema is not valid: ${messageOf(error)}`, { cause: error });
  }
}

/** Models like to wrap JSON into a fenced block. */
export function stripFence(text: string): string {
  const fenced = /^\s*```(?:json)?\s*\n([\s\S]*?)\n```\s*$/.exec(text);
  return fenced?.[1] ?? text;
}
