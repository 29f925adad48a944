// Roles: found by name, and put on a turn. Every turn in a role passes here, whichever door or turn began it.
import { basename } from "node:path";
import { nearestWord } from "../../kit/text/nearest-word.ts";
import { cutText, oneLine } from "../../kit/text/cut-text.ts";
import type { Api, TurnCheckParams, TurnStartParams } from "../../protocol/api/api.ts";
import { Fault } from "../../protocol/api/error.ts";
import { narrowTurn, rolePrompt, type Role, type RoleField } from "../../protocol/api/role.ts";
import type { EngineDeps } from "../engine.ts";
import type { TurnRequest } from "./run-turn.ts";

const textBytes = 64 * 1024;

export function createRoleMethods(deps: EngineDeps): Api["roles"] {
  return {
    list: ({ directory }) => deps.roles(directory),
    find: ({ name, directory }) => roleNamed(deps, name, directory),
  };
}

export async function findRole(deps: EngineDeps, name: string, directory: string): Promise<Role | null> {
  return (await deps.roles(directory)).roles.find((role) => role.name === name) ?? null;
}

async function roleNamed(deps: EngineDeps, name: string, directory: string): Promise<Role> {
  const { roles, problems } = await deps.roles(directory);
  const found = roles.find((role) => role.name === name);
  if (found !== undefined) return found;
  const broken = problems.find(({ path }) => basename(path, ".md") === name);
  const near = nearestWord(
    name,
    roles.map((role) => role.name),
  );
  const why = broken === undefined ? "" : `: ${broken.path} ${broken.message}`;
  const hint = near === null || broken !== undefined ? "" : `did you mean ${near}? `;
  throw new Fault("usage", `no role "${oneLine(name, 80)}"${why}`, { hint: `${hint}\`skein roles\` lists them` });
}

/** A turn that a person or a program starts. */
export async function applyRole(deps: EngineDeps, params: TurnStartParams): Promise<TurnRequest> {
  const { role: wish } = params;
  if (wish === undefined || params.command !== null || params.group !== null || params.team !== null) return params;
  const session = await (await deps.store()).session(params.session);
  if (session === null) return params;
  const known = await findRole(deps, wish.name, session.directory);
  if (known === null && wish.orText === true)
    return { ...params, appendSystem: joinInstructions(params.appendSystem, freeTextRolePrompt(wish.name)) };
  const role = known ?? (await roleNamed(deps, wish.name, session.directory));
  const agent = params.agent ?? role.agent;
  const taken = { ...params, agent, model: params.model ?? roleModel(role, params.agent) };
  return withRole(deps, taken, role, agent ?? session.agent, wish.keep ?? []);
}

export async function applyRoleToCheck(deps: EngineDeps, params: TurnCheckParams): Promise<TurnCheckParams> {
  const { role: wish } = params;
  if (wish === undefined || params.group !== null || params.team !== null) return params;
  const known = await findRole(deps, wish.name, params.directory);
  if (known === null && wish.orText === true) return params;
  const role = known ?? (await roleNamed(deps, wish.name, params.directory));
  const taken = { ...params, model: params.model ?? roleModel(role, params.agent) };
  return withRole(deps, taken, role, params.agent, wish.keep ?? []);
}

/** Narrowed, with the role as what it is played as. */
export function withRole<Turn extends TurnStartParams | TurnCheckParams>(
  deps: EngineDeps,
  turn: Turn,
  role: Role,
  agent: string,
  keep: readonly RoleField[],
): Turn & { appliedRole: Role } {
  const { agent: name } = deps.chooseAgent(agent, turn.model);
  const takesTools = deps.agents.some((candidate) => candidate.name === name && candidate.takesTools === true);
  return { ...narrowTurn(turn, role, takesTools ? keep : [...keep, "tools"]), appliedRole: role };
}

/** A model is named for the role's own agent, or for whoever takes the turn unasked. */
export function roleModel(role: Role, agent: string | null): string | null {
  return agent === null || agent === (role.agent ?? "native") ? role.model : null;
}

/**
 * What the agent is told besides what the turn says. A sub-session is told its own role, never that of its parent. Only a
 * member of a team has an environment of its own, which names the places to share.
 */
export function roleInstructions({
  appendSystem,
  appliedRole: role,
  env,
}: Pick<TurnRequest, "appendSystem" | "appliedRole" | "env">): string | null {
  return role === undefined ? appendSystem : joinInstructions(appendSystem, rolePrompt(role, env === undefined ? "alone" : "in-team"));
}

export function freeTextRolePrompt(role: string): string {
  return `Your role: ${cutText(role, textBytes, { keep: "head" }).text}`;
}

function joinInstructions(...texts: (string | null)[]): string | null {
  return texts.filter((text) => text !== null && text !== "").join("\n\n") || null;
}

/** Null when the role gets all it asks for. */
export function ignoredFieldsText(role: Role | undefined): string | null {
  if (role === undefined || role.ignored.length === 0) return null;
  return `role ${role.name}: ${role.ignored.join(", ")} ${role.ignored.length === 1 ? "is" : "are"} ignored, because the project is not trusted (\`skein trust\`)`;
}
