// The paths inside writable directories that stay read-only: a change there would run code outside of the sandbox, or
// change skein's own settings. Also finds those that can't be protected.
import { lstatSync, realpathSync, statSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { ownersFor } from "../kit/files/safe-file.ts";
import { environmentSettings, type NamedPaths, pathsNamedBy, readGitConfig } from "./git-config.ts";
import { gitConfigFiles, gitModules, isRepository, protectedGitPaths } from "./git-paths.ts";

export type ProtectionInput = {
  /** Writable directories and files. Those of repositories are among them. */
  writable: string[];
  /** Paths that the user has named as writable. They are not protected. */
  allowed: string[];
  home: string;
  env?: Record<string, string | undefined>;
};

/** Existing paths only, and none below another one. */
export function protectedPaths(input: ProtectionInput): string[] {
  const roots = input.writable.flatMap((path) => realPathOf(path) ?? []);
  const exceptions = new Set(input.allowed.map(realPathOf));
  const { hooks, includes, programs } = configuredPaths(input);
  const owners = ownersOf(input.writable);
  const candidates = [
    ...input.writable.flatMap((path) => [...protectedGitPaths(path), join(path, ".skein")]),
    // The file in a submodule that names its repository. git would obey another repository's settings.
    ...input.writable.flatMap(gitModules).map((repository) => join(worktreeOf(repository, owners) ?? repository, ".git")),
    ...hooks,
    ...includes,
    ...programs.filter(isFile),
  ];
  // Only paths inside a writable one: otherwise a link could make a secret readable.
  const paths = [...new Set(candidates.flatMap((path) => realPathOf(path) ?? []))].filter(
    (path) => !exceptions.has(path) && roots.some((root) => path.startsWith(root + sep)),
  );
  return paths.filter((path) => !paths.some((other) => path.startsWith(other + sep)));
}

/**
 * The directories between a writable directory and a protected path. The kernel lets nobody rename a mount point, but it
 * does not stop a rename of the directories above it.
 */
export function parentsOfProtected(paths: string[], writable: string[]): string[] {
  const roots = writable.flatMap((path) => realPathOf(path) ?? []);
  return [...new Set(paths.flatMap((path) => roots.filter((root) => path.startsWith(root + sep)).flatMap((root) => stepsTo(path, root))))];
}

/**
 * Hooks directories and included files that git's settings name in a writable directory, and programs that they run. They may
 * be missing. The settings are those of the writable repositories, of repositories around them, and of the user.
 */
export function configuredPaths({ writable, allowed, home, env = {} }: ProtectionInput): NamedPaths {
  const owners = ownersOf(writable);
  const settings = environmentSettings(env);
  const ofUser = userFiles(home, env);
  const own = ["config", "config.worktree"].flatMap((name) => writable.flatMap((path) => [join(path, name), join(path, ".git", name)]));
  const worktrees = writable.filter((path) => !isRepository(path));
  const options = { home, owners, settings };
  const named = [pathsNamedBy([...own, ...ofUser], { ...options, worktrees: worktrees.length > 0 ? worktrees : writable })];
  for (const worktree of new Set(worktrees.flatMap(parentsOf))) {
    const files = gitConfigFiles(worktree);
    if (files.length > 0) named.push(pathsNamedBy([...files, ...ofUser], { ...options, worktrees: [worktree] }));
  }
  for (const repository of writable.flatMap(gitModules)) {
    const worktree = worktreeOf(repository, owners);
    named.push(pathsNamedBy([join(repository, "config")], { worktrees: worktree === null ? [] : [worktree], home, owners }));
  }
  const isInside = (path: string) => !allowed.includes(path) && writable.some((root) => path.startsWith(root + sep));
  const inside = (kind: keyof NamedPaths) => [...new Set(named.flatMap((paths) => paths[kind]).filter(isInside))];
  return { hooks: inside("hooks"), includes: inside("includes"), programs: inside("programs") };
}

function parentsOf(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [] : [parent, ...parentsOf(parent)];
}

/** The working tree of a submodule; null if its settings name none. */
function worktreeOf(repository: string, owners: readonly number[]): string | null {
  const settings = readGitConfig(join(repository, "config"), owners);
  const worktree = settings?.findLast(({ key }) => key === "core.worktree")?.value;
  return worktree === undefined ? null : resolve(repository, worktree);
}

/**
 * A link that a tool could replace, so that no mount can protect its target. Null if there is none. Without `configured`, the
 * paths that git's settings name, it looks only for `.git` and `.skein`.
 */
export function findUnprotectableLink({ writable, allowed }: ProtectionInput, configured?: NamedPaths): string | null {
  const direct = writable.flatMap((path) => [join(path, ".git"), join(path, ".skein")]);
  const named = [...(configured?.hooks ?? []), ...(configured?.includes ?? [])].flatMap((path) => {
    const root = writable.find((directory) => path.startsWith(directory + sep))!;
    return [...stepsTo(path, root), path];
  });
  const isAllowed = (path: string) => allowed.includes(path) || allowed.includes(realPathOf(path) ?? path);
  return [...direct, ...named].find((path) => isLink(path) && !isAllowed(path)) ?? null;
}

export function realPathOf(path: string): string | null {
  // Most paths do not exist, and an exception for each would cost milliseconds.
  try {
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return null;
    return realpathSync(path);
  } catch {
    return null;
  }
}

/** Settings of the user and of the machine. They may name relative paths, which are then paths of the project. */
function userFiles(home: string, env: Record<string, string | undefined>): string[] {
  const global = env["GIT_CONFIG_GLOBAL"];
  const files = global ? [global] : [join(home, ".gitconfig"), join(env["XDG_CONFIG_HOME"] || join(home, ".config"), "git", "config")];
  return [...files, env["GIT_CONFIG_SYSTEM"] || "/etc/gitconfig"];
}

/** `/p/a/b/c` from `/p`: `/p/a` and `/p/a/b`. */
function stepsTo(path: string, root: string): string[] {
  const parts = relative(root, dirname(path)).split(sep).filter(Boolean);
  return parts.map((_, index) => join(root, ...parts.slice(0, index + 1)));
}

function ownersOf(paths: string[]): number[] {
  const stats = paths.flatMap((path) => statSync(path, { throwIfNoEntry: false }) ?? []);
  return [...new Set(stats.flatMap(ownersFor))];
}

function isFile(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;
  } catch {
    return false; // a parent is no directory
  }
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  } catch {
    return false; // a parent is no directory
  }
}
