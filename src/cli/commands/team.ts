// skein team: several agents on one objective. Each verb is a turn of the agent `team`, or a look at what one left.
import { readFileSync } from "node:fs";
import { absolutePath } from "../../kit/paths.ts";
import { exitCodes, Fault, messageOf } from "../../protocol/error.ts";
import { shortId } from "../../protocol/node.ts";
import { phasesOf, readPhases } from "../../protocol/team-plan.ts";
import { strategies, usualLimits, workspaceKinds, type CastMember, type PhasePlan, type TeamWish } from "../../protocol/team.ts";
import type { Args, Command, Door } from "../command.ts";
import { sessionNamed } from "../find-session.ts";
import { followTurn } from "../follow-turn.ts";
import { printerFor } from "../print/printer.ts";
import { runFlags } from "../run-flags.ts";
import { readFlags, sessionFrom, turnFrom } from "./run.ts";

const taken = new Set([
  "model",
  "agent",
  "policy",
  "sandbox",
  "net",
  "max-budget-usd",
  "max-tokens",
  "timeout",
  "cd",
  "trust",
  "no-trust",
  "detach",
  "json",
  "output-format",
]);

export const team: Command = {
  name: "team",
  summary: "several agents on one objective: roles, worktrees, messages, phases",
  usage: 'run "objective" | resume <team> | merge <team> [flags]',
  positionals: { min: 1, max: 2 },
  verbs: ["run", "resume", "merge"],
  flags: [
    { name: "agents", value: "list", summary: "who works: role[:agent], ... in order; without it a planner decides" },
    { name: "strategy", value: "name", summary: `${strategies.join(", ")}; pipeline with --agents, else adaptive` },
    { name: "phases", value: "file", summary: "a plan as JSON: {phases: [{name, goal, members: [{key, role, task, ...}]}]}" },
    { name: "yes", summary: "with merge: without asking" },
    { name: "workspace", value: "kind", summary: `where members work: ${workspaceKinds.join(", ")}; worktree if not said` },
    ...runFlags.filter((flag) => taken.has(flag.name)),
  ],
  run: runTeam,
};

async function runTeam(args: Args, door: Door): Promise<number> {
  const [verb, given] = args.positionals;
  if (given === undefined) throw new Fault("usage", `team ${verb} needs ${verb === "run" ? "an objective" : "a team"}`);
  const flags = readFlags(args, door);
  const { directory, trust } = flags;
  const wish = verb === "run" ? wishOf(args, door, given) : null;
  const api = await door.api({ ...(trust === null ? {} : { trust }), cwd: directory });
  const settings = await api.config.values();
  const turn = turnFrom(flags, settings, door);
  const task = wish !== null ? { work: "run" as const, wish } : { work: verb as "resume" | "merge" };
  const open = sessionFrom(flags, settings, given, { toolLevel: turn.toolLevel, role: null });
  if (wish !== null) await api.turn.check({ ...turn, team: task, agent: turn.agent ?? open.agent, isNew: true, directory });
  const session = wish === null ? await sessionNamed(api, door, given) : await api.session.open(open);
  const printer = await printerFor(flags.format, door, { stream: true, tools: [] });
  door.onStop(() => void api.turn.cancel({ session: session.id }));
  const result = await followTurn(api.turn.start({ ...turn, session: session.id, prompt: null, team: task }), printer);
  void shortId;
  return exitCodes[result.status];
}

function wishOf(args: Args, door: Door, objective: string): TeamWish {
  const text = (name: string) => (typeof args.flags[name] === "string" ? args.flags[name] : null);
  const cast = castOf(text("agents"));
  const strategy = oneOf("strategy", text("strategy"), strategies) ?? (cast.length > 0 ? "pipeline" : "adaptive");
  const file = text("phases");
  if (cast.length === 0 && file === null && strategy !== "adaptive")
    throw new Fault("usage", `--strategy ${strategy} needs --agents or --phases`);
  const phases = file !== null ? phasesIn(absolutePath(file, door)) : strategy === "adaptive" ? null : phasesOf(strategy, cast, objective);
  const workspace = oneOf("workspace", text("workspace"), workspaceKinds) ?? "worktree";
  return { objective, strategy, cast, phases, workspace, limits: usualLimits, planner: { agent: null, model: null } };
}

function castOf(list: string | null): CastMember[] {
  const words = (list ?? "").split(",").filter((word) => word.trim() !== "");
  return words.map((word) => {
    const [role = "", agent = null] = word.trim().split(":");
    return { role, agent };
  });
}

function phasesIn(file: string): PhasePlan[] {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new Fault("usage", `--phases: ${messageOf(error)}`);
  }
  const read = readPhases(value);
  if ("problems" in read) throw new Fault("usage", `--phases: ${read.problems.join("; ")}`);
  return read;
}

function oneOf<const T extends string>(flag: string, value: string | null, choices: readonly T[]): T | null {
  if (value === null) return null;
  const found = choices.find((choice) => choice === value);
  if (found === undefined) throw new Fault("usage", `--${flag} takes ${choices.join(", ")}, not "${value}"`);
  return found;
}
