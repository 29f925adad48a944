// The schema of a loop, as `loop.show` returns it and `skein loop --json` prints it.
import { z } from "zod";
import { count, fields, nullableText, texts } from "../fields.ts";
import { checkOutcome, costFields, id, status, turnError, usage } from "../tree.ts";

const loopPass = fields({
  pass: count,
  turnId: id,
  agent: z.string(),
  model: nullableText,
  status: status.nullable().describe("null while the pass runs"),
  files: count.nullable().describe("number of files that the pass changed; null if it is not known"),
  paths: texts.describe("the first of these files"),
  check: checkOutcome.nullable(),
  output: nullableText.describe("the handle of the check's output"),
  usage,
  ...costFields,
  durationMs: count,
});
export type LoopPass = z.output<typeof loopPass>;

/** The state of a loop follows from the stored turns of its session. */
const loopFields = {
  sessionId: id,
  loopId: id,
  task: z.string(),
  until: z.string(),
  maxRuns: count,
  fresh: z.boolean(),
  agents: texts,
  state: z.enum(["running", "interrupted", "ended"]),
  reason: z.enum(["passed", "no-progress", "max-runs", "budget", "failed"]).nullable().describe("why it ended; null if it has not"),
  why: nullableText.describe("the reason as a sentence"),
  passes: z.array(loopPass).describe("pass 0 is the check before the first pass"),
  usage: usage.describe("of all passes, with their sub-sessions"),
  ...costFields,
  durationMs: count,
};
export const loopView = fields(loopFields).meta({ id: "Loop" });
export type LoopView = z.output<typeof loopView>;

/** The last line of `skein loop`. */
export const loopResult = fields({
  type: z.literal("loop"),
  status: status.describe("of the last turn; the exit code follows from it"),
  result: z.string().describe("the answer of the last pass"),
  ...loopFields,
  error: turnError.optional(),
}).meta({ id: "Loop result" });
