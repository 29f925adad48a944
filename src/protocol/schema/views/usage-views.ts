// Schemas of `usage.series`: usage and cost over time.
import { z } from "zod";
import { count, fields, time } from "../fields.ts";
import { costIsPartial, usage } from "../tree.ts";

export const usageStep = z.enum(["hour", "day", "week", "month"]);
export type UsageStep = z.output<typeof usageStep>;

/** One agent, model or project in one step of time. */
export const usagePoint = fields({
  at: time.describe("start of the hour, day, week or month"),
  key: z.string().describe("the agent, model or project"),
  turns: count,
  usage,
  costUsd: z.number(),
  costIsPartial,
  unpriced: count.describe("turns with a request of unknown price"),
}).meta({ id: "Usage point" });
export type UsagePoint = z.output<typeof usagePoint>;
