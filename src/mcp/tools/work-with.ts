// work_with: runs a task with a coding agent, in a session that other tools and front ends can use too.
import { Fault } from "../../protocol/api/error.ts";
import type { AgentInfo } from "../../protocol/api/agents.ts";
import type { RoleRequest } from "../../protocol/api/role.ts";
import { loopUntil } from "../../protocol/loops/loop-argument.ts";
import { resolveContextPaths, type ContextPath } from "../turn/context-paths.ts";
import { takeTurn } from "../turn/take-turn.ts";
import { tool, type CallContext } from "./tool.ts";

export const createWorkWith = (agentNames: readonly string[]) =>
  tool("work_with", {
    description: `Have another coding agent (${agentNames.join(", ")}) work on this project. It gets the session's conversation. If status is running, call wait_session.`,
    async run({ agent, task, session_id, role, reasoning_effort, check, until, queue, context }, ctx) {
      const paths = resolveContextPaths(context, ctx);
      const { agent: name, ...effort } = await resolveEffort(agent, reasoning_effort, ctx);
      const turn = { appendSystem: pathsText(paths), ...roleParam(role), ...effort, ...checkParam(check), ...loopParam(until) };
      try {
        return await takeTurn({ sessionId: session_id, prompt: task, agent: name, turn, queue }, ctx);
      } catch (error) {
        throw error instanceof Fault && error.code === "model-api-only" ? apiOnly(error, agentNames) : error;
      }
    },
  });

/** The name of a role, or free text that describes one. */
function roleParam(role: string | undefined): { role?: RoleRequest } {
  return role === undefined || role.trim() === "" ? {} : { role: { name: role.trim(), orText: true } };
}

/** A check in the user's config applies if the call names none. */
function checkParam(check: string | undefined): { check?: string } {
  return check === undefined || check.trim() === "" ? {} : { check };
}

function loopParam(until: string | undefined): Partial<ReturnType<typeof loopUntil>> {
  return until === undefined || until.trim() === "" ? {} : loopUntil(until);
}

function pathsText(paths: ContextPath[]): string | null {
  return paths.length === 0 ? null : `Look at these first:\n${paths.map(({ path }) => `- ${path}`).join("\n")}`;
}

/** A model takes the effort as a suffix of its name, an agent as a separate option. */
async function resolveEffort(agent: string, effort: string | undefined, { api }: CallContext): Promise<{ agent: string; effort?: string }> {
  if (effort === undefined) return { agent };
  const info = (await api.agents.list()).find(({ name }) => name === agent);
  if (info === undefined) return { agent: `${agent}:${effort}` };
  refuseUnknownEffort(info, effort);
  return { agent, effort };
}

function refuseUnknownEffort({ name, can: { efforts } }: AgentInfo, effort: string): void {
  if (efforts.includes(effort)) return;
  throw new Fault("usage", `${name} has no effort ${effort}`, {
    hint: efforts.length === 0 ? "leave reasoning_effort out" : `it takes ${efforts.join(", ")}`,
  });
}

function apiOnly({ message }: Fault, agentNames: readonly string[]): Fault {
  return new Fault("model-api-only", message, { hint: `ask this model with consult_with, or name an agent: ${agentNames.join(", ")}` });
}
