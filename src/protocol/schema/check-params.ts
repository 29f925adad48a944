// Checks the params that another process sends, fills in defaults and converts them to the Api's own names.
import type { z } from "zod";
import type { MethodName, MethodParams } from "../api/api.ts";
import { snakeCase } from "../json/field-names.ts";
import { methods } from "./methods/index.ts";
import { validationMessage } from "./validation-message.ts";

/** How many params can be sent by position. */
const maxPositionalParams = 4;

export type CheckedParams<Name extends MethodName> = { ok: true; params: MethodParams<Name> } | { ok: false; message: string };

/** Accepts an object, or an array with the first few params. The message is one line that names the field. */
export function checkParams<Name extends MethodName>(method: Name, params: unknown): CheckedParams<Name> {
  const schema: z.ZodType = methods[method].params;
  const refuse = (message: string) => ({ ok: false as const, message: `${snakeCase(method)}: ${message}` });
  const names = positionalNames(method);
  if (Array.isArray(params) && params.length > names.length)
    return refuse(`takes at most ${names.length} by position${names.length === 0 ? "" : `: ${names.join(", ")}`}`);
  const named = namedParams(method, params);
  const parsed = schema.safeParse(named);
  if (!parsed.success) return refuse(validationMessage(parsed.error.issues, named, schema));
  return { ok: true, params: parsed.data as MethodParams<Name> };
}

/** The params by name, as they were sent. */
export function namedParams(method: MethodName, params: unknown): unknown {
  const names = positionalNames(method);
  return Array.isArray(params) ? Object.fromEntries(params.map((value, index) => [names[index], value])) : (params ?? {});
}

function positionalNames(method: MethodName): string[] {
  return Object.keys(methods[method].params.in.shape).slice(0, maxPositionalParams);
}

/** The method by its name in JSON (`node.add_session`), or null. */
export function findMethod(name: string): MethodName | null {
  return methodsByJsonName.get(name) ?? null;
}

export const methodNames = Object.keys(methods) as MethodName[];
const methodsByJsonName = new Map(methodNames.map((name) => [snakeCase(name), name]));
