// Building blocks of schemas: objects whose JSON fields are snake_case, and bounded texts, paths, counts and times.
import { z } from "zod";
import { policyNames, sandboxModes, toolLevels, defaultPolicy } from "../api/policy.ts";
import { parseHostPattern } from "../../kit/flow/host-pattern.ts";
import { snakeCase } from "../json/field-names.ts";

/** The type of zod, for tables outside of this folder, which must not import zod. */
export type Zod = typeof z;
export type FieldSchema<Value> = z.ZodType<Value>;
export type OutputOf<Schema extends z.ZodType> = z.output<Schema>;

type SnakeName<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeName<Rest>}`
  : "";
type Renames = Readonly<Record<string, string>>;
type JsonName<Name, Renamed extends Renames> = SnakeName<(Name extends keyof Renamed ? Renamed[Name] : Name) & string>;
type JsonShape<Shape, Renamed extends Renames> = { [Name in keyof Shape as JsonName<Name, Renamed>]: Shape[Name] };

/**
 * An object. Its input is JSON with snake_case names, its output has the names of `shape`. Unknown fields are refused.
 * `renamed` maps a field to its JSON name if that is another word.
 */
export function fields<Shape extends z.ZodRawShape, const Renamed extends Renames = {}>(shape: Shape, renamed?: Renamed) {
  const names = new Map(Object.keys(shape).map((name) => [snakeCase(renamed?.[name] ?? name), name]));
  const json = Object.fromEntries([...names].map(([jsonName, name]) => [jsonName, shape[name]]));
  return z.strictObject(json as JsonShape<Shape, Renamed>).transform((value) => {
    const entries = Object.entries(value).map(([jsonName, field]) => [names.get(jsonName), field]);
    return Object.fromEntries(entries) as z.output<z.ZodObject<Shape>>;
  });
}

/** A field that the command line leaves out if it contains no information. The schema accepts JSON without it. */
export function sometimesPrinted<Schema extends z.ZodType>(schema: Schema): Schema {
  return schema.optional() as unknown as Schema;
}

/** A field that the hub sends and the command line does not print. The schema accepts JSON without it. */
export function hubOnly<Schema extends z.ZodType>(schema: Schema): Schema {
  return schema.optional().meta({ hubOnly: true }) as unknown as Schema;
}

export const line = (maxLength: number) =>
  z
    .string()
    .min(1)
    .max(maxLength)
    .regex(/^[^\0]*$/, "must not hold a null byte");

/** A session, node, ask, handle, agent or model: an id, the end of one, or a name. */
export const name = line(1_000);
export const query = line(4_000);
export const nameOrNull = name.nullable().default(null);
export const text = z.string().max(10_000_000);
export const textOrNull = text.nullable().default(null);
export const textList = z.array(line(100_000)).max(1_000);
export const command = line(10_000_000);
export const path = z
  .string()
  .max(4_096)
  .regex(/^\/[^\0]*$/, "must be an absolute path");
export const paths = z.array(line(4_096)).min(1).max(1_000);
export const pathOrNull = path.nullable().default(null);
export const count = z.number().int().min(0);
/** Texts without bounds, in results. */
export const texts = z.array(z.string());
export const nullableText = z.string().nullable();
export const countOrNull = z.number().int().min(1).nullable();
export const falseByDefault = z.boolean().default(false);
export const trueByDefault = z.boolean().default(true);
export const time = z.iso.datetime({ error: "must be a time like 2026-01-31T12:00:00.000Z" }).transform((value) => Date.parse(value));
export const milliseconds = z.number().int().min(1).max(3_600_000);
export const millisecondsOrNull = z.number().int().min(1).nullable();

/** @public Used by the checks in turn-options.ts, which get this module as a parameter. */
export const schemaOrNull = z
  .record(z.string(), z.unknown())
  .refine((value) => isShallow(value, 100), "must not be nested more than 100 deep")
  .nullable()
  .default(null);

export const toolLevel = z.enum(toolLevels);

export const policy = fields({
  name: z.enum(policyNames).default(defaultPolicy.name),
  sandbox: z.enum(sandboxModes).default(defaultPolicy.sandbox),
  net: z.enum(["on", "off"]).default(defaultPolicy.net),
  netHosts: z
    .array(name.refine((text) => parseHostPattern(text) !== null, "must be a host such as example.com, example.com:8080 or *.example.com"))
    .max(100)
    .optional()
    .describe("hosts that tools may reach while the network is off"),
  allowWrite: z.array(path).max(1_000).default([]),
  addDirs: z.array(path).max(1_000).default([]),
});

/** @public Used like `schemaOrNull`. */
export const image = fields({
  mime: z.enum(["image/png", "image/jpeg", "image/gif", "image/webp"]),
  base64: z.base64({ error: "must be base64" }).max(7_000_000),
});

function isShallow(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return depth > 0 && Object.values(value).every((inner) => isShallow(inner, depth - 1));
}
