// Resolves the paths of a turn once, before rules are made of them. A tool of this or another session could replace a
// directory by a link to the user's keys, and the next sandbox would open what the link leads to.
import { findLinkOutOf, followLinks } from "../../kit/files/follow-links.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { Policy } from "../../protocol/api/policy.ts";
import { toolDirectories } from "./tool-directories.ts";

type TurnPaths = { project: string; directory: string; policy: Policy };

/**
 * The turn with paths without links; a missing path stays as it is. Throws if a link leads out of a directory where tools
 * can write: nobody knows who made it. The user can name its target instead.
 */
export function resolveTurn<Turn extends TurnPaths>(turn: Turn, stateDir: string): Turn {
  const known = toolDirectories(stateDir);
  const resolve = (path: string, directories: readonly string[]): string => {
    const followed = followLinks(path);
    if (followed === null) return path;
    const link = findLinkOutOf(directories, followed);
    if (link === undefined) return followed.path;
    throw new Fault("sandbox-unavailable", `${link} is a symbolic link to ${followed.path}, in a directory where tools can write`, {
      hint: `if you made the link, name its target instead: ${followed.path}`,
    });
  };
  const project = resolve(turn.project, known);
  const directory = resolve(turn.directory, known);
  // A project can contain links of its author, before any tool has worked in it.
  const wider = [...known, project, directory];
  const resolveAll = (paths: string[]) => paths.map((path) => resolve(path, wider));
  const { allowWrite, addDirs } = turn.policy;
  return { ...turn, project, directory, policy: { ...turn.policy, allowWrite: resolveAll(allowWrite), addDirs: resolveAll(addDirs) } };
}
