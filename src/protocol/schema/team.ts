// Schemas of a team: its task, plans, members, mail and the events that its session stores.
import { z } from "zod";
import { turnStatuses } from "../api/error.ts";
import { messageKinds, priorities } from "../team/mail.ts";
import { strategies, defaultTeamLimits, workspaceKinds } from "../team/team.ts";
import * as is from "./fields.ts";
import { count, nullableText, texts } from "./fields.ts";

/** `file`: exists and is not empty, in the shared context or the workspace. `command`: exits with 0 in the workspace. */
const validationCheck = z.discriminatedUnion("kind", [
  is.fields({ kind: z.literal("file"), path: is.name }),
  is.fields({ kind: z.literal("command"), command: is.command }),
]);

export const memberPlan = is.fields({
  key: is.name.describe("unique in the team; other members depend on it by this name"),
  role: is.name,
  description: is.textOrNull.describe("description of the role; required for an unknown role"),
  agent: is.nameOrNull,
  model: is.nameOrNull,
  suffix: is.nameOrNull,
  task: is.text.min(1).regex(/\S/, "must not be blank"),
  mustRead: is.textList.default([]).describe("paths in the shared context or the workspace; part of its prompt"),
  validation: z.array(validationCheck).max(50).default([]),
  dependsOn: is.textList.default([]).describe("keys of members that must complete first"),
  workspace: z.enum(workspaceKinds).nullable().default(null).describe("null: the team's"),
  timeoutMs: z.number().int().min(1).optional(),
  maxMemoryMb: z.number().int().min(1).optional(),
});
export type MemberPlan = z.output<typeof memberPlan>;

export const phasePlan = is.fields({ name: is.name, goal: is.text.default(""), members: z.array(memberPlan).min(1).max(500) });
export type PhasePlan = z.output<typeof phasePlan>;

const teamLimits = is.fields({
  maxAgents: z.number().int().min(1).max(1_000).default(defaultTeamLimits.maxAgents),
  maxPerRole: z.number().int().min(1).max(1_000).default(defaultTeamLimits.maxPerRole),
  maxMemoryMb: z.number().int().min(64).nullable().default(defaultTeamLimits.maxMemoryMb),
});
export type TeamLimits = z.output<typeof teamLimits>;

/** A role and its agent; null is the session's agent. */
const roleAssignment = is.fields({ role: is.name, agent: is.nameOrNull });
export type RoleAssignment = z.output<typeof roleAssignment>;

const teamRequest = is.fields({
  objective: is.text.min(1),
  strategy: z.enum(strategies).default("adaptive"),
  /** Null: a planner plans one or two phases at a time. */
  phases: z.array(phasePlan).min(1).max(100).nullable().default(null),
  workspace: z.enum(workspaceKinds).default("worktree"),
  limits: teamLimits.prefault({}),
  /** The roles a planner may choose from; empty: any. */
  cast: z.array(roleAssignment).max(500).default([]),
  /** Null: the session's agent and model. */
  planner: is.fields({ agent: is.nameOrNull, model: is.nameOrNull }).prefault({}),
});
export type TeamRequest = z.output<typeof teamRequest>;

/** The work of a turn of the agent `team`: start, continue after an interruption or a failure, or merge the work. */
export const teamTask = z.discriminatedUnion("work", [
  is.fields({ work: z.literal("run"), wish: teamRequest }),
  is.fields({ work: z.literal("resume") }),
  is.fields({ work: z.literal("merge") }),
]);
export type TeamTask = z.output<typeof teamTask>;

/** The work of a turn of the agent `group`. */
export const groupTask = is.fields({
  objective: is.text.min(1),
  /** The format of the deliverable. */
  outputFormat: is.text,
  userInput: is.textOrNull,
  /** Paths of related files, as the participants see them. */
  context: is.textList.default([]),
  /** Names of agents and models. */
  participants: z.array(is.name).min(1).max(20),
  discussionRounds: z.number().int().min(1).max(50).default(6),
  validationRounds: z.number().int().min(0).max(20).default(2),
  /** Null: the first participant that is a model, else the project's model. */
  synthesizer: is.nameOrNull,
  /** How many participants work at the same time. */
  parallelLimit: z.number().int().min(1).max(20).default(4),
  /** Time limit of one answer; null: the limit of the turn. */
  stepTimeoutMs: is.millisecondsOrNull.default(null),
});
export type GroupTask = z.output<typeof groupTask>;

