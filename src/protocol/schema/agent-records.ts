// The schemas of what `agents` and `doctor --agents` print as JSON. Fields are only ever added.
import { z } from "zod";
import { trialCheckNames } from "../api/agents.ts";

const time = z.iso.datetime({ precision: 3 }).describe("ISO 8601, UTC, milliseconds");
const count = z.number().int().nonnegative();

const credential = z.strictObject({
  vendor: z.string(),
  kind: z.enum(["key", "sign-in", "none"]).describe("a sign-in of its own is used where there is no key"),
  source: z.string().nullable().describe("a variable, a key of the config or a file; never a value"),
  note: z.string().nullable().describe("how long it lasts, say"),
});

export const agent = z.strictObject({
  name: z.string(),
  kind: z.enum(["native", "cli", "configured"]),
  installed: z.boolean(),
  path: z.string().nullable().describe("of its program"),
  version: z.string().nullable(),
  vendors: z.array(z.string()).describe("whose models it asks"),
  credentials: z
    .array(credential)
    .describe("which a turn would use for each vendor: vendor, kind (`key`, `sign-in` or `none`), source and note; never a value"),
  can: z.strictObject({
    resume: z.boolean().describe("goes on in a session of its own"),
    fork: z.boolean(),
    efforts: z.array(z.string()),
    role: z.enum(["own", "prompt"]).describe("by a way of its own, or at the beginning of the prompt"),
  }),
  tried: z
    .strictObject({ at: time, works: z.boolean(), reason: z.string().nullable() })
    .nullable()
    .describe("what `doctor --agents` found out about this very program"),
  missing: z.string().nullable().describe("what stands in the way of a turn"),
  hint: z.string().nullable(),
});

export const contractCheck = z.strictObject({
  name: z.enum(trialCheckNames),
  outcome: z
    .enum(["ok", "failed", "none", "untried"])
    .describe("`none` is what the agent does not claim; `untried` what could not be tried after an earlier failure"),
  detail: z.string().nullable().describe("what was seen, for one that failed"),
  duration_ms: count,
});

export const agentTrial = z.strictObject({
  agent: z.string(),
  path: z.string(),
  version: z.string().nullable(),
  works: z.boolean().describe("also without `resume` and `fork`: it is told the earlier conversation instead"),
  reason: z.string().nullable().describe("why it does not"),
  checks: z.array(contractCheck),
  duration_ms: count,
});

export const agentsReport = z.strictObject({
  ok: z.boolean().describe("false when an installed agent is broken"),
  agents: z.array(agentTrial),
  not_installed: z.array(z.strictObject({ agent: z.string(), hint: z.string() })),
});
