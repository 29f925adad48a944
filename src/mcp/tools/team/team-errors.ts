// Shared by the tools for teams: finding a team by its session, and answers with an error code.
import { nearestWord } from "../../../kit/text/nearest-word.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { TeamErrorCode } from "../../../protocol/schema/mcp-team.ts";
import type { AddressableMember } from "../../../protocol/team/address.ts";
import type { MemberRecord, TeamLimits } from "../../../protocol/team/team.ts";
import type { TeamView } from "../../../protocol/team/views.ts";
import { findSession } from "../../turn/take-turn.ts";
import type { ToolAnswer, CallContext } from "../tool.ts";

export type TeamError = { error: { code: TeamErrorCode; message: string; details: Record<string, unknown> } };

export function teamErrorAnswer(code: TeamErrorCode, message: string, details: Record<string, unknown> = {}): ToolAnswer<TeamError> {
  const detailsText = Object.keys(details).length === 0 ? "" : `\n${JSON.stringify(details)}`;
  return { output: { error: { code, message, details } }, text: `${code}: ${message}${detailsText}`, isError: true };
}

/** The members as `resolveAddress` takes them. */
export function addressableMembers(members: readonly MemberRecord[]): AddressableMember[] {
  return members.map(({ id, instance, plan: { key, role, suffix } }) => ({ id, key, role, suffix, instance }));
}

/** Null if the session does not exist or has no team. */
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

type WithRole = { role: string };

/** An error if members with these roles can't be added, else null. A role with a description need not exist. */
export async function checkRoles(
  { api, directory }: CallContext,
  added: readonly WithRole[],
  team: { limits: TeamLimits; members: readonly WithRole[]; isDescribed: boolean },
): Promise<ToolAnswer<TeamError> | null> {
  const roles = (await api.roles.list({ directory })).roles.map(({ name }) => name);
  const unknown = added.map(({ role }) => role).filter((role) => !roles.includes(role));
  if (unknown.length > 0 && !team.isDescribed) {
    const nearest = nearestWord(unknown[0]!, roles);
    const suggestion = nearest === null ? "" : `; did you mean ${nearest}?`;
    return teamErrorAnswer("INVALID_ROLE", `no role "${unknown[0]}"${suggestion}`, { unknown: [...new Set(unknown)], roles });
  }
  const members = [...team.members, ...added];
  const { maxAgents, maxPerRole } = team.limits;
  if (members.length > maxAgents)
    return teamErrorAnswer("RESOURCE_LIMIT_EXCEEDED", `${members.length} agents; the limit is ${maxAgents}`, {
      limit: maxAgents,
      wanted: members.length,
    });
  for (const role of new Set(added.map((member) => member.role))) {
    const count = members.filter((member) => member.role === role).length;
    if (count > maxPerRole)
      return teamErrorAnswer("RESOURCE_LIMIT_EXCEEDED", `${count} of role ${role}; the limit per role is ${maxPerRole}`, {
        role,
        limit: maxPerRole,
        wanted: count,
      });
  }
  return null;
}

/** Turns a Fault before the turn starts into an error answer. A turn that fails later has a normal answer. */
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