const workspace = is.fields({ kind: z.enum(workspaceKinds), directory: z.string(), branch: nullableText });

/** The id is `agent_<role>[_<suffix>]_<instance>_<8 hex>`. Code must not parse it. */
const memberFields = {
  id: z.string(),
  plan: memberPlan,
  phase: count,
  instance: count,
  session: z.string(),
  /** Null is the team's agent and model. */
  agent: nullableText,
  model: nullableText,
  workspace,
};
const member = is.fields(memberFields);
export type Member = z.output<typeof member>;

const outgoing = {
  to: texts,
  kind: z.enum(messageKinds),
  priority: z.enum(priorities),
  subject: z.string(),
  body: z.string(),
  attachments: texts,
  /** The id of the message that this one answers. */
  replyTo: nullableText,
  requiresResponse: z.boolean(),
};
const outgoingMessage = is.fields(outgoing);
export type OutgoingMessage = z.output<typeof outgoingMessage>;

/** A message that skein has moved out of an outbox. Its sender is the owner of the outbox, even if the content names another. */
const sentMessage = is.fields({
  ...outgoing,
  id: z.string(),
  from: z.string(),
  sentAt: is.time,
  delivered: texts,
  /** Members that have ended, and addresses without a member. */
  undelivered: z.array(is.fields({ to: z.string(), reason: z.string() })),
});
export type SentMessage = z.output<typeof sentMessage>;

/** A file in an outbox that was not accepted. `count` is set if the entry is for several files. */
const refusedMessage = is.fields({
  id: z.string(),
  from: z.string(),
  at: is.time,
  file: z.string(),
  reason: z.string(),
  count: count.optional(),
});
export type RefusedMessage = z.output<typeof refusedMessage>;

const statusReport = is.fields({ type: z.literal("status"), message: z.string(), progress: z.number().nullable() });
const dependencyReport = is.fields({ type: z.literal("dependency"), waitingFor: z.string(), reason: z.string() });
const completeReport = is.fields({
  type: z.literal("complete"),
  result: z.enum(["success", "failure"]),
  summary: z.string(),
  outputs: texts,
});
const artifact = { path: z.string(), description: z.string() };
const artifactReport = is.fields({ type: z.literal("artifact"), ...artifact });
const storedReport = z.discriminatedUnion("type", [statusReport, dependencyReport, completeReport]);
/** A member's report, from a tool call or from `skein report`. skein never infers a report from a member's answer. */
export type Report = z.output<typeof storedReport> | z.output<typeof artifactReport>;

export const fileChangeFields = {
  path: z.string().describe("relative to the project"),
  kind: z.enum(["added", "modified", "deleted"]),
  added: count.describe("lines; 0 for a binary file"),
  removed: count,
  binary: z.literal(true).optional(),
  big: z.literal(true).optional().describe("too big to store: only its hash is recorded, and it can't be restored"),
};
export const fileChange = is.fields(fileChangeFields).meta({ id: "File change" });
export type FileChange = z.output<typeof fileChange>;

const memberResultFields = {
  status: z.enum(turnStatuses),
  error: nullableText,
  /** The end of its last message. */
  answer: z.string(),
  /** The commit of its work; null if nothing changed or there is no repository. */
  commit: nullableText,
  unmet: texts.describe("validation checks that failed"),
  costUsd: z.number().nullable(),
  costIsPartial: z.literal(true).optional(),
};
const memberResult = is.fields(memberResultFields);
/** A result in a member's record. Stored records also contain fields of its event, which the type leaves out. */
const recordedResult = is.fields({
  ...memberResultFields,
  event: z.enum(["agent_completed", "agent_failed"]).optional(),
  agent: z.string().optional(),
  attempt: count.optional(),
  restarts: z.boolean().optional(),
}) as unknown as typeof memberResult;
export type MemberResult = z.output<typeof memberResult>;

