// Schemas of the inputs and results of `skein mcp` tools. They check calls of a model, and the tool list shows them in as
// few tokens as possible.
import { z } from "zod";
import { Fault } from "../api/error.ts";
import { line, paths as requiredPaths } from "./fields.ts";
import { historyKindList } from "./results.ts";
import { validationMessage } from "./validation-message.ts";

export const sessionId = line(1_000);
export const text = z.string().min(1).max(10_000_000);
const paths = z.array(line(4_096)).max(1_000).optional();
const afterSeq = z.number().int().min(0).optional();

/** Optional parameters that are accepted, and left out of the tool list: a model rarely needs them, and they cost tokens. */
function unlisted<Shape extends Record<string, z.ZodType>>(shape: Shape): { [Name in keyof Shape]: z.ZodOptional<Shape[Name]> } {
  const entries = Object.entries(shape).map(([name, field]) => [name, field.optional().meta({ isUnlisted: true })]);
  return Object.fromEntries(entries) as { [Name in keyof Shape]: z.ZodOptional<Shape[Name]> };
}

/** The state of a turn; every tool that starts or awaits one returns it. */
export const turnOutput = z.looseObject({
  status: z.string(),
  session_id: sessionId,
  turn_id: z.string().optional(),
  seq: z.number().int().optional(),
  answer: z.string().optional(),
  next: z.string().optional(),
});

/** Input and output of the tools of every toolset, by name. */
export const coreToolSchemas = {
  work_with: {
    input: z.strictObject({
      agent: line(1_000).describe("or a model that it uses"),
      task: text,
      session_id: sessionId.describe("any name; reuse it to continue"),
      role: text.optional(),
      reasoning_effort: z.enum(["low", "medium", "high", "xhigh"]).optional(),
      check: z.string().optional().describe("command that must succeed at the end"),
      until: z.string().optional().describe("command; repeat until it succeeds"),
      queue: z.boolean().optional(),
      context: paths.describe("paths"),
    }),
    output: turnOutput,
  },
  consult_with: {
    input: z.strictObject({
      model: line(1_000),
      question: text,
      session_id: sessionId,
      output_format: text.optional(),
      context: paths.describe("files sent along"),
    }),
    output: turnOutput,
  },
  group_think: {
    input: z.strictObject({
      objective: text,
      models: z.array(line(1_000)).min(1).max(20).describe("models or agents"),
      session_id: sessionId,
      output_format: text,
      user_input: text.optional(),
      discussion_turns: z.number().int().min(1).max(50).optional(),
      validation_rounds: z.number().int().min(0).max(20).optional(),
      synthesis_model: line(1_000).optional(),
      context: paths,
      max_cost_usd: z.number().positive().optional(),
      ...unlisted({
        mode: z.enum(["round_robin", "orchestrator"]),
        max_steps: z.number().int().min(2).max(100),
        priority_context: z.array(line(4_096)).max(1_000),
        direct_context: z.boolean(),
        config: z.strictObject({
          timeout_per_step: z.number().positive().max(86_400).optional(),
          summarization_threshold: z.number().optional(),
          parallel_limit: z.number().int().min(1).max(20).optional(),
          cost_limit_usd: z.number().positive().optional(),
        }),
      }),
    }),
    output: z.looseObject({
      status: z.string(),
      session_id: sessionId,
      deliverable: z.string().optional(),
      dissent: z.array(z.looseObject({ name: z.string(), reason: z.string() })).optional(),
      participants: z.array(z.looseObject({ name: z.string(), status: z.string() })).optional(),
      cost_usd: z.number().nullable().optional(),
    }),
  },
  wait_session: {
    input: z.strictObject({ session_id: sessionId, timeout_s: z.number().min(0).max(3_600).optional(), after_seq: afterSeq }),
    output: turnOutput,
  },
  cancel_session: { input: z.strictObject({ session_id: sessionId }), output: turnOutput },
  follow_session: {
    input: z.strictObject({ session_id: sessionId, lines: z.number().int().min(1).max(1_000).default(50), after_seq: afterSeq }),
    output: z.strictObject({ state: z.string(), seq: z.number().int(), lines: z.array(z.string()) }),
  },
  list_sessions: {
    input: z.strictObject({
      limit: z.number().int().min(1).max(100).default(5),
      search: line(1_000).optional(),
      include_summary: z.boolean().default(false),
    }),
    output: z.strictObject({
      sessions: z.array(
        z.strictObject({
          session_id: sessionId,
          state: z.string(),
          agent: z.string(),
          model: z.string().nullable(),
          used_at: z.string(),
          task: z.string().nullable(),
          summary: z.string().optional(),
        }),
      ),
    }),
  },
  search_project_history: {
    input: z.strictObject({
      query: line(4_000).describe("several, separated by ;"),
      max_results: z.number().int().min(1).max(200).default(40),
      store_types: historyKindList,
      session_id: sessionId.optional().describe("omits hits that it got within 24 h"),
    }),
    output: z.looseObject({ hits: z.array(z.looseObject({ text: z.string() })) }),
  },
  describe_session: {
    input: z.strictObject({
      session_id: sessionId,
      summarization_model: line(1_000).optional(),
      extra_instructions: text.optional(),
      clear_cache: z.boolean().default(false),
    }),
    output: z.looseObject({ session_id: sessionId, session_type: z.string() }),
  },
  count_project_tokens: {
    input: z.strictObject({
      items: requiredPaths.describe("paths"),
      top_n: z.number().int().min(0).max(1_000).default(10),
    }),
    output: z.looseObject({ total_tokens: z.number().int(), total_files: z.number().int() }),
  },
};

/** The schema in a tool list. Limits, patterns and defaults of results are removed: a model can't use them, and they cost tokens. */
export function toolListSchema(schema: z.ZodType, side: "input" | "output"): Record<string, unknown> {
  const hiddenKeys = new Set(side === "input" ? bounds : [...bounds, "required"]);
  return shortened(z.toJSONSchema(schema, { io: side, unrepresentable: "any" }), hiddenKeys) as Record<string, unknown>;
}

const bounds = ["$schema", "additionalProperties", "pattern", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems"];

function shortened(value: unknown, hiddenKeys: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) return value.map((item) => shortened(item, hiddenKeys));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(withNull(value as Record<string, unknown>)).filter(
    ([key, inner]) => !hiddenKeys.has(key) && !isUnlisted(inner),
  );
  return Object.fromEntries(entries.map(([key, inner]) => [key, shortened(inner, hiddenKeys)]));
}

function isUnlisted(schema: unknown): boolean {
  return typeof schema === "object" && schema !== null && "isUnlisted" in schema;
}

/** Shortens `{anyOf: [{type: T}, {type: "null"}]}` to `{type: [T, "null"]}`. */
function withNull(schema: Record<string, unknown>): Record<string, unknown> {
  const [first, second, ...more] = (Array.isArray(schema["anyOf"]) ? schema["anyOf"] : []) as Record<string, unknown>[];
  if (second?.["type"] !== "null" || typeof first?.["type"] !== "string" || more.length > 0) return schema;
  return { ...first, type: [first["type"], "null"] };
}

/** Parses a model's input. Throws a fault with one line that names the field. */
export function parseToolInput(schema: z.ZodType, input: unknown): unknown {
  const parsed = schema.safeParse(input ?? {});
  if (parsed.success) return parsed.data;
  throw new Fault("usage", validationMessage(parsed.error.issues, input, schema));
}
