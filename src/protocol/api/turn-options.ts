// Every option of a turn, once: its type, its default values and its check for parameters from other processes.
// A new option is one field of TurnOptions and one entry of `turnOptions`. A flag for it is an entry of
// src/cli/commands/run/run-flags.ts. A config key is an entry of `turnSettingSchemas` here and one of src/config/keys.ts.
// The checks get zod as a parameter: this file is loaded before the first model request and must not import it.
import type * as fields from "../schema/fields.ts";
import type { raceTask } from "../schema/race/race.ts";
import type { groupTask, teamTask } from "../schema/team.ts";
import { checkOptions, type CheckOptions } from "../loops/check-options.ts";
import type { GroupTask } from "../team/group.ts";
import type { RaceTask } from "../race/race.ts";
import type { TeamTask } from "../team/team.ts";
import type { Handle } from "../tree/handle.ts";
import type { ImageData } from "../tree/node.ts";
import { snakeCase } from "../json/field-names.ts";
import { maxSuccessors, parseAtLimit, type AtLimit } from "../limits/at-limit.ts";
import { defaultPolicy, policyNames, sandboxModes, type Policy, type PolicyName, type ToolLevel } from "./policy.ts";
import { mcpServerOptions, type McpServerOptions } from "../mcp/server-option.ts";
import { roleFields, type RoleRequest } from "./role.ts";

export type TurnOptions = AgentOptions &
  TaskOptions &
  PromptOptions &
  ToolOptions &
  McpServerOptions &
  LimitOptions &
  CheckOptions &
  QuestionOptions &
  OutputOptions;

/** Options that choose the agent and its model. */
type AgentOptions = {
  /** An agent, a vendor, or a model that only one agent uses. Null: the session's agent. The session keeps the choice. */
  agent: string | null;
  /** `vendor/id[:effort]`; null: the session's model. */
  model: string | null;
  /** Effort for an external agent that runs without a model name; otherwise the effort is part of that name. */
  effort?: string;
  /** Extra arguments for an external agent's command line. Arguments that loosen the sandbox are refused. */
  agentArgs: string[];
  /** Narrows the other options. Supplies agent and model if the turn names none. */
  role?: RoleRequest;
};

/** Options of the task, besides the prompt. */
type TaskOptions = {
  images: ImageData[];
  /** True leaves the earlier conversation out of the request. */
  fresh: boolean;
  /** Only summarises the conversation so far, for the native agent. The prompt is recorded and gets no other answer. */
  compact?: boolean;
  /** A shell command instead of a prompt: the agent `shell` runs it without a model. */
  command: string | null;
  /** The command copies a file, a web page or a database result. This names that source. Up to `sentBytes` of it are sent whole. */
  copies?: Pick<Handle, "source" | "identifier"> & { sentBytes?: number };
  /** A task for the agent `group` instead of a prompt. */
  group: GroupTask | null;
  /** A task for the agent `team`; each of its members works in its own workspace. */
  team: TeamTask | null;
  /** A task for the agent `race`; each of its agents works in its own worktree. */
  race: RaceTask | null;
};

/** Options that make up the system prompt. */
export type PromptOptions = {
  /** Replaces the system prompt. */
  system: string | null;
  /** Added to the system prompt. */
  appendSystem: string | null;
  /** Whether AGENTS.md or CLAUDE.md is part of the system prompt. */
  contextFiles: boolean;
};

/** Options of the tools and their rights. */
type ToolOptions = {
  toolLevel: ToolLevel;
  /** Exactly these tools, instead of those of the level. */
  tools: string[] | null;
  /** Whether the turn may start sub-sessions. */
  spawn: boolean;
  policy: Policy;
  /** Whether its tools may start skein again; only a user can allow it. */
  nesting: boolean;
};

type LimitOptions = {
  limits: Limits;
  /** Longest duration of the turn; null: no limit. */
  timeoutMs: number | null;
  /** Longest time without any output; null: no limit. */
  idleMs: number | null;
  /** The choice if the turn would end as `rate-limited` or `overloaded`. */
  atLimit: AtLimit;
  /** Longest wait for the end of a vendor's limit; null: no limit. */
  waitAtMostMs: number | null;
  /** Whether the next hub continues the turn if its hub was killed. */
  autoResume: boolean;
};

