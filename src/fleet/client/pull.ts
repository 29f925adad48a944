// The files of a project on this machine: their state to send, and the commit that a session's files become here. Writes only
// objects and a ref below refs/skein; the person's index, branches and files stay as they are.
import { createHash } from "node:crypto";
import { commitTree } from "../../files/packs/file-packs.ts";
import { runGit, splitAtNul, type ShadowRepository } from "../../files/git.ts";
import { readProjectGit } from "../../files/project/project-git.ts";
import { findGitDir } from "../../files/project/find-git-dir.ts";
import { replaceEntries } from "../../files/snapshots/restore.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { PulledFiles } from "../../protocol/fleet/fleet-commands.ts";
import { oneLine } from "../../kit/text/cut-text.ts";
import type { PgDb } from "../../store/postgres/connection/connection.ts";
import { fetchPacks, readPacks } from "../files/checkpoints.ts";
import { runOf } from "../queue/runs.ts";
import type { StoreParts } from "./fleet-store.ts";

const limits = { maxBytes: 1 << 20, limitMs: 20_000 };

/** `project` is the key of the repository: the URL that it was cloned from, or its first commit. */
export type ProjectState = { root: string; tree: string; head: string | null; project: string };

export async function projectState(files: StoreParts, root: string): Promise<ProjectState> {
  const tree = await files.snapshots.take(root);
  if (tree === null) throw new Fault("file-unreadable", `the files of ${root} can't be recorded, so they can't be sent`);
  const read = async (...args: string[]): Promise<string> =>
    (await readProjectGit({ project: root, git: files.git }, args, limits))?.bytes.toString().trim() ?? "";
  const head = await read("rev-parse", "--verify", "--quiet", "HEAD^{commit}");
  const url = withoutPassword(await read("config", "--get", "remote.origin.url"));
  const first = url !== "" || head === "" ? "" : await read("rev-list", "--max-parents=0", "--max-count=1", "HEAD");
  const key = url || first || `directory ${createHash("sha256").update(root).digest("hex").slice(0, 12)}`;
  return { root, tree, head: head || null, project: key };
}

function withoutPassword(url: string): string {
  return url.replace(/^([a-z+]+:\/\/)[^@/]*@/i, "$1");
}

export async function pullFiles(
  db: PgDb,
  files: StoreParts,
  { session, project }: { session: string; project: string },
): Promise<PulledFiles> {
  const repository = await ownRepository(files, project);
  const packs = await readPacks(db, session);
  const [sent] = packs;
  const latest = packs.at(-1);
  if (sent === undefined || latest === undefined)
    throw new Fault("session-unknown", `the fleet has no files of session ${session}`, {
      hint: "`skein fleet status --all` lists its runs",
    });
  await fetchPacks(db, repository, session, packs);
  const run = await runOf(db, session);
  const leftOut = run?.leftOut ?? [];
  const head = run?.head != null && (await hasCommit(repository, run.head)) ? run.head : null;
  const kept = head === null ? new Map<string, string>() : await versionsAt(repository, head, leftOut);
  const complete = (tree: string) => (kept.size === 0 ? tree : replaceEntries(repository, tree, kept));
  const [before, after] = [await complete(sent.tree), await complete(latest.tree)];
  const isSameAsHead = head !== null && (await runGit(repository, ["rev-parse", `${head}^{tree}`])).toString().trim() === before;
  const parent = isSameAsHead ? head : await commitTree(repository, { tree: before, parent: head, message: "files as sent to the fleet" });
  const message = `${oneLine(run?.title ?? "work of the fleet", 72)}\n\nskein session ${session}`;
  const commit = await commitTree(repository, { tree: after, parent, message });
  const ref = `refs/skein/${session}`;
  await runGit(repository, ["update-ref", ref, commit]);
  const changed = splitAtNul(await runGit(repository, ["diff-tree", "-r", "-z", "--name-only", before, after]));
  return { session, ref, commit, parent: head, files: changed.length, leftOut };
}

/** The person's repository, in which skein writes objects and one ref. */
async function ownRepository({ git }: StoreParts, project: string): Promise<ShadowRepository> {
  const dir = await findGitDir({ project, git });
  if (dir !== null) return { git, dir, project };
  throw new Fault("usage", `${project} is not a git repository, so no commit can be brought here`, {
    hint: "call it in a clone of the project; `skein export <session>` prints the changes",
  });
}

async function hasCommit(repository: ShadowRepository, id: string): Promise<boolean> {
  const stdin = Buffer.from(`${id}\n`);
  return (await runGit(repository, ["cat-file", "--batch-check=%(objecttype)"], { stdin })).toString().trim() === "commit";
}

/** The stored versions of files that were too large for a pack. They stay as they were in the commit. */
async function versionsAt(repository: ShadowRepository, commit: string, paths: readonly string[]): Promise<Map<string, string>> {
  if (paths.length === 0) return new Map();
  const lines = splitAtNul(await runGit(repository, ["ls-tree", "-r", "-z", commit, "--", ...paths]));
  return new Map(
    lines.map((line) => {
      const [mode = "", , id = ""] = line.slice(0, line.indexOf("\t")).split(" ");
      return [line.slice(line.indexOf("\t") + 1), `${mode} ${id}`] as const;
    }),
  );
}
