// The agent that has a team work, with the roles and the worktrees of this house; both are loaded with the first team.
import { chooseAgent } from "../agents/external/names.ts";
import { teamAgent } from "../agents/team/team.ts";
import type { Executors } from "./executors.ts";
import { configuredRows } from "./external-agents.ts";
import type { Ground } from "../house.ts";
import type { Agent, TeamPlaces, Workspaces } from "../protocol/ports.ts";
import { programsIn } from "./programs.ts";
import { teamPlaces } from "./team-places.ts";

/** The agent, and what others can do with what it leaves. */
export function teamOf(ground: Ground, { enforced }: Pick<Executors, "enforced">): { agent: Agent; places: TeamPlaces } {
  const workspaces = workspacesOf(ground);
  const named = () => ({ agents: configuredRows(ground).map(({ name }) => name), vendors: Object.keys(ground.providers) });
  const agent = teamAgent({
    roles: async (project) => (await import("./roles.ts")).rolesIn(ground, project).roles,
    workspaces,
    self: ground.self,
    path: programsIn(ground.env),
    enforced,
    requireAgent: (name, model) => void chooseAgent(name, model, named()),
  });
  return { agent, places: teamPlaces(workspaces) };
}

function workspacesOf({ env }: Ground): Workspaces {
  let opened: Promise<Workspaces> | null = null;
  const open = () => (opened ??= import("../files/worktrees.ts").then(({ openWorkspaces }) => openWorkspaces(programsIn(env))));
  return {
    base: async (...given) => (await open()).base(...given),
    open: async (...given) => (await open()).open(...given),
    commit: async (...given) => (await open()).commit(...given),
    join: async (...given) => (await open()).join(...given),
    changes: async (...given) => (await open()).changes(...given),
    patch: async (...given) => (await open()).patch(...given),
    planMerge: async (...given) => (await open()).planMerge(...given),
    merge: async (...given) => (await open()).merge(...given),
  };
}
