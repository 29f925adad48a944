// Reads and writes the notes of commits in refs/notes/ai of the project's own repository. Only a command that asks for it
// writes there: it adds objects and moves that one ref. The repository is not trusted, so no hook or program of it runs.
import { lastLine } from "../../kit/text/cut-text.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { CommitNotes, CommittedFile } from "../../protocol/tree/history.ts";
import { splitAtNul, type GitRunner } from "../git.ts";
import { projectGitCommand, tryProjectGit, type ProjectGit } from "./project-git.ts";
import { findGitDir } from "./find-git-dir.ts";

const notesRef = "refs/notes/ai";
const limits = { maxBytes: 64 << 20, limitMs: 120_000 };

export function createCommitNotes(git: GitRunner): CommitNotes {
  return {
    committedFile: (project, path) => readCommittedFile({ project, git }, path),
    read: (project, commits) => readNotes({ project, git }, new Set(commits)),
    write: (project, notes) => writeNotes({ project, git }, notes),
  };
}

async function readCommittedFile(git: ProjectGit, path: string): Promise<CommittedFile | null> {
  const name = Buffer.from(path, "latin1").toString("utf8");
  const entry = await tryProjectGit(git, ["ls-tree", "-z", "HEAD", "--", name], limits);
  const [, blob] = /^100\d+ blob ([0-9a-f]+)\t/.exec(splitAtNul(entry.out)[0] ?? "") ?? [];
  if (entry.code !== 0 || blob === undefined) return null;
  const settings = ["-c", "blame.ignoreRevsFile=", "-c", "blame.markIgnoredLines=false"];
  const output = await runProjectGit(git, [...settings, "blame", "--no-textconv", "--porcelain", "HEAD", "--", name]);
  return { blob, ...parseBlame(output) };
}

/** Reads the format `--porcelain`: a header for each line, the path with the first line of a commit, and the line after a tab. */
function parseBlame(output: Buffer): Pick<CommittedFile, "content" | "lines"> {
  const lines: CommittedFile["lines"] = [];
  const contents: Buffer[] = [];
  const paths = new Map<string, string>();
  let [commit, line] = ["", 0];
  for (let start = 0; start < output.length;) {
    const end = output.indexOf(10, start);
    if (output[start] === 9) {
      contents.push(output.subarray(start + 1, end + 1));
      lines.push({ commit, path: paths.get(commit) ?? "", line });
    } else {
      const row = output.toString("latin1", start, end);
      const header = /^([0-9a-f]{40,64}) (\d+) \d+/.exec(row);
      if (header !== null) [commit, line] = [header[1]!, Number(header[2])];
      else if (row.startsWith("filename ")) paths.set(commit, row.slice("filename ".length));
    }
    start = end + 1;
  }
  return { content: Buffer.concat(contents), lines };
}

async function readNotes(git: ProjectGit, commits: ReadonlySet<string>): Promise<Map<string, Buffer>> {
  const list = await tryProjectGit(git, ["notes", `--ref=${notesRef}`, "list"], limits);
  const pairs = list.out
    .toString("latin1")
    .split("\n")
    .map((row) => row.split(" ") as [string, string])
    .filter(([, commit]) => commits.has(commit));
  if (pairs.length === 0) return new Map();
  const stdin = Buffer.from(pairs.map(([note]) => `${note}\n`).join(""));
  const output = await runProjectGit(git, ["cat-file", "--batch"], stdin);
  const notes = new Map<string, Buffer>();
  let position = 0;
  for (const [, commit] of pairs) {
    const end = output.indexOf(10, position);
    const size = Number(/ blob (\d+)$/.exec(output.toString("latin1", position, end))?.[1]);
    notes.set(commit, output.subarray(end + 1, end + 1 + size));
    position = end + 2 + size;
  }
  return notes;
}

/** `git fast-import` moves the ref once, after all notes are stored. It refuses if the ref has moved meanwhile. */
async function writeNotes(git: ProjectGit, notes: ReadonlyMap<string, Buffer>): Promise<void> {
  const tip = await tryProjectGit(git, ["rev-parse", "--verify", "--quiet", `${notesRef}^{commit}`], limits);
  const seconds = Math.floor(Date.now() / 1_000);
  const message = "Notes written by skein blame --notes\n";
  const head = `commit ${notesRef}\ncommitter skein <skein@localhost> ${seconds} +0000\ndata ${message.length}\n${message}`;
  const from = tip.code === 0 ? `from ${tip.out.toString().trim()}\n` : "";
  const changes = [...notes].flatMap(([commit, note]) => [
    Buffer.from(`N inline ${commit}\ndata ${note.length}\n`),
    note,
    Buffer.from("\n"),
  ]);
  const stdin = Buffer.concat([Buffer.from(head + from), ...changes, Buffer.from("done\n")]);
  const repository = await findGitDir(git);
  const unpack = ["-c", "fastimport.unpackLimit=10000"];
  const { args, env } = projectGitCommand(git.project, [...unpack, "fast-import", "--quiet", "--done"]);
  const signal = AbortSignal.timeout(limits.limitMs);
  const { code, err } = await git.git({ args, env, project: git.project, access: "read", repository, stdin, signal });
  if (code !== 0) throw new Fault("internal", `the notes were not written: ${lastLine(err) || "git failed"}`);
}

async function runProjectGit(git: ProjectGit, args: readonly string[], stdin?: Uint8Array): Promise<Buffer> {
  const { code, out, err } = await tryProjectGit(git, args, { ...limits, ...(stdin && { stdin }) });
  if (code === 0 && out.length < limits.maxBytes) return out;
  const reason = code === 0 ? "its output is too long" : lastLine(err);
  throw new Fault("internal", `git ${args.find((arg) => /^[a-z-]+$/.test(arg) && arg !== "-c")} failed in ${git.project}: ${reason}`);
}
