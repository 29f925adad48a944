// Schemas of agents, models, roles, skills and the configuration. Their types are inferred from here.
import { z } from "zod";
import { trialCheckNames } from "../api/agents.ts";
import { policyNames } from "../api/policy.ts";
import { keyPresets, notifyModes } from "../api/settings.ts";
import { hookNames } from "../hooks/hook-event.ts";
import { turnSettingSchemas } from "../api/turn-options.ts";
import * as is from "./fields.ts";
import { count, fields, nullableText, texts, time } from "./fields.ts";

const readonlyTexts = texts.readonly();
const problems = z.array(fields({ path: z.string(), message: z.string() }));

// --- agents ---------------------------------------------------------------------------------------------

const agentCredential = fields({
  vendor: z.string(),
  kind: z.enum(["key", "sign-in", "none"]).describe("a CLI's own sign-in is used if there is no key"),
  source: nullableText.describe("a variable, a config key or a file; never a value"),
  note: nullableText.describe("a remark, such as the expiry"),
});
export type AgentCredential = z.output<typeof agentCredential>;

const agentCapabilities = fields({
  resume: z.boolean().describe("continues its own session; without it, it gets the conversation so far"),
  fork: z.boolean(),
  efforts: texts.describe("empty if it takes no effort"),
  role: z.enum(["own", "prompt"]).describe("`own`: by an option of its own; `prompt`: at the start of the prompt"),
});

const trialSummary = fields({ at: time, works: z.boolean(), reason: nullableText });
export type TrialSummary = z.output<typeof trialSummary>;

export const agentInfo = fields({
  name: z.string(),
  kind: z
    .enum(["native", "cli", "configured", "preset"])
    .describe("`configured`: added by the configuration; `preset`: known by name, and listed only if its program is found"),
  installed: z.boolean().describe("false also for a program in a place that tools or other users can write"),
  path: nullableText.describe("its program, also if it is found but not used; null for the native agent and for a missing program"),
  version: nullableText,
  vendors: texts.describe("vendors whose models it uses"),
  credentials: z.array(agentCredential).describe("the credential of a turn, for each vendor; one of them is enough"),
  can: agentCapabilities,
  tried: trialSummary.nullable().describe("the latest result of `doctor --agents` for this program"),
  testedVersion: nullableText.describe("of a preset: the version that skein's tests run; null for one that was never run"),
  signIn: nullableText.describe("how a user signs in to it; null if it has no sign-in of its own"),
  missing: nullableText.describe("why it can't take a turn"),
  hint: nullableText,
});
export type AgentInfo = z.output<typeof agentInfo>;

const trialCheck = fields({
  name: z.enum(trialCheckNames),
  outcome: z
    .enum(["ok", "failed", "none", "untried"])
    .describe("`none`: the agent does not claim it; `untried`: skipped after an earlier failure"),
  detail: nullableText.describe("evidence of a failure"),
  durationMs: count,
}).meta({ id: "Trial check" });
export type TrialCheck = z.output<typeof trialCheck>;

const agentTrial = fields({
  agent: z.string(),
  path: z.string(),
  version: nullableText,
  works: z.boolean().describe("also true without `resume` and `fork`: it then gets the conversation so far"),
  reason: nullableText.describe("why it does not work"),
  checks: z.array(trialCheck).describe("always in the same order"),
  durationMs: count,
}).meta({ id: "Agent trial" });
export type AgentTrial = z.output<typeof agentTrial>;

export const agentsReport = fields({
  ok: z.boolean().describe("false if an installed agent is broken"),
  agents: z.array(agentTrial),
  notInstalled: z.array(
    fields({ agent: z.string(), hint: z.string(), refused: nullableText.describe("the program that is found but not used, and why") }),
  ),
});
export type AgentsReport = z.output<typeof agentsReport>;

// --- roles and skills -----------------------------------------------------------------------------------

