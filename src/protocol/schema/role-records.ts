// The schemas of what `roles` prints as JSON. Fields are only ever added.
import { z } from "zod";
import { policyNames } from "../api/policy.ts";

const count = z.number().int().nonnegative();
const words = z.array(z.string());

export const role = z.strictObject({
  name: z.string(),
  description: z.string(),
  prompt: z.string().describe("added to the system prompt"),
  prompt_tokens: count.describe("an estimate"),
  capabilities: words,
  reads: words.describe("in a team: what to look at first"),
  writes: words.describe("in a team: where results go"),
  agent: z.string().nullable(),
  model: z.string().nullable(),
  tools: words.nullable().describe("null: those of the turn"),
  policy: z.enum(policyNames).nullable().describe("the most it may do; null: what the turn may"),
  net: z.enum(["on", "off"]).nullable(),
  timeout_ms: count,
  idle_ms: count.nullable(),
  max_memory_mb: count,
  origin: z.enum(["built-in", "user", "project"]),
  path: z.string().nullable().describe("of its file"),
  specialises: z.string().nullable().describe("the file of the role whose name it takes over, or `built-in`"),
  notes: words.describe("what was inferred or left out"),
  ignored: words.describe("what an untrusted project asked for and does not get"),
});

export const roles = z.strictObject({
  roles: z.array(role),
  problems: z.array(z.strictObject({ path: z.string(), message: z.string() })).describe("files that are no roles, and why"),
});
