// The directories in which a policy lets tools write. They include git directories outside of the project, for commits in it.
import { isTooBroad } from "../kit/files/path-status.ts";
import type { Policy } from "../protocol/api/policy.ts";
import { writableGitPaths } from "./git-paths.ts";

export type WritablePaths = {
  project: string;
  directory: string;
  home: string;
};

export function writablePaths(policy: Policy, { project, directory, home }: WritablePaths): string[] {
  if (policy.name !== "workspace") return [];
  const projectPaths = [...new Set([project, directory])].filter((path) => !isTooBroad(path, home));
  const all = [...new Set([...projectPaths, ...policy.addDirs, ...policy.allowWrite])];
  return [...new Set([...all, ...all.flatMap(writableGitPaths)])];
}