const conflict = is.fields({ agent: z.string(), paths: texts });
export type Conflict = z.output<typeof conflict>;

const agent = z.string();
const teamEnds = [
  is.fields({ event: z.literal("session_completed"), summary: z.string() }),
  is.fields({ event: z.literal("session_failed"), reason: z.string() }),
] as const;

/** An event of a team, as a node of its session stores it. The node has the time. */
export const teamEvent = z.discriminatedUnion("event", [
  is.fields({ event: z.literal("session_created"), directory: z.string(), base: nullableText, wish: teamRequest }),
  is.fields({
    event: z.literal("phase_planned"),
    phase: count,
    plan: phasePlan,
    /** Phases that the planner expects after this one. */
    ahead: z.array(phasePlan),
    reason: z.string(),
    /** Set for a phase of members that were added while the team ran. */
    isAsked: z.literal(true).optional(),
  }),
  /** The planner had no valid plan, so the team works by this one. */
  is.fields({ event: z.literal("plan_replaced"), phases: z.array(phasePlan), reason: z.string() }),
  is.fields({ event: z.literal("agent_spawned"), member }),
  is.fields({
    event: z.literal("agent_started"),
    agent,
    attempt: count,
    given: texts,
    /** Set if the team was resumed with another agent or model for this member. */
    takenBy: is.fields({ agent: z.string(), model: nullableText }).optional(),
  }),
  is.fields({ event: z.literal("agent_reported"), agent, id: z.string(), report: storedReport }),
  is.fields({ event: z.literal("artifact_created"), agent, id: z.string(), ...artifact }),
  is.fields({ event: z.literal("message_sent"), message: sentMessage }),
  is.fields({ event: z.literal("message_refused"), refused: refusedMessage }),
  is.fields({ event: z.literal("agent_completed"), agent, attempt: count, ...memberResultFields }),
  is.fields({ event: z.literal("agent_failed"), agent, attempt: count, restarts: z.boolean(), ...memberResultFields }),
  /** The end of a phase: the joined work, and a bounded summary for later members. */
  is.fields({
    event: z.literal("checkpoint"),
    phase: count,
    name: z.string(),
    commit: nullableText,
    conflicts: z.array(conflict),
    summary: z.string(),
  }),
  ...teamEnds,
  /** The team's work is in the project's files. */
  is.fields({ event: z.literal("work_merged"), commit: z.string(), changes: z.array(fileChange) }),
]);
export type TeamEvent = z.output<typeof teamEvent>;

/** The state of a team, read from the path of its session. */
export const teamRecord = is.fields({
  id: z.string(),
  wish: teamRequest,
  directory: z.string(),
  /** The commit that the work starts from; null without a repository. */
  base: nullableText,
  phases: z.array(
    is.fields({
      plan: phasePlan,
      isAsked: z.boolean(),
      members: z.array(
        is.fields({
          ...memberFields,
          state: z.enum(["waiting", "running", "completed", "failed"]),
          attempts: count,
          /** Ids of messages that were part of the member's prompts. */
          given: texts,
          ended: recordedResult.nullable(),
          reports: z.array(is.fields({ id: z.string(), report: storedReport })),
          artifacts: z.array(is.fields({ id: z.string(), ...artifact })),
        }),
      ),
      isOver: z.boolean(),
      commit: nullableText,
      conflicts: z.array(conflict),
      summary: nullableText,
    }),
  ),
  ahead: z.array(phasePlan),
  messages: z.array(sentMessage),
  refused: z.array(refusedMessage),
  end: z.discriminatedUnion("event", teamEnds).nullable(),
  /** The commit that was merged into the project last. */
  merged: nullableText,
});
export type TeamRecord = z.output<typeof teamRecord>;
export type MemberRecord = TeamRecord["phases"][number]["members"][number];
