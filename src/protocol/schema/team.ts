// What a team is asked, and the plans that a planner, a file or a client of the hub makes for it.
import { z } from "zod";
import { strategies, defaultTeamLimits, workspaceKinds } from "../team/team.ts";
import * as is from "./fields.ts";

export const memberPlan = is.fields({
  key: is.name,
  role: is.name,
  description: is.textOrNull,
  agent: is.nameOrNull,
  model: is.nameOrNull,
  suffix: is.nameOrNull,
  task: is.text.min(1),
  must_read: is.textList.default([]),
  validation: z
    .array(
      z.discriminatedUnion("kind", [
        is.fields({ kind: z.literal("file"), path: is.name }),
        is.fields({ kind: z.literal("command"), command: is.command }),
      ]),
    )
    .max(50)
    .default([]),
  depends_on: is.textList.default([]),
  workspace: z.enum(workspaceKinds).nullable().default(null),
  timeout_ms: z.number().int().min(1).optional(),
  max_memory_mb: z.number().int().min(1).optional(),
});

const phasePlan = is.fields({ name: is.name, goal: is.text.default(""), members: z.array(memberPlan).min(1).max(500) });

const teamWish = is.fields({
  objective: is.text.min(1),
  strategy: z.enum(strategies).default("adaptive"),
  phases: z.array(phasePlan).min(1).max(100).nullable().default(null),
  workspace: z.enum(workspaceKinds).default("worktree"),
  limits: is
    .fields({
      max_agents: z.number().int().min(1).max(1_000).default(defaultTeamLimits.maxAgents),
      max_per_role: z.number().int().min(1).max(1_000).default(defaultTeamLimits.maxPerRole),
      max_memory_mb: z.number().int().min(64).nullable().default(defaultTeamLimits.maxMemoryMb),
    })
    .prefault({}),
  cast: z
    .array(is.fields({ role: is.name, agent: is.nameOrNull }))
    .max(500)
    .default([]),
  planner: is.fields({ agent: is.nameOrNull, model: is.nameOrNull }).prefault({}),
});

export const teamTask = z.discriminatedUnion("work", [
  is.fields({ work: z.literal("run"), wish: teamWish }),
  is.fields({ work: z.literal("resume") }),
  is.fields({ work: z.literal("merge") }),
]);
