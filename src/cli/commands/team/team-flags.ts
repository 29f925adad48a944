// Reads the request for a team from the flags of `skein team run`.
import { absolutePath } from "../../../kit/files/absolute-path.ts";
import { readRegularFile } from "../../../kit/files/safe-file.ts";
import { Fault, messageOf } from "../../../protocol/api/error.ts";
import { planPhases } from "../../../protocol/team/plan.ts";
import { strategies, defaultTeamLimits, workspaceKinds } from "../../../protocol/team/team.ts";
import type { RoleAssignment, PhasePlan, TeamRequest } from "../../../protocol/team/team.ts";
import { countFlag } from "../../parse/args.ts";
import type { Args, CommandContext, Flag } from "../../parse/command.ts";

export const teamFlags: readonly Flag[] = [
  { name: "agents", value: "roles", summary: "the members: role[:agent], ... in order; without it a planner decides" },
  {
    name: "strategy",
    value: "name",
    choices: strategies,
    summary: "the order of members; default pipeline with --agents, else adaptive (a planner)",
  },
  { name: "phases", value: "file", summary: "a JSON file with the plan: {phases: [{name, goal, members: [{key, role, task, ...}]}]}" },
  { name: "planner", value: "who", summary: "the agent or vendor/model that plans" },
  { name: "workspace", value: "kind", choices: workspaceKinds, summary: "the workspace of each member (default worktree)" },
  { name: "max-agents", value: "n", summary: `limit of members in total (default ${defaultTeamLimits.maxAgents})` },
  { name: "max-per-role", value: "n", summary: `limit of members with one role (default ${defaultTeamLimits.maxPerRole})` },
  { name: "max-memory-mb", value: "n", summary: "limit of memory for all members that run at once" },
];

export async function readTeamRequest(args: Args, ctx: CommandContext, objective: string): Promise<TeamRequest> {
  const text = (name: string) => (typeof args.flags[name] === "string" ? args.flags[name] : null);
  const [file, list, planner] = [text("phases"), text("agents"), text("planner")];
  const cast = parseCast(list);
  const strategy = (text("strategy") as TeamRequest["strategy"] | null) ?? (cast.length > 0 && file === null ? "pipeline" : "adaptive");
  if (file !== null && (list !== null || text("strategy") !== null))
    throw new Fault("usage", "--phases excludes --agents and --strategy: the file defines both");
  if (cast.length === 0 && file === null && strategy !== "adaptive")
    throw new Fault("usage", `--strategy ${strategy} needs --agents`, { hint: "--agents architect,engineer,engineer:claude,reviewer" });
  if (planner !== null && (file !== null || strategy !== "adaptive"))
    throw new Fault("usage", "--planner needs --strategy adaptive: other strategies have no planner");
  return {
    objective,
    strategy,
    cast,
    phases:
      file !== null ? await readPhases(absolutePath(file, ctx)) : strategy === "adaptive" ? null : planPhases(strategy, cast, objective),
    workspace: (text("workspace") as TeamRequest["workspace"] | null) ?? "worktree",
    limits: {
      maxAgents: countFlag(args, "max-agents", defaultTeamLimits.maxAgents),
      maxPerRole: countFlag(args, "max-per-role", defaultTeamLimits.maxPerRole),
      maxMemoryMb: text("max-memory-mb") === null ? null : countFlag(args, "max-memory-mb", 0),
    },
    planner: planner?.includes("/") ? { agent: null, model: planner } : { agent: planner, model: null },
  };
}

function parseCast(list: string | null): RoleAssignment[] {
  const assignments = (list ?? "").split(",").map((word) => word.trim());
  if (list !== null && assignments.includes(""))
    throw new Fault("usage", `--agents takes role[:agent] with commas between them, not "${list}"`);
  return assignments.filter((word) => word !== "").map(parseAssignment);
}

function parseAssignment(word: string): RoleAssignment {
  const colon = word.indexOf(":");
  const [role, agent] = colon < 0 ? [word, null] : [word.slice(0, colon), word.slice(colon + 1)];
  if (role === "" || agent === "") throw new Fault("usage", `--agents: "${word}" is not role[:agent]`);
  return { role, agent };
}

const maxPhasesBytes = 1 << 20;

async function readPhases(file: string): Promise<PhasePlan[]> {
  let value: unknown;
  try {
    const bytes = readRegularFile(file, { maxBytes: maxPhasesBytes });
    if (bytes === null) throw new Error(`no file ${file}`);
    value = JSON.parse(bytes.toString("utf8"));
  } catch (error) {
    throw new Fault("usage", `--phases: ${messageOf(error)}`);
  }
  const { parsePhases } = await import("../../../protocol/schema/parse-plan.ts");
  const phases = parsePhases(value);
  if ("problems" in phases) throw new Fault("usage", `--phases: ${phases.problems.join("; ")}`);
  return phases;
}
