// Methods on agents, models, roles, the configuration and the store.
import { z } from "zod";
import { hookNames } from "../../hooks/hook-event.ts";
import * as is from "../fields.ts";
import { health, usageEntry, verifyReport } from "../results.ts";
import {
  agentInfo,
  agentsReport,
  configEntry,
  configPaths,
  doctorReport,
  fleetSetup,
  hookTest,
  knownLimit,
  mcpServerInfo,
  mcpTrial,
  modelInfo,
  modelSummary,
  role,
  roleList,
  settings,
  skillList,
  trustState,
  vendorAuth,
} from "../setup.ts";
import { usagePoint, usageStep } from "../views/usage-views.ts";
import { inDirectory, nothing, optionalFlag, type Method } from "./method.ts";

export const setupMethods = {
  "agents.list": { params: {}, result: z.array(agentInfo), summary: "Lists the agents that can take a turn here." },
  "models.list": { params: {}, result: z.array(modelInfo), summary: "Lists the known models, and whether they can be used." },
  "models.show": {
    params: { model: is.name.nullable() },
    result: modelSummary.nullable(),
    summary: "Returns one model, much faster than the list. Null is the default model. The result is null for an unknown name.",
  },
  "auth.status": { params: {}, result: z.array(vendorAuth), summary: "Returns the source of each vendor's key, never the key." },
  "skills.list": {
    params: inDirectory,
    result: skillList,
    summary: "Lists the skills of a directory, and files that are not valid skills.",
  },
  "roles.list": {
    params: inDirectory,
    result: roleList,
    summary: "Lists the roles for a turn in a directory, and files that are not valid roles.",
  },
  "roles.find": {
    params: { name: is.name, ...inDirectory },
    result: role,
    summary: "Finds a role by its name. The error for an unknown name suggests the nearest one.",
  },
  "config.show": {
    params: {},
    result: z.array(configEntry),
    summary: "Returns every config key, its value and its origin. For a secret, it returns only whether the key is set.",
  },
  "config.values": {
    params: {},
    result: settings,
    summary: "Returns the configured values by their keys of [CONFIG.md](CONFIG.md), times in milliseconds.",
  },
  "config.set": {
    params: { key: is.name, value: is.text, scope: z.enum(["user", "project"]).default("user") },
    result: is.fields({ path: z.string() }),
    summary: "Changes a config file and preserves its comments.",
  },
  "config.paths": { params: {}, result: configPaths, summary: "Returns skein's directories and files." },
  "config.schema": { params: {}, result: z.record(z.string(), z.unknown()), summary: "Returns the JSON schema of a config file." },
  "mcp.list": {
    params: {},
    result: z.array(mcpServerInfo),
    summary: "Lists the MCP servers of the native agent, also those that can't be used. Values of variables and headers are not in it.",
  },
  "mcp.set": {
    params: {
      name: is.name,
      server: z.record(z.string(), z.unknown()).nullable(),
      scope: z.enum(["user", "project"]).default("user"),
    },
    result: is.fields({ path: z.string() }),
    summary: "Writes an MCP server to a config file, in the form of the key `mcp_servers`. Null removes it.",
  },
  "mcp.try": {
    params: { name: is.name, tool: is.nameOrNull, input: z.record(z.string(), z.unknown()).default({}), ...inDirectory },
    result: mcpTrial,
    summary: "Starts an MCP server in the sandbox and calls one of its tools; without `tool`, it lists them.",
  },
  "mcp.startLogin": {
    params: { name: is.name, redirectUrl: is.name },
    result: is.fields({ url: z.string() }),
    summary: "Begins a sign-in to an MCP server with a URL. The user opens the address; the server then calls `redirect_url` with a code.",
  },
  "mcp.finishLogin": {
    params: { name: is.name, code: is.text, state: is.text },
    result: nothing,
    summary: "Exchanges the code for tokens, which skein stores in its data directory.",
  },
  "mcp.logout": {
    params: { name: is.name },
    result: is.fields({ wasSignedIn: z.boolean() }),
    summary: "Deletes the tokens of an MCP server from this machine.",
  },
  "trust.show": { params: inDirectory, result: trustState, summary: "Returns whether the project's own files may widen permissions." },
  "trust.grant": { params: inDirectory, result: trustState, summary: "Trusts the project's files." },
  "trust.revoke": { params: inDirectory, result: trustState, summary: "Withdraws the trust." },
  "usage.report": {
    params: { by: z.enum(["day", "agent", "model", "project"]).default("day"), project: is.pathOrNull },
    result: z.array(usageEntry),
    summary: "Sums usage and cost of all turns.",
  },
  "usage.series": {
    params: {
      by: z.enum(["agent", "model", "project"]).default("agent"),
      step: usageStep.default("day"),
      since: is.time.nullable().prefault(null),
      zone: is.line(100).refine(isTimeZone, "must be a time zone such as Europe/Berlin").nullable().default(null),
      project: is.pathOrNull,
    },
    result: z.array(usagePoint),
    summary:
      "Sums usage and cost of turns over time, the oldest step first. A turn counts where it started. `zone` decides where a day begins; null is the zone of the machine.",
  },
  "limits.list": {
    params: {},
    result: z.array(knownLimit),
    summary: "Lists what is known of vendors' limits: the use and the end of each window, and agents whose turns ended at a limit.",
  },
  "store.verify": {
    params: { repair: optionalFlag },
    result: verifyReport,
    summary: "Checks all stored data. With `repair`, it first repairs damage if that is possible.",
  },
  "hooks.test": {
    params: { hook: z.enum(hookNames).nullable().default(null) },
    result: z.array(hookTest),
    summary: "Runs the user's hooks, or one of them, once with a sample record.",
  },
  "fleet.setup": {
    params: {},
    result: fleetSetup,
    summary: "Brings the tables of the fleet's database to this version. It changes nothing if they are.",
  },
  "doctor.check": { params: {}, result: doctorReport, summary: "Checks which parts of skein work on this machine." },
  "doctor.tryAgents": {
    params: {},
    result: agentsReport,
    summary: "Tries every installed agent against a scripted model. It takes minutes and can be cancelled.",
  },
  "health.check": {
    params: {},
    result: health,
    summary: "Returns the state of this process: version, start time and number of running turns.",
  },
} satisfies Record<string, Method>;

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}
