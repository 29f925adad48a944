// Prints docs/ROLES.md: the prose of roles.md with the tables of built-in roles.
import { countTextTokens } from "../../src/kit/text/count-tokens.ts";
import { rolePrompt, type Role } from "../../src/protocol/api/role.ts";
import { builtInRoles } from "../../src/roles/built-in.ts";
import { fillTemplate, markdownTable } from "./template.ts";

export function printRolesDocs(): string {
  const rolesWithPaths = builtInRoles.filter(({ reads, writes }) => reads.length + writes.length > 0);
  return fillTemplate("roles", {
    roles: markdownTable(["role", "work", "tools", "policy", "time", "memory", "tokens"], builtInRoles.map(roleCells)),
    paths: markdownTable(["role", "reads", "writes"], rolesWithPaths.map(pathCells)),
  });
}

function roleCells(role: Role): string[] {
  const minutes = (ms: number | null) => (ms === null ? "none" : `${ms / 60_000} m`);
  return [
    `\`${role.name}\``,
    role.description,
    role.tools?.join(", ") ?? "of the turn",
    role.policy ?? "of the turn",
    `${minutes(role.timeoutMs)}, ${minutes(role.idleMs)}`,
    `${role.maxMemoryMb} MB`,
    `${countTextTokens(rolePrompt(role, "alone"))}, ${countTextTokens(rolePrompt(role, "in-team"))}`,
  ];
}

function pathCells({ name, reads, writes }: Role): string[] {
  const quotePaths = (paths: readonly string[]) => paths.map((path) => `\`${path}\``).join(", ");
  return [`\`${name}\``, quotePaths(reads), quotePaths(writes)];
}
