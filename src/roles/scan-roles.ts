// Finds roles: built-in ones, then the user's files, then the project's. A later role of the same name replaces an earlier
// one. Reads a bounded number of files and never throws; an invalid file is a problem in the list.
import { readdirSync, realpathSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import { messageOf } from "../protocol/api/error.ts";
import type { Role, RoleList } from "../protocol/api/role.ts";
import { builtInRoles } from "./built-in.ts";
import { maxRoleBytes, readRole, type RoleFile } from "./read-role.ts";

export type ScanRolesOptions = {
  project: string;
  home: string;
  configDir: string;
  /** Called only if the project has role files. */
  trusted: () => boolean;
};

type RoleDirectory = Pick<RoleFile, "origin" | "format"> & { path: string };
type Problem = RoleList["problems"][number];

const maxFiles = 200;

export function scanRoles(options: ScanRolesOptions): RoleList {
  const problems: Problem[] = [];
  let trusted: boolean | null = null;
  const memoized = { ...options, trusted: () => (trusted ??= options.trusted()) };
  let roles: readonly Role[] = builtInRoles;
  for (const scope of scopesOf(options)) roles = withFiles(roles, scope, memoized, problems);
  return { roles: [...roles], problems };
}

/** From the weakest to the strongest scope. Within a scope the first directory wins. */
function scopesOf({ project, home, configDir }: ScanRolesOptions): RoleDirectory[][] {
  const directories = (origin: RoleDirectory["origin"], rolesDir: string, root: string): RoleDirectory[] => [
    { path: rolesDir, origin, format: "skein" },
    { path: join(root, ".claude", "agents"), origin, format: "claude" },
  ];
  const user = directories("user", join(configDir, "roles"), home);
  const ofProject = directories("project", join(project, ".skein", "roles"), project);
  return [user, ofProject.filter(({ path }) => !user.some((directory) => directory.path === path))];
}

/** Adds the roles of one scope. A role of the same name replaces the weaker one; others follow in the order of their files. */
function withFiles(weaker: readonly Role[], directories: RoleDirectory[], options: ScanRolesOptions, problems: Problem[]): Role[] {
  const roles = new Map<string, Role>();
  for (const directory of directories) {
    for (const path of filesIn(directory, options, problems)) {
      const file = { ...directory, path, trusted: directory.origin === "user" || options.trusted() };
      const { role, problems: messages } = readRole(file, (name) => weaker.find((candidate) => candidate.name === name));
      problems.push(...messages.map((message) => ({ path, message })));
      if (role === null) continue;
      const winner = roles.get(role.name);
      if (winner === undefined) roles.set(role.name, role);
      else problems.push({ path, message: `is overridden by ${winner.path}, which has the same name` });
    }
  }
  const replaced = weaker.map((role) => roles.get(role.name) ?? role);
  return [...replaced, ...[...roles.values()].filter(({ name }) => !weaker.some((role) => role.name === name))];
}

function filesIn({ path: directoryPath, origin }: RoleDirectory, { project }: ScanRolesOptions, problems: Problem[]): string[] {
  let names: string[];
  try {
    if (!statSync(directoryPath, { throwIfNoEntry: false })?.isDirectory()) return [];
    names = readdirSync(directoryPath)
      .filter((name) => name.endsWith(".md") && !name.startsWith("."))
      .sort();
  } catch (error) {
    problems.push({ path: directoryPath, message: `can't be read: ${messageOf(error)}` });
    return [];
  }
  if (names.length > maxFiles)
    problems.push({ path: directoryPath, message: `has ${names.length} files; the first ${maxFiles} were read` });
  return names.slice(0, maxFiles).flatMap((name) => {
    const path = join(directoryPath, name);
    const message = fileProblem(path, origin === "project" ? project : null);
    if (message !== null) problems.push({ path, message });
    return message === null ? [path] : [];
  });
}

/** Refuses a link out of the project: the text of a role is sent to a vendor. */
function fileProblem(path: string, root: string | null): string | null {
  try {
    const stat = statSync(path);
    if (!stat.isFile()) return "is not a file";
    if (stat.size > maxRoleBytes) return `has ${stat.size} bytes; ${maxRoleBytes} are allowed`;
    if (root === null || realpathSync(path).startsWith(realpathSync(root) + sep)) return null;
    return "is a link that leads out of the project";
  } catch (error) {
    return `can't be read: ${messageOf(error)}`;
  }
}
