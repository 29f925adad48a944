// Checks a final answer against the user's JSON schema. Loaded only for turns with a schema, because ajv is slow to load.
import Ajv7 from "ajv";
import Ajv2020 from "ajv/dist/2020.js";
import { Fault, messageOf } from "../../protocol/api/error.ts";

/** Returns the problem with the answer; null if it is valid. */
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

/** Uses the draft that the schema names, else 2020-12. */
export function compileSchema({ $schema: draft, ...schema }: Record<string, unknown>) {
  const options = { strict: false, allErrors: false, validateFormats: false };
  const ajv = /draft-0\d/.test(String(draft)) ? new Ajv7(options) : new Ajv2020(options);
  try {
    return ajv.compile(schema);
  } catch (error) {
    throw new Fault("usage", `the JSON schema is not valid: ${messageOf(error)}`, { cause: error });
  }
}

/** Removes the fence if the whole text is one fenced block, as models often write. */
export function stripFence(text: string): string {
  const block = text.trim();
  const [opening] = /^```(?:json)?[^\S\n]*\n/.exec(block) ?? [];
  const isFenced = opening !== undefined && block.length >= opening.length + 4 && block.endsWith("\n```");
  return isFenced ? block.slice(opening.length, -4) : text;
}