/** Tokens, money and sub-sessions count for the turn and all its sub-sessions. So do steps if `treeSteps` is set. */
export type Limits = {
  maxSteps: number;
  maxTokens: number | null;
  maxBudgetUsd: number | null;
  maxChildren: number | null;
  treeSteps: number | null;
};

type QuestionOptions = {
  /** `wait`: the turn waits for an answer (null: without limit). `later`: the turn ends. `none`: it can't ask. */
  asks: { how: "wait"; limitMs: number | null } | { how: "later" } | { how: "none" };
  /** Whether messages can be sent to the turn while it runs. */
  steerable: boolean;
};

type OutputOptions = {
  /** JSON schema that the final answer must satisfy. */
  answerSchema: Record<string, unknown> | null;
  /** Path for a copy of the finished transcript. */
  outputFile: string | null;
  /** The span of the caller (W3C Trace Context), above that of the turn. */
  traceparent?: string;
};

/** Options that the engine handles itself. An agent gets all the others, see `TurnInput`. */
export type EngineOption =
  | "agent"
  | "role"
  | "images"
  | "fresh"
  | "timeoutMs"
  | "idleMs"
  | "atLimit"
  | "waitAtMostMs"
  | "autoResume"
  | "asks"
  | "steerable"
  | "outputFile"
  | "traceparent"
  | keyof CheckOptions;

/** A change of some options; limits are changed one by one. */
export type TurnChange = Partial<Omit<TurnOptions, "limits">> & { limits?: Partial<Limits> };

/** The configuration keys that decide about a turn, with their checks. */
export function turnSettingSchemas({ z, is }: Pick<SchemaTools, "z" | "is">) {
  return {
    toolLevel: is.toolLevel,
    policy: z.enum(policyNames),
    sandbox: z.enum(sandboxModes).nullable(),
    net: z.enum(["on", "off"]),
    netHosts: z.array(z.string()).readonly(),
    allowWrite: z.array(z.string()).readonly(),
    maxSteps: is.count.nullable(),
    maxTokens: is.count.nullable(),
    maxBudgetUsd: z.number().nullable(),
    maxChildren: is.count.nullable(),
    timeoutMs: is.count.nullable(),
    idleMs: is.count.nullable(),
    atLimit: z.string(),
    waitAtMostMs: is.count.nullable(),
    contextFiles: z.boolean(),
    check: is.command.nullable(),
    checkTimeoutMs: is.count,
    autoResume: z.boolean(),
  };
}

type TurnSettingSchemas = ReturnType<typeof turnSettingSchemas>;
/** Null: the default depends on whether a user is present. */
export type TurnSettings = { [Name in keyof TurnSettingSchemas]: fields.OutputOf<TurnSettingSchemas[Name]> };

/** Limits of a turn without a user at the terminal, if nothing else is configured. */
export const headlessLimits = { maxSteps: 200, maxChildren: 200, timeoutMs: 4 * 3_600_000, idleMs: 600_000 };
const noLimits: Limits = { maxSteps: Number.MAX_SAFE_INTEGER, maxTokens: null, maxBudgetUsd: null, maxChildren: null, treeSteps: null };

export type SchemaTools = {
  z: fields.Zod;
  is: typeof fields;
  groupTask: typeof groupTask;
  teamTask: typeof teamTask;
  raceTask: typeof raceTask;
};
type Attendance = { isAttended: boolean };

export type TurnOption<Value> = {
  /** The value in a bare turn, in which everything is off. Optional fields have none. */
  bare?: Value;
  /** The value in a turn that a front end starts. Default: `bare`. */
  configured?: (settings: TurnSettings, attendance: Attendance) => Value;
  /** The key of docs/CONFIG.md that decides about it, or one key for each of its fields. */
  configKey?: string | Record<string, string>;
  /** A sub-session gets the value of its parent; without it, the bare value. */
  isInherited?: true;
  /** Checks the field of the same name in parameters from another process. */
  schema: (tools: SchemaTools) => fields.FieldSchema<Value>;
};

