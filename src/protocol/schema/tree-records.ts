// The schemas of what `search`, `diff` and `export` print.
import { z } from "zod";
import { turnStatuses } from "../api/error.ts";
import { node, session, transcriptHeader, transcriptLine, turn, usage } from "./records.ts";

const count = z.number().int().nonnegative();
const time = z.iso.datetime({ precision: 3 });

export const foundNode = z.strictObject({
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

const forkedFrom = z.strictObject({ session_id: z.string(), node_id: z.string() });

export const exportHeader = transcriptHeader.extend({
  tree: z
    .strictObject({
      id: z.string(),
      sessions: z.array(
        session.extend({ forked_from: forkedFrom.nullable(), plan: z.string().describe("what the session executes").optional() }),
      ),
      turns: z.array(turn.extend({ native_id: z.string().nullable(), policy: z.record(z.string(), z.unknown()) })),
    })
    .describe("every session and turn of the tree"),
});

export const exportLine = transcriptLine.extend({
  note: z.record(z.string(), z.unknown()).optional(),
  node: z
    .strictObject({
      author: z.enum(["user", "agent", "tool", "note"]),
      session_id: z.string(),
      turn_id: z.string().nullable(),
      note: z.record(z.string(), z.unknown()).optional(),
      model: z.string().optional(),
      cost_usd: z.number().nullable().optional(),
    })
    .optional()
    .describe("on a node's first line"),
  data: z
    .record(z.string(), z.unknown())
    .nullable()
    .optional()
    .describe("the part as it is stored, where the other fields can't tell it whole; `text` is `content` when it is not there"),
  output: z
    .strictObject({ bytes: count, cut_bytes: count, text: z.string().optional(), base64: z.string().optional() })
    .optional()
    .describe("the whole output that the handle points at"),
});
