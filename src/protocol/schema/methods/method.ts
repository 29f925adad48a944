// The entry of an Api method in the method table.
import { z } from "zod";
import * as is from "../fields.ts";

export type Method = {
  /** The fields of the params, in the order of positional params. */
  params: z.ZodRawShape;
  /** The result. For a feed, one item of it. */
  result: z.ZodType;
  /** A feed answers with a stream of items, the others answer once. */
  feed?: true;
  /** One or two sentences for docs/HUB.md. */
  summary: string;
};

/** The result of a method that returns nothing; JSON has null instead. */
export const nothing = z.void();

export const inSession = { session: is.name };
export const inDirectory = { directory: is.path };

/** A parameter that callers in this process may leave out. */
export const optionalFlag = is.falseByDefault.optional();

/** A limit that callers in this process may leave out. */
export const optionalLimit = is.countOrNull.default(null).optional();

export function limitUpTo(max: number, defaultValue: number) {
  return z.number().int().min(1).max(max).default(defaultValue);
}
