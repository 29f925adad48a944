// Reads the current branch of a git repository from its files. No git process runs, so a hostile project starts no program.
import { join, resolve } from "node:path";
import { statPath } from "../../../kit/files/path-status.ts";
import { readBelow, readRegularFile } from "../../../kit/files/safe-file.ts";

const maxBytes = 4096;
const branchRef = /^ref: refs\/heads\/([^\p{Cc}\s~^:?*[\\]+)$/u;

/** The branch, or the short id of a detached commit. Null without a repository that can be read. */
export function readGitBranch(project: string): string | null {
  try {
    const head = readHead(project)?.toString("utf8").trimEnd() ?? "";
    return branchRef.exec(head)?.[1] ?? /^[0-9a-f]{40}$/.exec(head)?.[0].slice(0, 8) ?? null;
  } catch {
    // A repository with unsafe or unreadable files has no branch here. The tools of a turn report such problems.
    return null;
  }
}

/** In a worktree, `.git` is a file with the path of the directory that has HEAD. Only a regular file is read there. */
function readHead(project: string): Buffer | null {
  const dotGit = join(project, ".git");
  const head = statPath(dotGit)?.isDirectory() !== true ? null : readBelow(project, join(dotGit, "HEAD"), { maxBytes });
  if (head !== null) return head;
  const link = readBelow(project, dotGit, { maxBytes })?.toString("utf8").trimEnd() ?? "";
  return link.startsWith("gitdir: ") ? readRegularFile(join(resolve(project, link.slice("gitdir: ".length)), "HEAD"), { maxBytes }) : null;
}
