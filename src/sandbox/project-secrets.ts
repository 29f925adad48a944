// Finds the files of a project that skein itself treats with care outside of the sandbox: secrets that tools can't read, and
// files that the user's git runs or obeys.
import { join, sep } from "node:path";
import { followLinks } from "../kit/files/follow-links.ts";
import { resolveLinks } from "../kit/files/path-status.ts";
import { writableGitPaths } from "./git-paths.ts";
import { secretPaths } from "./known-paths.ts";
import { configuredPaths, type ProtectionInput, realPathOf } from "./protected-paths.ts";

export type SecretOwner = Parameters<typeof secretPaths>[0];

/** Secrets that exist, without links, and those that a variable names and that may appear later. */
export function realSecretPaths(owner: SecretOwner): string[] {
  return secretPaths(owner).map((path) => realPathOf(path) ?? path);
}

/** Whether a path without links is a secret or in a directory of secrets. skein must not copy it to where tools can read. */
export function createSecretCheck(owner: SecretOwner): (path: string) => boolean {
  const secrets = realSecretPaths(owner);
  return (path) => secrets.some((secret) => isWithin(path, secret));
}

type GitUser = Pick<ProtectionInput, "home" | "env">;

/**
 * Returns the files that are hooks, included settings, programs that these name, or skein's own. Paths are relative to the
 * project. A file in the place of a directory on the way to them counts, and so does what a link on the way leads to.
 */
export function guardedAmong(project: string, files: readonly string[], { home, env = {} }: GitUser): string[] {
  const writable = [project, ...writableGitPaths(project)];
  const { hooks, includes, programs } = configuredPaths({ writable, allowed: [], home, env });
  const named = [join(project, ".skein"), ...hooks, ...includes, ...programs];
  const places = [...new Set(named.flatMap((path) => [path, resolveLinks(path), ...(followLinks(path)?.links ?? [])]))];
  return files.filter((file) => places.some((place) => isWithin(join(project, file), place) || isWithin(place, join(project, file))));
}

function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory + sep);
}
