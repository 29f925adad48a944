// Methods on teams. A team is a turn of the agent `team`. These methods read a team, or send it messages and members.
import { z } from "zod";
import { messageKinds, priorities } from "../../team/mail.ts";
import * as is from "../fields.ts";
import { memberPlan } from "../team.ts";
import { teamAddResult, teamCleanResult, teamDiff, teamInfo, teamMessageResult, teamView } from "../team-views.ts";
import { inSession, limitUpTo, type Method } from "./method.ts";

export const teamMethods = {
  "team.list": {
    params: { project: is.pathOrNull, limit: limitUpTo(1_000, 50) },
    result: z.array(teamInfo),
    summary: "Lists teams of a project, the latest first; null means all projects. `turn.start` with `team` starts one.",
  },
  "team.show": {
    params: inSession,
    result: teamView,
    summary:
      "Returns a team: phases, members, messages and conflicts (`team`), the state of its latest turn, and the usage of each member.",
  },
  "team.diff": {
    params: inSession,
    result: teamDiff,
    summary: "Returns the changes and the conflicts that a merge of its work into the project would bring now.",
  },
  "team.message": {
    params: {
      ...inSession,
      to: z.array(is.name).min(1).max(50),
      body: is.text,
      kind: z.enum(messageKinds).default("announcement"),
      priority: z.enum(priorities).default("normal"),
      subject: is.text.max(200).default(""),
      replyTo: is.nameOrNull,
      requiresResponse: is.falseByDefault,
    },
    result: teamMessageResult,
    summary:
      "Sends a message from the user to members: by id, key, role, pattern or `all`. A running team gets it now, an idle one when it is resumed.",
  },
  "team.add": {
    params: { ...inSession, member: memberPlan },
    result: teamAddResult,
    summary:
      'Adds a member, in its own phase: after the planned phases, or when the team is resumed (`turn.start` with `{work: "resume"}`).',
  },
  "team.clean": {
    params: {
      session: is.nameOrNull,
      project: is.pathOrNull,
      olderThanMs: is.count.default(7 * 86_400_000),
      dryRun: is.trueByDefault,
      force: is.falseByDefault,
    },
    result: teamCleanResult,
    summary:
      "Removes directories of teams if `dry_run` is false: of one, or of all that were idle that long. A running team is never removed; unmerged work only with `force`. Directories of `project` whose sessions were purged are included.",
  },
} satisfies Record<string, Method>;
