// Creates the agent `team` with the roles and worktrees of this app. Both are loaded with the first team.
import { chooseAgent } from "../../agents/external/adapters/choose-agent.ts";
import { teamAgent } from "../../agents/team/team-agent.ts";
import { lazy } from "../../kit/flow/lazy.ts";
import type { Agent, TeamDirectories, Worktrees } from "../../protocol/api/ports.ts";
import { loadRoles, searchPath, type AppContext } from "../app-context.ts";
import type { ExecutorProvider } from "../executors/executors.ts";
import { configuredEntries } from "./external-agents.ts";
import { createTeamDirectories } from "./team-directories.ts";

export function createTeam(
  ctx: AppContext,
  { enforced }: Pick<ExecutorProvider, "enforced">,
): { agent: Agent; directories: TeamDirectories } {
  const path = searchPath(ctx.env);
  const worktrees = lazy<Worktrees>(async () => (await import("../../files/worktrees.ts")).createWorktrees(path));
  const candidates = () => ({ agents: configuredEntries(ctx).map(({ name }) => name), vendors: Object.keys(ctx.providers) });
  const agent = teamAgent({
    roles: async (project) => (await loadRoles(ctx, project)).roles,
    workspaces: worktrees,
    selfCommand: ctx.selfCommand,
    path,
    enforced,
    requireAgent: (name, model) => void chooseAgent(name, model, candidates()),
  });
  return { agent, directories: createTeamDirectories(worktrees) };
}