const turnOptions = {
  agent: { bare: null, schema: ({ is }) => is.nameOrNull },
  model: { bare: null, schema: ({ is }) => is.nameOrNull },
  effort: { isInherited: true, schema: ({ is }) => is.name.optional() },
  agentArgs: { bare: [], schema: ({ is }) => is.textList.default([]) },
  role: {
    schema: ({ z, is }) =>
      is.fields({ name: is.text.min(1), keep: z.array(z.enum(roleFields)).default([]), orText: is.falseByDefault }).optional(),
  },
  images: { bare: [], schema: ({ z, is }) => z.array(is.image).max(100).prefault([]) },
  fresh: { bare: false, schema: ({ is }) => is.falseByDefault },
  compact: { schema: ({ z }) => z.boolean().optional() },
  command: { bare: null, schema: ({ is }) => is.command.nullable().default(null) },
  copies: {
    schema: ({ is }) => is.fields({ source: is.name, identifier: is.command, sentBytes: is.count.max(1_000_000).optional() }).optional(),
  },
  group: { bare: null, schema: ({ groupTask }) => groupTask.nullable().default(null) },
  team: { bare: null, schema: ({ teamTask }) => teamTask.nullable().default(null) },
  race: { bare: null, schema: ({ raceTask }) => raceTask.nullable().default(null) },
  system: { bare: null, isInherited: true, schema: ({ is }) => is.textOrNull },
  appendSystem: { bare: null, isInherited: true, schema: ({ is }) => is.textOrNull },
  contextFiles: {
    bare: false,
    configured: ({ contextFiles }) => contextFiles,
    configKey: "context_files",
    isInherited: true,
    schema: ({ is }) => is.trueByDefault,
  },
  toolLevel: {
    bare: "minimal",
    configured: ({ toolLevel }) => toolLevel,
    configKey: "tool_level",
    schema: ({ is }) => is.toolLevel.default("orchestrator"),
  },
  tools: { bare: null, isInherited: true, schema: ({ is }) => is.textList.nullable().default(null) },
  spawn: { bare: false, configured: () => true, schema: ({ is }) => is.trueByDefault },
  policy: {
    bare: defaultPolicy,
    configured: (settings) => configuredPolicy(settings),
    configKey: { name: "policy", sandbox: "sandbox", net: "net", net_hosts: "net_hosts", allow_write: "allow_write" },
    schema: ({ is }) => is.policy.prefault({}),
  },
  nesting: { bare: false, schema: ({ is }) => is.falseByDefault },
  ...mcpServerOptions,
  limits: {
    bare: noLimits,
    configured: ({ maxSteps, maxTokens, maxBudgetUsd, maxChildren }, { isAttended }) => {
      const defaults = isAttended ? noLimits : headlessLimits;
      const steps = maxSteps ?? defaults.maxSteps;
      return { maxSteps: steps, maxTokens, maxBudgetUsd, maxChildren: maxChildren ?? defaults.maxChildren, treeSteps: null };
    },
    configKey: { max_steps: "max_steps", max_tokens: "max_tokens", max_budget_usd: "max_budget_usd", max_children: "max_children" },
    isInherited: true,
    schema: ({ z, is }) =>
      is
        .fields({
          maxSteps: z.number().int().min(1).default(headlessLimits.maxSteps),
          maxTokens: is.countOrNull.default(null),
          maxBudgetUsd: z.number().positive().nullable().default(null),
          maxChildren: z.number().int().min(0).nullable().default(headlessLimits.maxChildren),
          treeSteps: is.countOrNull.default(null),
        })
        .prefault({}),
  },
  timeoutMs: {
    bare: null,
    configured: ({ timeoutMs }, { isAttended }) => timeoutMs ?? (isAttended ? null : headlessLimits.timeoutMs),
    configKey: "timeout",
    schema: ({ is }) => is.millisecondsOrNull.default(headlessLimits.timeoutMs),
  },
  idleMs: {
    bare: null,
    configured: ({ idleMs }, { isAttended }) => idleMs ?? (isAttended ? null : headlessLimits.idleMs),
    configKey: "idle_timeout",
    isInherited: true,
    schema: ({ is }) => is.millisecondsOrNull.default(headlessLimits.idleMs),
  },
  atLimit: {
    bare: { how: "stop" },
    configured: ({ atLimit }) => parseAtLimit(atLimit),
    configKey: "at_limit",
    schema: ({ z, is }) =>
      z
        .discriminatedUnion("how", [
          is.fields({ how: z.literal("stop") }),
          is.fields({ how: z.literal("wait") }),
          is.fields({
            how: z.literal("agents"),
            agents: z
              .array(is.fields({ agent: is.name, model: is.nameOrNull }))
              .min(1)
              .max(maxSuccessors),
          }),
        ])
        .prefault({ how: "stop" }),
  },
  waitAtMostMs: {
    bare: null,
    configured: ({ waitAtMostMs }) => waitAtMostMs,
    configKey: "wait_at_most",
    schema: ({ is }) => is.millisecondsOrNull.default(null),
  },
  ...checkOptions,
  autoResume: {
    bare: false,
    configured: ({ autoResume }) => autoResume,
    configKey: "auto_resume",
    schema: ({ is }) => is.trueByDefault,
  },
  asks: {
    bare: { how: "none" },
    configured: () => ({ how: "later" }),
    isInherited: true,
    schema: ({ z, is }) =>
      z
        .discriminatedUnion("how", [
          is.fields({ how: z.literal("wait"), limitMs: is.millisecondsOrNull.default(null) }),
          is.fields({ how: z.literal("later") }),
          is.fields({ how: z.literal("none") }),
        ])
        .prefault({ how: "later" }),
  },
  steerable: { bare: false, configured: () => true, schema: ({ is }) => is.trueByDefault },
  answerSchema: { bare: null, schema: ({ is }) => is.schemaOrNull },
  outputFile: { bare: null, schema: ({ is }) => is.pathOrNull },
  traceparent: { schema: ({ z }) => z.string().max(100).optional() },
} satisfies { [Name in keyof TurnOptions]-?: TurnOption<TurnOptions[Name]> };