const roleFields = {
  name: z.string(),
  description: z.string().describe("one line"),
  prompt: z.string().describe("added to the system prompt"),
  capabilities: readonlyTexts,
  reads: readonlyTexts.describe("in a team: paths to read first; each starts with a `$SKEIN_` variable"),
  writes: readonlyTexts.describe("in a team: paths of its results"),
  agent: nullableText.describe("the agent if the turn names none"),
  model: nullableText,
  tools: readonlyTexts.nullable().describe("the only tools it may have; null: those of the turn"),
  policy: z.enum(policyNames).nullable().describe("the widest policy it may have; null: that of the turn"),
  net: z.enum(["on", "off"]).nullable(),
  timeoutMs: count,
  idleMs: count.nullable(),
  maxMemoryMb: count,
  origin: z.enum(["built-in", "user", "project"]),
  path: nullableText.describe("its file; null if it is built in"),
  specialises: nullableText.describe("the file of the role that it replaces, or `built-in`"),
  notes: readonlyTexts.describe("inferred and ignored parts of its file"),
  ignored: readonlyTexts.describe("requests of an untrusted project that are not granted"),
};
export const role = fields(roleFields);
export type Role = z.output<typeof role>;

const roleProblems = problems.describe("files that are not roles, and the reason");
export const roleList = fields({ roles: z.array(role), problems: roleProblems });
export type RoleList = z.output<typeof roleList>;

/** A role as the command line prints it. */
export const printedRole = fields({ ...roleFields, promptTokens: count.describe("an estimate") }).meta({ id: "Role" });
export const printedRoles = fields({ roles: z.array(printedRole), problems: roleProblems });

const skillInfo = fields({
  name: z.string(),
  description: z.string(),
  path: z.string(),
  scope: z.enum(["project", "user"]),
  trusted: z.boolean(),
  hidden: z.boolean().optional().describe("for users only: the model's catalog leaves it out"),
});
export type SkillInfo = z.output<typeof skillInfo>;

export const skillList = fields({ skills: z.array(skillInfo), problems });
export type SkillList = z.output<typeof skillList>;

// --- models ---------------------------------------------------------------------------------------------

export const modelInfo = fields({
  name: z.string(),
  vendor: z.string(),
  ready: z.boolean().describe("whether there is a key or a server for it"),
  isDefault: z.boolean(),
  recommended: z.boolean().describe("the newest model of its line"),
  aliases: z.array(z.string()).describe("short names that mean this model here, such as `sonnet`"),
  contextWindow: count.nullable(),
  inputPrice: z.number().nullable().describe("dollars for a million tokens"),
  outputPrice: z.number().nullable(),
});
export type ModelInfo = z.output<typeof modelInfo>;

export const modelSummary = fields({
  name: z.string(),
  ready: z.boolean().describe("whether there is a key or a server for it"),
  contextWindow: count.nullable(),
});
export type ModelSummary = z.output<typeof modelSummary>;

/** An agent's own credential for a vendor. */
const agentAuth = fields({ agent: z.string(), kind: z.enum(["key", "sign-in"]), source: z.string(), note: z.string() });
export type AgentAuth = z.output<typeof agentAuth>;

export const vendorAuth = fields({
  vendor: z.string(),
  ready: z.boolean(),
  source: nullableText.describe("the variable or config key; never its value"),
  baseUrl: z.string(),
  keyVariable: nullableText.describe("the variable for its key; null if it needs none"),
  keyUrl: nullableText.describe("the page that issues keys, or explains a server on this machine"),
  hint: z.string(),
  agents: z.array(agentAuth).optional().describe("agents with their own credential for this vendor"),
});
export type VendorAuth = z.output<typeof vendorAuth>;

// --- configuration --------------------------------------------------------------------------------------

