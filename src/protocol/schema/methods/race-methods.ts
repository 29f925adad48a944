// Methods on races. A race is a turn of the agent `race`. These methods read a race, or adopt the work of one of its agents.
import { z } from "zod";
import * as is from "../fields.ts";
import { raceAdoption, raceInfo, raceView } from "../race/race-views.ts";
import { inSession, limitUpTo, type Method } from "./method.ts";

export const raceMethods = {
  "race.list": {
    params: { project: is.pathOrNull, limit: limitUpTo(1_000, 50) },
    result: z.array(raceInfo),
    summary: "Lists races of a project, the latest first; null means all projects. `turn.start` with `race` starts one.",
  },
  "race.show": {
    params: inSession,
    result: raceView,
    summary:
      "Returns a race: for each agent its state, outcome, check, changed files, usage and times. `session` is the race, or one of its agents' sessions.",
  },
  "race.adopt": {
    params: { ...inSession, dryRun: is.falseByDefault },
    result: raceAdoption,
    summary:
      "Merges the worktree of one of a race's sessions into the project, and grafts the conclusions of the others into it. With a conflict nothing changes. `dry_run` only returns the changes and conflicts.",
  },
} satisfies Record<string, Method>;
