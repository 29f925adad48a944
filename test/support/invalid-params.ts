// Makes params from a JSON schema: random valid ones, and ones with exactly one change. The same seed gives the same params.

export type Json = {
  type?: string;
  const?: unknown;
  enum?: unknown[];
  properties?: Record<string, Json>;
  required?: string[];
  items?: Json;
  minItems?: number;
  anyOf?: Json[];
  oneOf?: Json[];
  pattern?: string;
  format?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
};

export type Pool = { names: string[]; paths: string[] };
export type Random = { below: (limit: number) => number; of: <Item>(items: readonly Item[]) => Item };

export function randomOf(seed: string): Random {
  let state = Bun.hash.crc32(seed);
  const below = (limit: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  return { below, of: (items) => items[below(items.length)]! };
}

/** Optional fields are present at random. */
export function validParams(schema: Json, random: Random, pool: Pool): unknown {
  const options = schema.anyOf ?? schema.oneOf;
  if (options !== undefined) return validParams(random.of(options), random, pool);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return random.of(schema.enum);
  switch (schema.type) {
    case "object":
      return Object.fromEntries(
        Object.entries(schema.properties ?? {})
          .filter(([name]) => schema.required?.includes(name) || random.below(2) === 0)
          // Hosts are checked in more detail than a JSON schema can state.
          .map(([name, field]) => [name, name === "net_hosts" ? ["example.com"] : validParams(field, random, pool)]),
      );
    case "array":
      return Array.from({ length: (schema.minItems ?? 0) + random.below(3) }, () => validParams(schema.items ?? {}, random, pool));
    case "string":
      return validText(schema, random, pool);
    case "integer":
    case "number": {
      const minimum = Math.max(schema.minimum ?? 0, (schema.exclusiveMinimum ?? 0) + 1);
      return Math.min(minimum + random.below(50), schema.maximum ?? Infinity);
    }
    case "boolean":
      return random.below(2) === 0;
    default:
      return null;
  }
}

function validText(schema: Json, random: Random, pool: Pool): string {
  if (schema.format === "date-time") return new Date(random.below(2 ** 31) * 1_000).toISOString();
  if (schema.format === "uuid") return crypto.randomUUID();
  if (schema.format === "base64") return "aGVsbG8=";
  if (schema.pattern?.startsWith("^\\/")) return random.of(pool.paths);
  return random.of(pool.names);
}

/** Replaces, removes or adds one field of valid params, at the top or in a nested object. Some results are still valid. */
export function invalidParams(schema: Json, random: Random, pool: Pool): unknown[] {
  const valid = () => validParams(schema, random, pool) as Record<string, unknown>;
  const fields = Object.entries(schema.properties ?? {});
  const unknownField = random.of(["sesion", "__proto__", "constructor", "", "a\u0000b", "x".repeat(5_000), "toString"]);
  return [
    random.of([5, "text", true, [1, 2, 3, 4, 5]]),
    { ...valid(), ...(JSON.parse(`{${JSON.stringify(unknownField)}: 1}`) as object) },
    ...fields.map(([name]) => without(valid(), name)),
    ...fields.flatMap(([name]) => hostileValues(random).map((value) => ({ ...valid(), [name]: value }))),
    ...fields.flatMap(([name, field]) =>
      field.properties === undefined ? [] : invalidParams(field, random, pool).map((value) => ({ ...valid(), [name]: value })),
    ),
  ];
}

function hostileValues(random: Random): unknown[] {
  const deep = 10 + random.below(2_000);
  return [
    random.of([null, true, false]),
    random.of([-1, -1e300, 1e300, 1.5, -0.5, 2 ** 53, 5e-324]),
    random.of(["", "\u0000", "a\u0000b", "\ud800", "../..", "x".repeat(5_000), "-1", "NaN"]),
    random.of([[], [[[]]], [null], Array.from({ length: 1_500 }, () => "x")]),
    random.of<unknown>([{}, { a: { b: null } }, { length: 5 }, { toString: 1 }]),
    JSON.parse("[".repeat(deep) + "]".repeat(deep)),
  ];
}

function without(params: Record<string, unknown>, name: string): Record<string, unknown> {
  const { [name]: _removed, ...rest } = params;
  return rest;
}
