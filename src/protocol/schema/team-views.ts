// Schemas of teams as the Api returns them, as `team` commands print them, and of their mail.
import { z } from "zod";
import { messageKinds, priorities } from "../team/mail.ts";
import { strategies, workspaceKinds } from "../team/team.ts";
import { count, fields, nullableText, texts, time } from "./fields.ts";
import { fileChange, teamRecord } from "./team.ts";
import { costFields, session, spent, status, turnError, turnState, usage } from "./tree.ts";

export const teamState = z.enum(["planning", "running", "paused", "interrupted", "completed", "failed"]);
export type TeamState = z.output<typeof teamState>;
const mergeState = z.enum(["nothing", "open", "done"]).describe("whether its work is in the project; `nothing`: there is none");
export type MergeState = z.output<typeof mergeState>;
const isKept = z.boolean().describe("false if its directory was removed: it can't be resumed or merged");
const memberCounts = fields({ total: count, running: count, completed: count, failed: count });
const run = fields({
  state: turnState,
  pid: count.nullable(),
  startedAt: time,
  endedAt: time.nullable(),
  status: status.nullable(),
  error: turnError.nullable(),
}).describe("its latest turn");

// --- results of the Api ---------------------------------------------------------------------------------

const teamWork = { state: teamState, objective: z.string(), strategy: z.enum(strategies) };
const teamFigures = { phases: count, members: memberCounts, messages: count };
const teamTimes = { startedAt: time.describe("of its latest turn"), endedAt: time.nullable(), merge: mergeState, isKept };

export const teamInfo = fields({ session, ...teamWork, ...teamFigures, spent, ...teamTimes });
export type TeamInfo = z.output<typeof teamInfo>;

/** Usage of a member and its sub-sessions. Times are null before it starts and while it runs. */
const memberStats = fields({
  id: z.string(),
  spent,
  steps: count,
  startedAt: time.nullable(),
  endedAt: time.nullable(),
  asks: z.array(fields({ id: z.string(), question: z.string() })),
});
export type MemberStats = z.output<typeof memberStats>;

export const teamView = fields({
  session,
  state: teamState,
  team: teamRecord,
  run,
  spent: spent.describe("of all its turns and sub-sessions"),
  members: z.array(memberStats),
  merge: mergeState,
  isKept,
});
export type TeamView = z.output<typeof teamView>;

const diffFields = {
  session: z.string(),
  base: z.string().describe("the commit that its work started from"),
  work: z.string().describe("the commit of its work"),
  conflicts: texts.describe("paths; with any of them nothing is merged"),
  changes: z.array(fileChange),
  guarded: texts.describe("changed files that the user's git runs or obeys; with any of them nothing is merged"),
  patch: z.string(),
};
/** The changes that a merge into the project would bring now. */
export const teamDiff = fields(diffFields);
export type TeamDiff = z.output<typeof teamDiff>;

export const teamMessageResult = fields({
  id: z.string().describe("of the message"),
  reaches: texts.describe("ids of members"),
  misses: z.array(fields({ to: z.string(), reason: z.string() })),
  when: z.enum(["now", "resumed"]).describe("`resumed`: the team is idle and reads it when it is resumed"),
});
export type TeamMessageResult = z.output<typeof teamMessageResult>;

export const teamAddResult = fields({
  key: z.string(),
  when: z.enum(["next", "resumed"]).describe("`next`: after the phases that are planned"),
});
export type TeamAddResult = z.output<typeof teamAddResult>;

export const teamCleanResult = fields({
  dryRun: z.boolean(),
  teams: z.array(
    fields({
      id: z.string(),
      name: nullableText,
      directory: z.string(),
      isPurged: z.boolean().describe("its session was purged; the id may be only the end of one"),
    }),
  ),
  skipped: z.array(fields({ id: z.string(), name: nullableText, reason: z.string() })),
  problems: texts,
});
export type TeamCleanResult = z.output<typeof teamCleanResult>;

// --- documents of the command line ----------------------------------------------------------------------

