// The paths of fleet sessions. In the database a session works in `fleet:/<root session>/...`, because a directory of one
// machine means nothing on another. A worker maps such a path to the directory in which it put the files.
import { join } from "node:path";
import { oneLine } from "../../kit/text/cut-text.ts";
import { Fault } from "../../protocol/api/error.ts";

const scheme = "fleet:/";

export function sharedPath(root: string, below = ""): string {
  return below === "" ? `${scheme}${root}` : `${scheme}${root}/${below}`;
}

/** The session whose packs are the files of this path; null for another path. */
export function rootOf(path: string): string | null {
  return path.startsWith(scheme) ? (path.slice(scheme.length).split("/")[0] ?? null) : null;
}

export type PathMap = { toLocal: (path: string) => string; toShared: (path: string) => string };

/** For a process that shows sessions of the fleet and runs none. */
export const noPaths: PathMap = { toLocal: (path) => path, toShared: (path) => path };

/** The name of a session is a directory name here, so anything else than an id stays as it is. */
const idPattern = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;

/** The directory of a session's files here. Throws for an id that another machine made up: it could lead anywhere. */
export function workspaceOf(workspaces: string, root: string): string {
  if (!idPattern.test(root)) throw new Fault("session-unknown", `"${oneLine(root, 80)}" is no session of the fleet`);
  return join(workspaces, root);
}

/** Each session has a directory of its own below `workspaces`. */
export function workspacePaths(workspaces: string): PathMap {
  return {
    toLocal(path) {
      const root = rootOf(path);
      return root === null || !idPattern.test(root) || path.includes("/../") ? path : join(workspaces, path.slice(scheme.length));
    },
    toShared: (path) => (path.startsWith(`${workspaces}/`) ? `${scheme}${path.slice(workspaces.length + 1)}` : path),
  };
}
