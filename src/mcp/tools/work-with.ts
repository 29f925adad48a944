// work_with: a task for an agent with tools of its own, in a session that it shares with every other tool and door.
import { Fault } from "../../protocol/api/error.ts";
import { turnOutput, workWithInput } from "../../protocol/schema/mcp.ts";
import type { AgentInfo } from "../../protocol/api/agents.ts";
import type { RoleRequest } from "../../protocol/api/role.ts";
import { resolveContextPaths, type ContextPath } from "../turn/context-paths.ts";
import { takeTurn } from "../turn/take-turn.ts";
import { tool, type CallContext } from "./tool.ts";

export const workWith = tool({
  name: "work_with",
  description:
    "Have another coding agent (claude, codex, gemini, opencode, pi) work on this project. It knows what was said in the session. If status is running, call wait_session.",
  input: workWithInput,
  output: turnOutput,
  async run({ agent, task, session_id, role, reasoning_effort, context }, place) {
    const paths = resolveContextPaths(context, place);
    const taker = await takerOf(agent, reasoning_effort, place);
    try {
      return await takeTurn(
        { sessionId: session_id, prompt: task, ...taker, turn: { appendSystem: pathsText(paths), ...roleOf(role), ...taker.turn } },
        place,
      );
    } catch (error) {
      throw error instanceof Fault && error.code === "model-api-only" ? apiOnly(error) : error;
    }
  },
});

/** One that is known by its name, or any words. */
function roleOf(role: string | undefined): { role?: RoleRequest } {
  return role === undefined || role.trim() === "" ? {} : { role: { name: role.trim(), orText: true } };
}

function pathsText(paths: ContextPath[]): string | null {
  return paths.length === 0 ? null : `Look at these first:\n${paths.map(({ path }) => `- ${path}`).join("\n")}`;
}

type Taker = { agent: string; model: null; turn: { effort?: string } };

/** An effort is part of a model's name; an agent whose model is its own is told by itself. */
async function takerOf(agent: string, effort: string | undefined, { api }: CallContext): Promise<Taker> {
  if (effort === undefined) return { agent, model: null, turn: {} };
  const row = (await api.agents.list()).find(({ name }) => name === agent);
  if (row === undefined) return { agent: `${agent}:${effort}`, model: null, turn: {} };
  refuseEffort(row, effort);
  return { agent, model: null, turn: { effort } };
}

function refuseEffort({ name, can: { efforts } }: AgentInfo, effort: string): void {
  if (efforts.includes(effort)) return;
  throw new Fault("usage", `${name} can't be told the effort ${effort}`, {
    hint: efforts.length === 0 ? "leave reasoning_effort out" : `it takes ${efforts.join(", ")}`,
  });
}

function apiOnly({ message }: Fault): Fault {
  return new Fault("model-api-only", message, { hint: "ask it with consult_with, or name an agent: claude, codex, gemini, opencode, pi" });
}
