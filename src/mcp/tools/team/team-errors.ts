// What the tools for teams have in common: a team found by its session, and failures by their codes.
import { Fault } from "../../../protocol/api/error.ts";
import type { TeamErrorCode } from "../../../protocol/schema/mcp-team.ts";
import type { TeamLimits } from "../../../protocol/team/team.ts";
import type { TeamView } from "../../../protocol/team/views.ts";
import { findSession } from "../../turn/take-turn.ts";
import type { ToolAnswer, CallContext } from "../tool.ts";

export type TeamError = { error: { code: TeamErrorCode; message: string; details: Record<string, unknown> } };

export function teamErrorAnswer(code: TeamErrorCode, message: string, details: Record<string, unknown> = {}): ToolAnswer<TeamError> {
  const said = Object.keys(details).length === 0 ? "" : `\n${JSON.stringify(details)}`;
  return { output: { error: { code, message, details } }, text: `${code}: ${message}${said}`, isError: true };
}

/** Null when there is no such session, or no team in it. */
export async function findTeam({ api, directory }: CallContext, sessionId: string): Promise<TeamView | null> {
  const session = await findSession(api, sessionId, directory);
  if (session === null) return null;
  try {
    return await api.team.show({ session: session.id });
  } catch (error) {
    if (error instanceof Fault && error.code === "session-unknown") return null;
    throw error;
  }
}

export function noTeamAnswer(sessionId: string): ToolAnswer<TeamError> {
  return teamErrorAnswer("SESSION_NOT_FOUND", `there is no team in session "${sessionId}"`, { session_id: sessionId });
}

type Wanted = { role: string };

/** What keeps members with these roles from being there, or null. `described` roles need not be known. */
export async function checkRoles(
  { api, directory }: CallContext,
  wanted: readonly Wanted[],
  team: { limits: TeamLimits; members: readonly Wanted[]; isDescribed: boolean },
): Promise<ToolAnswer<TeamError> | null> {
  const known = (await api.roles.list({ directory })).roles.map(({ name }) => name);
  const unknown = wanted.map(({ role }) => role).filter((role) => !known.includes(role));
  if (unknown.length > 0 && !team.isDescribed)
    return teamErrorAnswer("INVALID_ROLE", `no role "${unknown[0]}"`, { unknown: [...new Set(unknown)], roles: known });
  const all = [...team.members, ...wanted];
  const { maxAgents, maxPerRole } = team.limits;
  if (all.length > maxAgents)
    return teamErrorAnswer("RESOURCE_LIMIT_EXCEEDED", `${all.length} agents; the limit is ${maxAgents}`, {
      limit: maxAgents,
      wanted: all.length,
    });
  for (const role of new Set(wanted.map((each) => each.role))) {
    const count = all.filter((each) => each.role === role).length;
    if (count > maxPerRole)
      return teamErrorAnswer("RESOURCE_LIMIT_EXCEEDED", `${count} of role ${role}; the limit per role is ${maxPerRole}`, {
        role,
        limit: maxPerRole,
        wanted: count,
      });
  }
  return null;
}

/** What stops a turn before it begins, as a refusal; a turn that ended badly is an answer of its own. */
export async function catchTeamErrors<Out>(act: () => Promise<ToolAnswer<Out>>): Promise<ToolAnswer<Out | TeamError>> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return teamErrorAnswer("SPAWN_FAILED", error.message, {
      reason: error.code,
      ...(error.hint === undefined ? {} : { hint: error.hint }),
    });
  }
}
