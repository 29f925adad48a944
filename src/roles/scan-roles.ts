// Finds roles: built-in ones, then the user's files, then the project's. A later role of the same name replaces an earlier
// one. Reads a bounded number of files and never throws; an invalid file is a problem in the list.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { FileReader } from "../kit/files/file-reader.ts";
import { statPath } from "../kit/files/path-status.ts";
import { readRegularFile } from "../kit/files/safe-file.ts";
import { messageOf } from "../protocol/api/error.ts";
import type { Role, RoleList } from "../protocol/api/role.ts";
import { builtInRoles } from "./built-in.ts";
import { maxRoleBytes, readRole, type RoleFile } from "./read-role.ts";

export type ScanRolesOptions = {
  project: string;
  home: string;
  configDir: string;
  /** Called at most once, if the project has role files. `files` has the bytes that are parsed. */
  trusted: (files: FileReader) => boolean;
};

type RoleDirectory = Pick<RoleFile, "origin" | "format"> & { path: string };
type Problem = RoleList["problems"][number];

const maxFiles = 200;
const limits = { maxBytes: maxRoleBytes };

export function scanRoles(options: ScanRolesOptions): RoleList {
  const problems: Problem[] = [];
  const [user, ofProject] = scopesOf(options);
  const userFiles = user.flatMap((directory) => readFiles(directory, (path) => readRegularFile(path, limits), problems));
  const weaker = withFiles(builtInRoles, userFiles, () => true, problems);
  // All files of the project are read before trust is checked, because trust covers their bytes.
  const reader = new FileReader(options.project);
  const projectFiles = ofProject.flatMap((directory) => readFiles(directory, (path) => reader.read(path, maxRoleBytes), problems));
  let trusted: boolean | null = null;
  return { roles: withFiles(weaker, projectFiles, () => (trusted ??= options.trusted(reader)), problems), problems };
}

/** From the weakest to the strongest scope. Within a scope the first directory wins. */
function scopesOf({ project, home, configDir }: ScanRolesOptions): [user: RoleDirectory[], project: RoleDirectory[]] {
  const directories = (origin: RoleDirectory["origin"], rolesDir: string, root: string): RoleDirectory[] => [
    { path: rolesDir, origin, format: "skein" },
    { path: join(root, ".claude", "agents"), origin, format: "claude" },
  ];
  const user = directories("user", join(configDir, "roles"), home);
  const ofProject = directories("project", join(project, ".skein", "roles"), project);
  return [user, ofProject.filter(({ path }) => !user.some((directory) => directory.path === path))];
}

/** Adds the roles of one scope. A role of the same name replaces the weaker one; others follow in the order of their files. */
function withFiles(weaker: readonly Role[], files: UnreadRole[], trusted: () => boolean, problems: Problem[]): Role[] {
  const roles = new Map<string, Role>();
  for (const file of files) {
    const { path } = file;
    const { role, problems: messages } = readRole({ ...file, trusted: trusted() }, (name) =>
      weaker.find((candidate) => candidate.name === name),
    );
    problems.push(...messages.map((message) => ({ path, message })));
    if (role === null) continue;
    const winner = roles.get(role.name);
    if (winner === undefined) roles.set(role.name, role);
    else problems.push({ path, message: `is overridden by ${winner.path}, which has the same name` });
  }
  const replaced = weaker.map((role) => roles.get(role.name) ?? role);
  return [...replaced, ...[...roles.values()].filter(({ name }) => !weaker.some((role) => role.name === name))];
}

/** Claude Code's agents are Markdown. skein also reads plain prompts, as mcp-the-force has them. */
function isRoleFile(name: string, format: RoleFile["format"]): boolean {
  return name.endsWith(".md") || (format === "skein" && name.endsWith(".txt"));
}

type UnreadRole = Omit<RoleFile, "trusted">;

function readFiles(directory: RoleDirectory, read: (path: string) => Buffer | null, problems: Problem[]): UnreadRole[] {
  const add = (path: string, error: unknown) => void problems.push({ path, message: `can't be read: ${messageOf(error)}` });
  let names: string[];
  try {
    if (!statPath(directory.path)?.isDirectory()) return [];
    names = readdirSync(directory.path)
      .filter((name) => isRoleFile(name, directory.format) && !name.startsWith("."))
      .sort();
  } catch (error) {
    add(directory.path, error);
    return [];
  }
  if (names.length > maxFiles)
    problems.push({ path: directory.path, message: `has ${names.length} files; the first ${maxFiles} were read` });
  return names.slice(0, maxFiles).flatMap((name) => {
    const path = join(directory.path, name);
    try {
      const content = read(path);
      if (content !== null) return [{ ...directory, path, content }];
      add(path, new Error("it does not exist"));
    } catch (error) {
      add(path, error);
    }
    return [];
  });
}
