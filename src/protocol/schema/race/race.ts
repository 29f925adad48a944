// Schemas of a race: its task, its agents and the events that its session stores.
import { z } from "zod";
import { turnStatuses } from "../../api/error.ts";
import * as is from "../fields.ts";
import { count, fields, nullableText, texts } from "../fields.ts";

/** The most agents of one race. */
const maxRacers = 20;

/** An agent and its model; null is the agent's default model. */
const contestant = is.fields({ agent: is.name, model: is.nameOrNull });
export type Contestant = z.output<typeof contestant>;

const raceRequest = is.fields({
  task: is.text.min(1),
  contestants: z.array(contestant).min(1).max(maxRacers),
  /** A command that must exit with 0 in the worktree of an agent that ended ok; null: no check. */
  check: is.command.nullable().default(null),
  checkTimeoutMs: count.min(1).default(600_000),
  /** The name of a role that every agent gets; null or missing: none. */
  role: is.nameOrNull.optional(),
  /** Stops the others when the first agent passes, and adopts its work. */
  adoptFirstPassing: is.falseByDefault,
  /** Whether the worktrees get the uncommitted changes of the project. */
  withChanges: is.falseByDefault,
  /** Whether the worktrees get the ignored files of the project. */
  withIgnored: is.falseByDefault,
});
export type RaceRequest = z.output<typeof raceRequest>;

/** The work of a turn of the agent `race`: start, or continue after an interruption. */
export const raceTask = z.discriminatedUnion("work", [
  is.fields({ work: z.literal("run"), wish: raceRequest }),
  is.fields({ work: z.literal("resume") }),
]);
export type RaceTask = z.output<typeof raceTask>;

export const racerFields = {
  key: z.string().describe("unique in the race: the agent, with a number if it takes part twice"),
  session: z.string(),
};
const racer = is.fields({ ...racerFields, agent: z.string(), model: nullableText });
export type Racer = z.output<typeof racer>;

export const checkResult = fields({
  passed: z.boolean(),
  exitCode: z.number().int().nullable().describe("null if a signal ended the command, or if it did not run"),
  problem: nullableText.describe("the reason if the command did not run to its end"),
});
export type RaceCheck = z.output<typeof checkResult>;

const racerEnd = {
  status: z.enum(turnStatuses),
  error: nullableText,
  check: checkResult.nullable().describe("null without a check, or if the agent did not end ok"),
};

export const adoptionFields = {
  session: z.string().describe("the adopted session"),
  continuesIn: z.string().describe("the session that continues with the adopted work in the project"),
  grafted: texts.describe("sessions whose conclusions were added to the adopted one"),
  files: count.describe("changed files of the project"),
};

export const raceEvent = z.discriminatedUnion("event", [
  is.fields({
    event: z.literal("race_started"),
    wish: raceRequest,
    base: nullableText.describe("the node that all agents start from; null before the first message"),
    racers: z.array(racer),
  }),
  is.fields({ event: z.literal("racer_started"), racer: z.string() }),
  is.fields({ event: z.literal("racer_ended"), racer: z.string(), ...racerEnd }),
  is.fields({ event: z.literal("race_adopted"), ...adoptionFields }),
]);
export type RaceEvent = z.output<typeof raceEvent>;
