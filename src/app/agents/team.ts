// The agent that has a team work, with the roles and the worktrees of this house; both are loaded with the first team.
import { chooseAgent } from "../../agents/external/adapters/choose-agent.ts";
import { teamAgent } from "../../agents/team/team-agent.ts";
import type { ExecutorProvider } from "../executors/executors.ts";
import { configuredEntries } from "./external-agents.ts";
import type { AppContext } from "../create-app.ts";
import type { Agent, TeamDirectories, Worktrees } from "../../protocol/api/ports.ts";
import { searchPath } from "../search-path.ts";
import { createTeamDirectories } from "./team-directories.ts";

/** The agent, and what others can do with what it leaves. */
export function createTeam(ctx: AppContext, { enforced }: Pick<ExecutorProvider, "enforced">): { agent: Agent; places: TeamDirectories } {
  const workspaces = workspacesOf(ctx);
  const named = () => ({ agents: configuredEntries(ctx).map(({ name }) => name), vendors: Object.keys(ctx.providers) });
  const agent = teamAgent({
    roles: async (project) => (await import("../load-roles.ts")).loadRoles(ctx, project).roles,
    workspaces,
    selfCommand: ctx.selfCommand,
    path: searchPath(ctx.env),
    enforced,
    requireAgent: (name, model) => void chooseAgent(name, model, named()),
  });
  return { agent, places: createTeamDirectories(workspaces) };
}

function workspacesOf({ env }: AppContext): Worktrees {
  let opened: Promise<Worktrees> | null = null;
  const open = () =>
    (opened ??= import("../../files/worktrees.ts").then(({ createWorktrees: openWorkspaces }) => openWorkspaces(searchPath(env))));
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