const aboutTeam = { sessionId: z.string(), name: nullableText, project: z.string(), ...teamWork };

export const printedTeam = fields({ ...aboutTeam, ...teamFigures, usage, ...costFields, ...teamTimes });
export type PrintedTeam = z.output<typeof printedTeam>;
export type TeamJson = z.input<typeof printedTeam>;

/** A message in an inbox, and a line of the log of all mail. */
export const mailMessage = fields({
  id: z.string().describe("of the message"),
  from: z.string().describe("a member's id, `person` or `skein`"),
  to: texts.describe("the addresses of the sender"),
  sessionId: z.string().describe("of the team"),
  timestamp: z.string().describe("ISO 8601, UTC, milliseconds"),
  type: z.enum(messageKinds),
  subject: z.string(),
  body: fields({ content: z.string(), attachments: texts }),
  metadata: z.strictObject({
    priority: z.enum(priorities),
    requires_response: z.boolean(),
    correlation_id: nullableText.describe("the id of the message that it answers"),
  }),
  delivered: texts.describe("ids of the members that got it"),
  undelivered: z.array(fields({ to: z.string(), reason: z.string() })),
}).meta({ id: "Mail message" });
export type MailMessage = z.output<typeof mailMessage>;
export type MailMessageJson = z.input<typeof mailMessage>;

const printedMember = fields({
  id: z.string().describe("a name that programs must not parse"),
  key: z.string().describe("its name in the plan"),
  role: z.string(),
  agent: nullableText.describe("null: the team's agent"),
  model: nullableText,
  task: z.string(),
  dependsOn: texts,
  state: z.enum(["waiting", "running", "completed", "failed"]),
  tries: count,
  sessionId: z.string(),
  workspace: fields({ kind: z.enum(workspaceKinds), directory: z.string(), branch: nullableText }),
  last: z.string().describe("its last report, or how it ended"),
  artifacts: z.array(fields({ path: z.string(), description: z.string() })),
  ended: fields({
    status,
    error: nullableText,
    unmet: texts.describe("validation checks that failed"),
    commit: nullableText,
    answer: z.string(),
  }).nullable(),
  asks: z.array(fields({ id: z.string(), question: z.string() })),
  steps: count,
  usage,
  ...costFields,
  startedAt: time.nullable(),
  endedAt: time.nullable(),
}).meta({ id: "Team member" });
export type PrintedMember = z.output<typeof printedMember>;

export const teamStatus = fields({
  ...aboutTeam,
  limits: fields({ maxAgents: count, maxPerRole: count, maxMemoryMb: count.nullable() }),
  directory: z.string(),
  isKept,
  run,
  phases: z.array(
    fields({
      number: count,
      name: z.string(),
      goal: z.string(),
      isOver: z.boolean(),
      isAsked: z.boolean().describe("requested besides the plan"),
      commit: nullableText.describe("all work up to here, joined"),
      conflicts: z.array(fields({ agent: z.string(), paths: texts })),
      summary: nullableText,
      members: z.array(printedMember),
    }),
  ),
  messageCount: count,
  messages: z.array(mailMessage).describe("the latest; all with --messages"),
  refused: z.array(fields({ id: z.string(), from: z.string(), at: time, file: z.string(), count, reason: z.string() })),
  usage,
  ...costFields,
  merge: mergeState,
});
export type TeamStatus = z.output<typeof teamStatus>;
export type TeamStatusJson = z.input<typeof teamStatus>;

export const teamMerge = fields({ ...diffFields, merged: z.boolean() });

export const mailPosted = fields({ id: z.string().describe("of the message or report") });

export const mailList = fields({
  agent: z.string().describe("the member that asks"),
  members: z.array(
    z.object({ id: z.string(), key: z.string(), role: z.string(), agent: z.string().optional(), state: z.string().optional() }),
  ),
  messages: z.array(
    fields({
      id: z.string(),
      from: z.string(),
      type: z.enum(messageKinds),
      priority: z.enum(priorities),
      subject: z.string(),
      timestamp: z.string(),
      isRead: z.boolean(),
    }),
  ),
});
