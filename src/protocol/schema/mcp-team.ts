// Schemas of the inputs and results of `skein mcp --toolset team` tools.
import { z } from "zod";
import { messageKinds } from "../team/mail.ts";
import { strategies } from "../team/team.ts";
import { line } from "./fields.ts";
import { sessionId, text, turnOutput } from "./mcp.ts";

const suffix = line(40).optional();

export const teamErrorCodes = [
  "SESSION_NOT_FOUND",
  "AGENT_NOT_FOUND",
  "RESOURCE_LIMIT_EXCEEDED",
  "INVALID_ROLE",
  "DEPENDENCY_NOT_MET",
  "SPAWN_FAILED",
] as const;
export type TeamErrorCode = (typeof teamErrorCodes)[number];

const error = z.looseObject({ code: z.enum(teamErrorCodes), message: z.string(), details: z.looseObject({}) }).optional();

/** The state of the turn, or an error with a code instead. */
const teamTurnOutput = turnOutput.partial().extend({ error: z.union([z.string(), error]).optional() });

/** Input and output of the tools of `--toolset team`, by name. */
export const teamToolSchemas = {
  orchestrate: {
    input: z.strictObject({
      objective: text,
      agents: z
        .array(z.strictObject({ role: line(100), task: text, instance_suffix: suffix, agent: line(1_000).optional() }))
        .min(1)
        .max(500)
        .optional()
        .describe("without it a planner decides"),
      strategy: z.enum(strategies).optional(),
      max_agents_per_role: z.number().int().min(1).max(1_000).optional(),
      session_id: sessionId.optional(),
    }),
    output: teamTurnOutput,
  },
  race: {
    input: z.strictObject({
      task: text,
      agents: z.array(line(1_000)).min(1).max(20).describe("agent[:model]"),
      session_id: sessionId,
      check: text.optional().describe("a command that must exit with 0"),
      from_session: sessionId.optional().describe("start from its end"),
      adopt_first_passing: z.boolean().default(false),
    }),
    output: teamTurnOutput.extend({ race: z.looseObject({}).optional() }),
  },
  spawn_agent: {
    input: z.strictObject({
      role: line(100),
      task: text,
      session_id: sessionId,
      instance_suffix: suffix,
      dependencies: z.array(line(200)).max(100).default([]).describe("members that must have completed"),
      context: text.optional().describe("background for the member"),
      agent: line(1_000).optional(),
      template_override: z
        .strictObject({
          prompt_template: text.optional(),
          timeout_seconds: z.number().int().min(1).max(86_400).optional(),
          max_memory_mb: z.number().int().min(64).max(1_000_000).optional(),
        })
        .optional(),
    }),
    output: teamTurnOutput.extend({ agent_key: z.string().optional() }),
  },
  agent_message: {
    input: z.strictObject({
      from_agent: line(200).describe("orchestrator, or a member on whose behalf you write"),
      to_agent: line(200).describe("a member's id or key, a role, or all"),
      message: text,
      type: z.enum([...messageKinds, "notification", "query"]).default("request"),
      session_id: sessionId.optional(),
    }),
    output: z.looseObject({ message_id: z.string().optional(), reaches: z.array(z.string()).optional(), error }),
  },
  session_status: {
    input: z.strictObject({
      session_id: sessionId,
      include_agents: z.boolean().default(true),
      include_messages: z.boolean().default(false),
    }),
    output: z.looseObject({ session_id: sessionId.optional(), state: z.string().optional(), error }),
  },
  list_roles: {
    input: z.strictObject({}),
    output: z.looseObject({ roles: z.array(z.looseObject({ name: z.string(), description: z.string() })) }),
  },
};
