// Finds roles: those that are built in, the user's files over them, the project's over both. Bounded, and throws
// nothing: what is wrong with a file is a problem in the list.
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
  /** Asked only when the project has role files. */
  trusted: () => boolean;
};

type RoleDirectory = Pick<RoleFile, "origin" | "format"> & { path: string };
type Problem = RoleList["problems"][number];

const maxFiles = 200;

export function scanRoles(options: ScanRolesOptions): RoleList {
  const problems: Problem[] = [];
  let trusted: boolean | null = null;
  const once = { ...options, trusted: () => (trusted ??= options.trusted()) };
  let roles: readonly Role[] = builtInRoles;
  for (const scope of scopesOf(options)) roles = withFiles(roles, scope, once, problems);
  return { roles: [...roles], problems };
}

/** From the weakest to the strongest; within one, the first place wins. */
function scopesOf({ project, home, configDir }: ScanRolesOptions): RoleDirectory[][] {
  const user: RoleDirectory[] = [
    { path: join(configDir, "roles"), origin: "user", format: "skein" },
    { path: join(home, ".claude", "agents"), origin: "user", format: "claude" },
  ];
  const own: RoleDirectory[] = [
    { path: join(project, ".skein", "roles"), origin: "project", format: "skein" },
    { path: join(project, ".claude", "agents"), origin: "project", format: "claude" },
  ];
  return [user, own.filter(({ path }) => !user.some((place) => place.path === path))];
}

/** A role of the same name takes the place of the one below; others follow in the order of their files. */
function withFiles(below: readonly Role[], places: RoleDirectory[], options: ScanRolesOptions, problems: Problem[]): Role[] {
  const mine = new Map<string, Role>();
  for (const place of places) {
    for (const path of filesIn(place, options, problems)) {
      const file = { path, origin: place.origin, format: place.format, trusted: place.origin === "user" || options.trusted() };
      const { role, problems: wrong } = readRole(file, (name) => below.find((known) => known.name === name));
      problems.push(...wrong.map((message) => ({ path, message })));
      if (role === null) continue;
      const winner = mine.get(role.name);
      if (winner === undefined) mine.set(role.name, role);
      else problems.push({ path, message: `is hidden by ${winner.path}, which has the same name` });
    }
  }
  const kept = below.map((role) => mine.get(role.name) ?? role);
  return [...kept, ...[...mine.values()].filter(({ name }) => !below.some((role) => role.name === name))];
}

function filesIn({ path: folder, origin }: RoleDirectory, { project }: ScanRolesOptions, problems: Problem[]): string[] {
  let names: string[];
  try {
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return [];
    names = readdirSync(folder)
      .filter((name) => name.endsWith(".md") && !name.startsWith("."))
      .sort();
  } catch (error) {
    problems.push({ path: folder, message: `can't be read: ${messageOf(error)}` });
    return [];
  }
  if (names.length > maxFiles) problems.push({ path: folder, message: `holds ${names.length} files; the first ${maxFiles} were read` });
  return names.slice(0, maxFiles).flatMap((name) => {
    const path = join(folder, name);
    const message = unfit(path, origin === "project" ? project : null);
    if (message !== null) problems.push({ path, message });
    return message === null ? [path] : [];
  });
}

/** What a project links to from outside would be sent to a vendor. */
function unfit(path: string, within: string | null): string | null {
  try {
    const stat = statSync(path);
    if (!stat.isFile()) return "is no file";
    if (stat.size > maxRoleBytes) return `has ${stat.size} bytes; ${maxRoleBytes} are allowed`;
    if (within === null || realpathSync(path).startsWith(realpathSync(within) + sep)) return null;
    return "is a link that leads out of the project";
  } catch (error) {
    return `can't be read: ${messageOf(error)}`;
  }
}
