// The schemas of what `search` and `diff` print.
import { z } from "zod";
import { turnStatuses } from "../error.ts";
import { node, session, usage } from "./records.ts";

const count = z.number().int().nonnegative();
const time = z.iso.datetime({ precision: 3 });

export const found = z.strictObject({
  node,
  session: session.describe("who wrote it"),
  snippet: z.string(),
  marks: z.array(z.tuple([count, count])).describe("the hits, as [start, end) in the snippet"),
  rank: z.number().describe("lower is better"),
  before: node.nullable(),
  after: node.nullable(),
});

const file = z.strictObject({
  path: z.string(),
  kind: z.enum(["added", "modified", "deleted"]),
  added: count,
  removed: count,
  binary: z.literal(true).optional(),
  big: z.literal(true).optional(),
});

const side = z.strictObject({
  session: session.nullable().describe("null when a node was named"),
  tip: z.string().nullable(),
  nodes: count.describe("after the fork, like all that follows"),
  messages: count,
  tool_calls: count,
  failed_calls: count,
  turns: count,
  steps: count,
  usage,
  cost_usd: z.number().nullable(),
  started_at: time.nullable(),
  ended_at: time.nullable(),
  status: z.enum(turnStatuses).nullable().describe("how its last turn ended"),
  first_message: z.string().nullable(),
  answer: z.string().nullable(),
  files: z.array(file).nullable().describe("null when nothing is known of them"),
});

export const comparison = z.strictObject({
  fork: node.nullable().describe("the last node that both have"),
  shared_nodes: count,
  a: side,
  b: side,
});
