// The table of tools. Clients see them in this order.
import type { CallContext, tool, ToolAnswer, Toolset } from "./tool.ts";
import { agentMessage } from "./team/agent-message.ts";
import { cancelSession } from "./cancel-session.ts";
import { consultWith } from "./consult-with.ts";
import { countProjectTokens } from "./count-project-tokens.ts";
import { describeSession } from "./describe-session.ts";
import { followSession } from "./follow-session.ts";
import { groupThink } from "./group-think.ts";
import { listRoles } from "./team/list-roles.ts";
import { listSessions } from "./list-sessions.ts";
import { orchestrate } from "./team/orchestrate.ts";
import { race } from "./team/race.ts";
import { searchProjectHistory } from "./search-project-history.ts";
import { sessionStatus } from "./team/session-status.ts";
import { spawnAgent } from "./team/spawn-agent.ts";
import { waitSession } from "./wait-session.ts";
import { createWorkWith } from "./work-with.ts";

/** A tool of any name. */
export type AnyTool = Omit<ReturnType<typeof tool>, "run"> & {
  // oxlint-disable-next-line typescript/no-explicit-any -- input and output of one tool fit each other; the table mixes many
  run: (input: any, ctx: CallContext) => Promise<ToolAnswer<any>>;
};

const sets: Record<Toolset, readonly AnyTool[]> = {
  core: [
    consultWith,
    groupThink,
    waitSession,
    cancelSession,
    followSession,
    listSessions,
    describeSession,
    searchProjectHistory,
    countProjectTokens,
  ],
  team: [orchestrate, race, spawnAgent, agentMessage, sessionStatus, listRoles],
};

/** `team` includes the core tools. `agentNames` are for the description of work_with. */
export function toolsFor(toolset: Toolset, agentNames: readonly string[]): readonly AnyTool[] {
  return [createWorkWith(agentNames), ...sets.core, ...(toolset === "core" ? [] : sets.team)];
}
