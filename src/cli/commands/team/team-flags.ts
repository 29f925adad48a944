// What a team is asked, out of the flags of `skein team run`.
import { readFileSync } from "node:fs";
import { absolutePath } from "../../../kit/files/absolute-path.ts";
import { Fault, messageOf } from "../../../protocol/api/error.ts";
import { planPhases, parsePhases } from "../../../protocol/team/plan.ts";
import {
  strategies,
  defaultTeamLimits,
  workspaceKinds,
  type RoleAssignment,
  type PhasePlan,
  type TeamRequest,
} from "../../../protocol/team/team.ts";
import { countFlag } from "../../parse/args.ts";
import type { Args, CommandContext, Flag } from "../../parse/command.ts";

export const teamFlags: readonly Flag[] = [
  { name: "agents", value: "roles", summary: "who works: role[:agent], ... in order; without it a planner decides" },
  { name: "strategy", value: "name", choices: strategies, summary: "how they follow; pipeline with --agents, else adaptive (a planner)" },
  { name: "phases", value: "file", summary: "a plan as JSON: {phases: [{name, goal, members: [{key, role, task, ...}]}]}" },
  { name: "planner", value: "who", summary: "the agent or vendor/model that plans" },
  { name: "workspace", value: "kind", choices: workspaceKinds, summary: "where members work; worktree if not said" },
  { name: "max-agents", value: "n", summary: `members in all; ${defaultTeamLimits.maxAgents} if not said` },
  { name: "max-per-role", value: "n", summary: `members of one role; ${defaultTeamLimits.maxPerRole} if not said` },
  { name: "max-memory-mb", value: "n", summary: "what the members that run at once may be given together" },
];

export function readTeamRequest(args: Args, ctx: CommandContext, objective: string): TeamRequest {
  const text = (name: string) => (typeof args.flags[name] === "string" ? args.flags[name] : null);
  const [file, list, planner] = [text("phases"), text("agents"), text("planner")];
  const cast = castOf(list);
  const strategy = (text("strategy") as TeamRequest["strategy"] | null) ?? (cast.length > 0 && file === null ? "pipeline" : "adaptive");
  if (file !== null && (list !== null || text("strategy") !== null))
    throw new Fault("usage", "--phases says who works and when: leave --agents and --strategy out");
  if (cast.length === 0 && file === null && strategy !== "adaptive")
    throw new Fault("usage", `--strategy ${strategy} needs --agents`, { hint: "--agents architect,engineer,engineer:claude,reviewer" });
  if (planner !== null && (file !== null || strategy !== "adaptive"))
    throw new Fault("usage", "--planner goes with --strategy adaptive: otherwise nobody plans");
  return {
    objective,
    strategy,
    cast,
    phases: file !== null ? phasesIn(absolutePath(file, ctx)) : strategy === "adaptive" ? null : planPhases(strategy, cast, objective),
    workspace: (text("workspace") as TeamRequest["workspace"] | null) ?? "worktree",
    limits: {
      maxAgents: countFlag(args, "max-agents", defaultTeamLimits.maxAgents),
      maxPerRole: countFlag(args, "max-per-role", defaultTeamLimits.maxPerRole),
      maxMemoryMb: text("max-memory-mb") === null ? null : countFlag(args, "max-memory-mb", 0),
    },
    planner: planner?.includes("/") ? { agent: null, model: planner } : { agent: planner, model: null },
  };
}

function castOf(list: string | null): RoleAssignment[] {
  const words = (list ?? "").split(",").map((word) => word.trim());
  if (list !== null && words.includes("")) throw new Fault("usage", `--agents takes role[:agent] with commas between them, not "${list}"`);
  return words.filter((word) => word !== "").map(memberIn);
}

function memberIn(word: string): RoleAssignment {
  const at = word.indexOf(":");
  const [role, agent] = at < 0 ? [word, null] : [word.slice(0, at), word.slice(at + 1)];
  if (role === "" || agent === "") throw new Fault("usage", `--agents: "${word}" is no role[:agent]`);
  return { role, agent };
}

function phasesIn(file: string): PhasePlan[] {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new Fault("usage", `--phases: ${messageOf(error)}`);
  }
  const read = parsePhases(value);
  if ("problems" in read) throw new Fault("usage", `--phases: ${read.problems.join("; ")}`);
  return read;
}
