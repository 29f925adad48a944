// The commits of a project, the latest first, with what they say and which files they touch.
import type { Commit, CommitLog } from "../../protocol/tree/history.ts";
import { readProjectGit, type ProjectGit } from "./project-git.ts";

const bounds = { commits: 20_000, mostBytes: 64 << 20, limitMs: 8_000 };
const mostFiles = 200;

/** Six fields for each commit, each after a zero byte, which neither a message nor a path can hold; the last are the files. */
const format = "%x00%H%x00%ct%x00%an%x00%s%x00%b%x00";
const fieldsEach = 6;
const args = ["log", `--max-count=${bounds.commits}`, `--format=${format}`, "--name-only", "--no-renames", "--no-ext-diff", "--no-color"];

export async function readCommits(place: ProjectGit): Promise<CommitLog> {
  const read = await readProjectGit(place, args, bounds);
  if (read === null) return { commits: [], note: "no commits were searched: the project has no repository with commits that git can read" };
  const fields = read.bytes.toString("utf8").split("\0").slice(1);
  // The last one is torn where the log was cut.
  const whole = read.isCut ? fields.slice(0, Math.max(0, fields.length - fieldsEach)) : fields;
  const commits: Commit[] = [];
  for (let at = 0; at + fieldsEach <= whole.length; at += fieldsEach) commits.push(commitOf(whole.slice(at, at + fieldsEach)));
  const isAll = !read.isCut && commits.length < bounds.commits;
  return { commits, note: isAll ? null : `only the latest ${commits.length} commits were searched` };
}

function commitOf([id = "", seconds = "", author = "", subject = "", body = "", files = ""]: string[]): Commit {
  return {
    id,
    at: Number(seconds) * 1000,
    author,
    subject,
    body: body.trim(),
    files: files.split("\n").filter(Boolean).slice(0, mostFiles),
  };
}
