// Schemas of races as the Api returns them and as `race` commands print them.
import { z } from "zod";
import { count, fields, nullableText, texts, time } from "../fields.ts";
import { adoptionFields, checkResult, racerFields } from "./race.ts";
import { fileChange } from "../team.ts";
import { costFields, status, usage } from "../tree.ts";

export const raceState = z.enum(["running", "paused", "interrupted", "ended"]);
export type RaceState = z.output<typeof raceState>;

const racerState = z.enum(["waiting", "running", "checking", "interrupted", "ended"]);
export type RacerState = z.output<typeof racerState>;

const racerUsage = { usage, tokens: count.describe("input, output and cache writes"), ...costFields };

const racerView = fields({
  key: racerFields.key,
  sessionId: z.string(),
  agent: z.string(),
  model: nullableText,
  state: racerState,
  status: status.nullable().describe("how it ended; null before"),
  error: nullableText,
  check: checkResult.nullable(),
  directory: nullableText.describe("its worktree; null before it starts"),
  files: z.array(fileChange).nullable().describe("files that it changed; null if they were not recorded"),
  added: count.describe("added lines"),
  removed: count.describe("removed lines"),
  ...racerUsage,
  startedAt: time.nullable(),
  endedAt: time.nullable(),
  asks: z.array(fields({ id: z.string(), question: z.string() })),
  answer: nullableText.describe("its last answer, shortened"),
});
export type RacerView = z.output<typeof racerView>;

const raceFields = {
  sessionId: z.string(),
  name: nullableText,
  project: z.string(),
  state: raceState,
  task: z.string(),
  check: nullableText.describe("the command"),
  adoptFirstPassing: z.boolean(),
  startedAt: time,
  endedAt: time.nullable(),
};

export const raceInfo = fields({
  ...raceFields,
  agents: texts,
  ended: count.describe("agents that have ended"),
  passed: count.describe("agents that ended ok, and passed the check if there is one"),
  adopted: nullableText,
  ...costFields,
}).meta({ id: "Race in a list" });
export type RaceInfo = z.output<typeof raceInfo>;

export const raceView = fields({
  ...raceFields,
  base: nullableText,
  status: status.nullable().describe("the best outcome; null while it runs"),
  racers: z.array(racerView),
  proposed: nullableText.describe("the key of the passing agent that changed the fewest lines; only with a check"),
  adopted: fields(adoptionFields).nullable(),
  ...racerUsage,
}).meta({ id: "Race" });
export type RaceView = z.output<typeof raceView>;

export const raceAdoption = fields({
  ...adoptionFields,
  race: z.string(),
  changes: z.array(fileChange),
  conflicts: texts.describe("paths; with any of them nothing is adopted"),
  guarded: texts.describe("changed files that the user's git runs or obeys; with any of them nothing is adopted"),
  problems: texts.describe("conclusions that could not be added, with the reason"),
  adopted: z.boolean(),
}).meta({ id: "Adoption" });
export type RaceAdoption = z.output<typeof raceAdoption>;
