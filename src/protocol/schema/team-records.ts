// The schemas of what is printed of teams, and to their members of their mail. Fields are only ever added.
import { z } from "zod";
import { turnStatuses } from "../api/error.ts";
import { messageKinds, priorities } from "../team/mail.ts";
import { strategies, workspaceKinds } from "../team/team.ts";
import { usage } from "./records.ts";

const id = z.string().describe("of the message");
const time = z.iso.datetime({ precision: 3 });

export const mailPosted = z.strictObject({ id: id.describe("of the message or report, as it will be known") });

export const mailMessage = z.strictObject({
  id,
  from: z.string().describe("a member's id, `person` or `skein`"),
  to: z.array(z.string()).describe("as it was addressed"),
  session_id: z.string().describe("the team's"),
  timestamp: time,
  type: z.enum(messageKinds),
  subject: z.string(),
  body: z.strictObject({ content: z.string(), attachments: z.array(z.string()) }),
  metadata: z.strictObject({
    priority: z.enum(priorities),
    requires_response: z.boolean(),
    correlation_id: z.string().nullable().describe("the id of the message that it answers"),
  }),
  delivered: z.array(z.string()).describe("ids of the members that it was put before"),
  undelivered: z.array(z.strictObject({ to: z.string(), reason: z.string() })),
});

export const mailList = z.strictObject({
  agent: z.string().describe("who asks"),
  members: z.array(
    z.object({ id: z.string(), key: z.string(), role: z.string(), agent: z.string().optional(), state: z.string().optional() }),
  ),
  messages: z.array(
    z.strictObject({
      id,
      from: z.string(),
      type: z.enum(messageKinds),
      priority: z.enum(priorities),
      subject: z.string(),
      timestamp: time,
      is_read: z.boolean(),
    }),
  ),
});

const count = z.number().int().nonnegative();
const words = z.array(z.string());
const aboutTeam = {
  session_id: z.string(),
  name: z.string().nullable(),
  project: z.string(),
  state: z.enum(["planning", "running", "paused", "interrupted", "completed", "failed"]),
  objective: z.string(),
  strategy: z.enum(strategies),
};
const spent = { usage, cost_usd: z.number().nullable().describe("null: something has no known price") };
const merge = z.enum(["nothing", "open", "done"]).describe("whether its work is in the project; nothing: there is none");
const isKept = z.boolean().describe("false: its directory was cleaned away");

export const teamRow = z.strictObject({
  ...aboutTeam,
  phases: count,
  members: z.strictObject({ total: count, running: count, completed: count, failed: count }),
  messages: count,
  ...spent,
  started_at: time.describe("of its latest turn"),
  ended_at: time.nullable(),
  merge,
  is_kept: isKept,
});

export const teamMember = z.strictObject({
  id: z.string().describe("a name, never to be taken apart"),
  key: z.string().describe("what the plan calls it"),
  role: z.string(),
  agent: z.string().nullable().describe("null: the team's own"),
  model: z.string().nullable(),
  task: z.string(),
  depends_on: words,
  state: z.enum(["waiting", "running", "completed", "failed"]),
  tries: count,
  session_id: z.string(),
  workspace: z.strictObject({ kind: z.enum(workspaceKinds), directory: z.string(), branch: z.string().nullable() }),
  last: z.string().describe("what it said last of itself, or how it ended"),
  artifacts: z.array(z.strictObject({ path: z.string(), description: z.string() })),
  ended: z
    .strictObject({
      status: z.enum(turnStatuses),
      error: z.string().nullable(),
      unmet: words.describe("what was to hold and does not"),
      commit: z.string().nullable(),
      answer: z.string(),
    })
    .nullable(),
  asks: z.array(z.strictObject({ id: z.string(), question: z.string() })),
  steps: count,
  ...spent,
  started_at: time.nullable(),
  ended_at: time.nullable(),
});

export const teamStatus = z.strictObject({
  ...aboutTeam,
  limits: z.strictObject({ max_agents: count, max_per_role: count, max_memory_mb: count.nullable() }),
  directory: z.string(),
  is_kept: isKept,
  run: z
    .strictObject({
      state: z.enum(["running", "paused", "asking", "interrupted", "ended"]),
      pid: count.nullable(),
      started_at: time,
      ended_at: time.nullable(),
      status: z.enum(turnStatuses).nullable(),
      error: z.looseObject({ kind: z.enum(turnStatuses), message: z.string() }).nullable(),
    })
    .describe("its latest turn"),
  phases: z.array(
    z.strictObject({
      number: count,
      name: z.string(),
      goal: z.string(),
      is_over: z.boolean(),
      is_asked: z.boolean().describe("someone asked for it besides the plan"),
      commit: z.string().nullable().describe("all work up to here, joined"),
      conflicts: z.array(z.strictObject({ agent: z.string(), paths: words })),
      summary: z.string().nullable(),
      members: z.array(teamMember),
    }),
  ),
  message_count: count,
  messages: z.array(mailMessage).describe("the latest; all with --messages"),
  refused: z.array(z.strictObject({ id: z.string(), from: z.string(), at: time, file: z.string(), count, reason: z.string() })),
  ...spent,
  merge,
});

export const teamPosted = z.strictObject({
  id,
  reaches: words.describe("ids of members"),
  misses: z.array(z.strictObject({ to: z.string(), reason: z.string() })),
  when: z.enum(["now", "resumed"]).describe("resumed: the team rests, and takes it up when it goes on"),
});

export const teamMerge = z.strictObject({
  session: z.string(),
  base: z.string().describe("the commit that its work began from"),
  work: z.string().describe("the commit of its work"),
  conflicts: words.describe("paths; with any, nothing is brought in"),
  changes: z.array(z.looseObject({ path: z.string(), kind: z.enum(["added", "modified", "deleted"]) })),
  patch: z.string(),
  merged: z.boolean(),
});

export const teamCleaned = z.strictObject({
  dry_run: z.boolean(),
  teams: z.array(
    z.strictObject({
      id: z.string(),
      name: z.string().nullable(),
      directory: z.string(),
      is_purged: z.boolean().describe("its session is gone; the id may be only the end of one"),
    }),
  ),
  skipped: z.array(z.strictObject({ id: z.string(), name: z.string().nullable(), reason: z.string() })),
  problems: words,
});