/** The resolved configuration: times in milliseconds, paths absolute. Null: the front end decides. */
export const settings = fields({
  model: nullableText,
  agent: z.string(),
  ...turnSettingSchemas({ z, is }),
  askTimeoutMs: count,
  purgeAfterMs: count.nullable(),
  retentionMs: count.nullable(),
  keys: z
    .union([z.enum(keyPresets), z.record(z.string(), z.string()).readonly()])
    .describe("keys of the screen: a preset, or keys and their commands"),
  notify: z.enum(notifyModes),
  screenReader: z.boolean(),
});
export type Settings = z.output<typeof settings>;

export const configEntry = fields({
  key: z.string(),
  value: z.unknown().describe("times in ms, absolute paths; of a secret only whether it is set"),
  written: z.unknown().optional().describe('the text in the file, if it differs: "2h"'),
  origin: z.string(),
  description: z.string(),
});
export type ConfigEntry = z.output<typeof configEntry>;

export const configPaths = fields({
  user: z.string(),
  project: z.string(),
  data: z.string(),
  state: z.string(),
  cache: z.string(),
  config: z.string(),
});

export const mcpServerInfo = fields({
  name: z.string(),
  state: z.enum(["ready", "disabled", "untrusted", "invalid"]).describe("`untrusted`: of a project that is not trusted"),
  kind: z.enum(["stdio", "http"]).nullable().describe("null for an invalid entry"),
  target: z.string().describe("the command line, or the URL without a login"),
  variables: texts.describe("names of its variables"),
  headerNames: texts,
  otherAgents: z.boolean().describe("other agents than native get it too"),
  origin: z.string().describe("the file that configures it"),
  problem: nullableText.describe("why it can't be used"),
});
export type McpServerInfo = z.output<typeof mcpServerInfo>;

export const mcpTrial = fields({
  name: z.string(),
  text: z.string().describe("the answer of the server, or the reason of the failure"),
  isError: z.boolean(),
  images: count.describe("number of images in the answer"),
  durationMs: count,
});
export type McpTrial = z.output<typeof mcpTrial>;

export const trustState = fields({
  directory: z.string(),
  trusted: z.boolean(),
  files: texts.describe("files that could widen permissions, relative to the directory"),
  reason: z.string().optional(),
});
export type TrustState = z.output<typeof trustState>;

export const hookTest = fields({
  hook: z.enum(hookNames),
  outcome: z.enum(["ok", "failed", "not-configured"]),
  problem: nullableText.describe("how it failed"),
  durationMs: count,
});
export type HookTest = z.output<typeof hookTest>;

export const fleetSetup = fields({
  database: z.string().describe("host and name, without user and password"),
  steps: z.array(z.string()).describe("what was added; empty if nothing was missing"),
});
export type FleetSetup = z.output<typeof fleetSetup>;

const doctorCheck = fields({
  name: z.string(),
  ok: z.boolean(),
  optional: z.boolean().describe("a failure only matters for some uses"),
  detail: z.string(),
  hint: z.string().optional(),
});
export type DoctorCheck = z.output<typeof doctorCheck>;

export const doctorReport = fields({ checks: z.array(doctorCheck), ok: z.boolean() });
export type DoctorReport = z.output<typeof doctorReport>;

// --- limits of vendors ----------------------------------------------------------------------------------

export const limitWindow = fields({
  name: z.string().describe("`requests`, `tokens`, `5h`, `7d`, ...; `limit` if only its end is known"),
  used: z.number().nullable().describe("used part, from 0 to 1; null if unknown"),
  limit: count.nullable(),
  remaining: count.nullable(),
  resetAt: time.nullable().describe("the end of the window; null if unknown"),
  isUsedUp: z.boolean().describe("the vendor refused requests until the end of the window"),
}).meta({ id: "Limit window" });

export const knownLimit = fields({
  source: z.string().describe("the vendor, or the agent whose turn ended at a limit"),
  credential: nullableText.describe("the first 8 digits of the key's SHA-256 hash; null for an agent's turn"),
  windows: z.array(limitWindow),
  seenAt: time,
}).meta({ id: "Known limit" });
export type KnownLimit = z.output<typeof knownLimit>;
