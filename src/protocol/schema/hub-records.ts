// The schemas of what `skein hub` prints as JSON.
import { z } from "zod";
import { turnInfo } from "./records.ts";

const place = {
  url: z.string().describe("the WebSocket"),
  socket: z.string().describe("the unix socket"),
  pid: z.number().int().positive(),
  version: z.string(),
  protocol: z.number().int().positive(),
  started_at: z.iso.datetime({ precision: 3 }),
  token_file: z.string().describe("who connects to the WebSocket shows what it holds"),
};

export const hubStarted = z.strictObject({
  outcome: z.enum(["started", "running"]).describe("`running`: it was there already"),
  ...place,
});

export const hubStatus = z.discriminatedUnion("status", [
  z.strictObject({
    status: z.literal("running"),
    ...place,
    uptime_ms: z.number().int().nonnegative(),
    turns: z.array(turnInfo).describe("what runs in it"),
  }),
  z.strictObject({ status: z.literal("not-running") }),
]);

export const hubStopped = z.strictObject({
  outcome: z.enum(["not-running", "stopped", "killed"]).describe("`killed`: it did not stop; the next hub records what it left"),
  pid: z.number().int().positive().nullable(),
});