const entries = Object.entries(turnOptions) as [keyof TurnOptions, TurnOption<unknown>][];

/** A turn with everything off. The caller sets the options that it needs. */
export function bareTurn(session: string, policy: Policy): TurnOptions & { session: string; prompt: string | null } {
  return { ...optionsFrom(({ bare }) => structuredClone(bare)), session, prompt: null, policy };
}

/** The options of a turn that a front end starts and nobody has changed. Not attended: no user is at the terminal. */
export function configuredTurn(settings: TurnSettings, attendance: Attendance = { isAttended: false }): TurnOptions {
  return optionsFrom(({ bare, configured }) => (configured === undefined ? structuredClone(bare) : configured(settings, attendance)));
}

/** The options that a sub-session shares with its parent; the others are off. */
export function inheritedOptions(parent: TurnOptions): TurnOptions {
  return optionsFrom(({ bare, isInherited }, name) => (isInherited ? parent[name] : structuredClone(bare)));
}

export function changeTurn<Turn extends TurnOptions>(turn: Turn, change: TurnChange): Turn {
  return { ...turn, ...change, limits: { ...turn.limits, ...change.limits } };
}

/** Dotted snake_case fields of a turn, and the configuration keys that decide about them. */
export function turnConfigKeys(): Record<string, string> {
  const keys = entries.flatMap(([name, { configKey }]) => {
    if (configKey === undefined) return [];
    if (typeof configKey === "string") return [[snakeCase(name), configKey]];
    return Object.entries(configKey).map(([field, key]) => [`${snakeCase(name)}.${field}`, key]);
  });
  return Object.fromEntries(keys) as Record<string, string>;
}

/** The checks of all options. */
export function turnSchemas(tools: SchemaTools): TurnSchemas {
  return Object.fromEntries(entries.map(([name, { schema }]) => [name, schema(tools)])) as TurnSchemas;
}

type TurnSchemas = { [Name in keyof typeof turnOptions]: ReturnType<(typeof turnOptions)[Name]["schema"]> };

/** Completes a policy from its name: the name decides about write access, the settings about the other fields. */
export function configuredPolicy(settings: TurnSettings, requested: PolicyName | null = null): Policy {
  const name = requested ?? (settings.toolLevel === "readonly" ? "readonly" : settings.policy);
  const canWrite = name === "workspace" || name === "full";
  return {
    name,
    sandbox: settings.sandbox ?? (canWrite ? "auto" : "required"),
    net: name === "full" ? "on" : settings.net,
    ...(settings.netHosts.length > 0 ? { netHosts: [...settings.netHosts] } : {}),
    allowWrite: canWrite ? [...settings.allowWrite] : [],
    addDirs: [],
  };
}

/** Options without a value are left out. */
function optionsFrom(valueOf: (option: TurnOption<unknown>, name: keyof TurnOptions) => unknown): TurnOptions {
  const values = entries.map(([name, option]) => [name, valueOf(option, name)] as const);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as TurnOptions;
}
