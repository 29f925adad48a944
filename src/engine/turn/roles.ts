// Finds roles by name and applies them to turns. This is the only file that applies a role.
import { basename } from "node:path";
import { nearestWord } from "../../kit/text/nearest-word.ts";
import { cutText, oneLine } from "../../kit/text/cut-text.ts";
import type { Api } from "../../protocol/api/api.ts";
import { Fault } from "../../protocol/api/error.ts";
import { narrowTurn, roleModel, rolePrompt, type Role, type RoleField, type RoleList } from "../../protocol/api/role.ts";
import type { TurnOptions } from "../../protocol/api/turn-options.ts";
import type { EngineDeps } from "../engine.ts";
import type { TurnRequest } from "./run-turn.ts";

const maxFreeTextBytes = 64 * 1024;

export function createRoleMethods(deps: EngineDeps): Api["roles"] {
  return {
    list: ({ directory }) => deps.roles(directory),
    find: async ({ name, directory }) => (await findRole(deps, name, directory)) ?? refuseRole(name, await deps.roles(directory)),
  };
}

export async function findRole(deps: EngineDeps, name: string, directory: string): Promise<Role | null> {
  return (await deps.roles(directory)).roles.find((role) => role.name === name) ?? null;
}

/** Throws the fault of an unknown role. It has the reason if the role's file exists and can't be read. */
function refuseRole(name: string, { roles, problems }: RoleList): never {
  const broken = problems.find(({ path }) => basename(path, ".md") === name);
  const candidates = roles.map((role) => role.name);
  const nearest = broken === undefined ? nearestWord(name, candidates) : null;
  const why = broken === undefined ? "" : `: ${broken.path} ${broken.message}`;
  const hint = nearest === null ? "" : `did you mean ${nearest}? `;
  throw new Fault("usage", `no role "${oneLine(name, 80)}"${why}`, { hint: `${hint}\`skein roles\` lists them` });
}

type RequestedTurn = Omit<TurnOptions, "agent"> & { agent: string | null };

/** Applies the role that the turn requests. `session` has the values of the turn's session, which may not exist yet. */
export async function applyRole<Turn extends RequestedTurn>(
  deps: EngineDeps,
  turn: Turn,
  session: { directory: string; agent: string },
): Promise<Turn & { appliedRole?: Role }> {
  const { role: request } = turn;
  if (request === undefined || turn.command !== null || turn.group !== null || turn.team !== null) return turn;
  const role = await findRole(deps, request.name, session.directory);
  if (role === null) {
    if (request.orText !== true) refuseRole(request.name, await deps.roles(session.directory));
    return { ...turn, appendSystem: joinInstructions(turn.appendSystem, freeTextRolePrompt(request.name)) };
  }
  const agent = turn.agent ?? role.agent;
  const model = turn.model ?? roleModel(role, turn.agent);
  return withRole(deps, { ...turn, agent, model }, { role, agent: agent ?? session.agent, explicitFields: request.keep ?? [] });
}

/** Narrows a turn to a role. `agent` takes the turn; `explicitFields` are not narrowed, because the caller set them. */
export async function withRole<Turn extends RequestedTurn>(
  deps: EngineDeps,
  turn: Turn,
  { role, agent, explicitFields }: { role: Role; agent: string; explicitFields: readonly RoleField[] },
): Promise<Turn & { appliedRole: Role }> {
  const { agent: name } = await deps.chooseAgent(agent, turn.model);
  const takesTools = deps.agents.some((candidate) => candidate.name === name && candidate.takesTools === true);
  return { ...narrowTurn(turn, role, takesTools ? explicitFields : [...explicitFields, "tools"]), appliedRole: role };
}

/**
 * The instructions for the agent: those of the turn, then the prompt of its role. A sub-session gets its own role,
 * never that of its parent. Only a member of a team has an `env`; it names the shared directories.
 */
export function roleInstructions({
  appendSystem,
  appliedRole,
  env,
}: Pick<TurnRequest, "appendSystem" | "appliedRole" | "env">): string | null {
  if (appliedRole === undefined) return appendSystem;
  return joinInstructions(appendSystem, rolePrompt(appliedRole, env === undefined ? "alone" : "in-team"));
}

export function freeTextRolePrompt(role: string): string {
  return `Your role: ${cutText(role, maxFreeTextBytes, { keep: "head" }).text}`;
}

/** Null if all texts are empty. */
export function joinInstructions(...texts: (string | null)[]): string | null {
  return texts.filter((text) => text !== null && text !== "").join("\n\n") || null;
}

/** A warning for a role with fields that an untrusted project may not set; null if it has none. */
export function ignoredFieldsText(role: Role | undefined): string | null {
  if (role === undefined || role.ignored.length === 0) return null;
  return `role ${role.name}: ${role.ignored.join(", ")} ${role.ignored.length === 1 ? "is" : "are"} ignored, because the project is not trusted (\`skein trust\`)`;
}
