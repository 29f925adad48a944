// Reads the commits of a project, latest first, with their messages and files.
import type { Commit, CommitLog } from "../../protocol/tree/history.ts";
import { readProjectGit, type ProjectGit } from "./project-git.ts";

const limits = { commits: 20_000, maxBytes: 64 << 20, limitMs: 8_000 };
const maxFilesPerCommit = 200;

/** Six fields per commit, each after a zero byte, which no message or path contains. The last field has the files. */
const format = "%x00%H%x00%ct%x00%an%x00%s%x00%b%x00";
const fieldsPerCommit = 6;
const args = ["log", `--max-count=${limits.commits}`, `--format=${format}`, "--name-only", "--no-renames", "--no-ext-diff", "--no-color"];

export async function readCommits(git: ProjectGit): Promise<CommitLog> {
  const output = await readProjectGit(git, args, limits);
  if (output === null)
    return { commits: [], note: "no commits were searched: the project has no repository with commits that git can read" };
  const fields = output.bytes.toString("utf8").split("\0").slice(1);
  // The last commit is incomplete if the log was cut.
  const complete = output.isCut ? fields.slice(0, Math.max(0, fields.length - fieldsPerCommit)) : fields;
  const commits: Commit[] = [];
  for (let start = 0; start + fieldsPerCommit <= complete.length; start += fieldsPerCommit)
    commits.push(toCommit(complete.slice(start, start + fieldsPerCommit)));
  const isAll = !output.isCut && commits.length < limits.commits;
  return { commits, note: isAll ? null : `only the latest ${commits.length} commits were searched` };
}

function toCommit([id = "", seconds = "", author = "", subject = "", body = "", files = ""]: string[]): Commit {
  return {
    id,
    at: Number(seconds) * 1000,
    author,
    subject,
    body: body.trim(),
    files: files.split("\n").filter(Boolean).slice(0, maxFilesPerCommit),
  };
}
