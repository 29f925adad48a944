// Ignored files of a project for its worktrees. `.worktreeinclude` names files to copy, with the patterns of .gitignore.
// Directories of dependencies are linked: in the sandbox the target of a link can be read and not written.
// The project is untrusted: no link is followed, and the number and the size of copies are limited.
import { closeSync, constants, lstatSync, statSync, symlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { excludeFile, readablePath, splitAtNul, type GitRunner } from "../../files/git.ts";
import { tryProjectGit } from "../../files/project/project-git.ts";
import {
  createSafely,
  makeDirectorySafely,
  openDirectorySafely,
  openSafely,
  ownersFor,
  readChunks,
  readSafely,
  replaceSafely,
  replaceTextSafely,
  UnsafePathError,
  writeAll,
} from "../../kit/files/safe-file.ts";
import { pluralize } from "../../kit/text/cut-text.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { IgnoredFiles, WorktreeRecord } from "../../protocol/worktree/ports.ts";

const includeName = ".worktreeinclude";
const maxIncludeBytes = 64 << 10;
const maxFiles = 2_000;
const maxFileBytes = 50 << 20;
const maxTotalBytes = 200 << 20;
const listLimits = { maxBytes: 16 << 20, limitMs: 60_000 };

/** Directories that programs only read while they work. Output of a build is not among them: a tool must be able to write it. */
const dependencyDirectories = new Set(["node_modules", "bower_components", ".venv", "venv", "vendor", "Pods", ".bundle", ".pnpm-store"]);

type IgnoredOptions = {
  withIgnored: boolean;
  /** Whether tools can't read the path. In a worktree they could. */
  isSecret: (path: string) => boolean;
};

/** Chooses the files to copy and the directories to link, as relative paths. Throws if they are too many or too big. */
export async function planIgnored(git: GitRunner, project: string, { withIgnored, isSecret }: IgnoredOptions): Promise<IgnoredFiles> {
  const patterns = readInclude(project);
  if (patterns === null && !withIgnored) return { copied: [], linked: [], notes: [] };
  const list = async (args: string[]): Promise<string[]> => {
    const { code, out } = await tryProjectGit({ project, git }, args, listLimits);
    if (code === null || out.length >= listLimits.maxBytes)
      throw new Fault("usage", `${project} has too many ignored files to list`, { hint: `name fewer in ${includeName}` });
    return code === 0 ? splitAtNul(out).filter((path) => !path.startsWith(".skein/") && path !== ".skein") : [];
  };
  const ignored = withIgnored ? await list(["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"]) : [];
  const linked = ignored.filter((path) => path.endsWith("/") && dependencyDirectories.has(basename(path))).map((path) => path.slice(0, -1));
  const named = patterns === null ? ignored.filter((path) => !path.endsWith("/")) : await namedFiles(list, linked);
  const notes = outsidePatterns(patterns ?? "");
  return { copied: checkFiles({ project, paths: named, notes, isSecret }), linked: linked.map(readablePath), notes };
}

function readInclude(project: string): string | null {
  try {
    const limits = { maxBytes: maxIncludeBytes, hasOtherNames: true, owners: ownersFor(statSync(project)) };
    return readSafely(join(project, includeName), limits)?.toString("utf8") ?? null;
  } catch (error) {
    if (!(error instanceof UnsafePathError)) throw error;
    throw new Fault("usage", `${join(project, includeName)} can't be used: ${error.message}`, { hint: "replace it by a regular file" });
  }
}

/** Files that are ignored and named, outside of linked directories. */
async function namedFiles(list: (args: string[]) => Promise<string[]>, linked: readonly string[]): Promise<string[]> {
  const named = await list(["ls-files", "-z", "--others", "--ignored", `--exclude-from=${includeName}`]);
  const free = named.filter((path) => !linked.some((directory) => path.startsWith(`${directory}/`)));
  if (free.length === 0) return [];
  const unignored = new Set(await list(["ls-files", "-z", "--others", "--exclude-standard"]));
  return free.filter((path) => !unignored.has(path));
}

function outsidePatterns(text: string): string[] {
  const outside = text.split("\n").filter((line) => /(^|\/)\.\.(\/|$)/.test(line.trim()) && !line.startsWith("#"));
  return outside.map((line) => `"${line.trim()}" in ${includeName} leads out of the project and names no file`);
}

type CheckedFiles = Pick<IgnoredOptions, "isSecret"> & { project: string; paths: readonly string[]; notes: string[] };

/** The paths of regular files. Others are left out with a note. */
function checkFiles({ project, paths, notes, isSecret }: CheckedFiles): string[] {
  const readable = paths.map(readablePath);
  if (readable.length > maxFiles)
    throw new Fault("usage", `${pluralize(readable.length, "ignored file")} are too many for a worktree; the limit is ${maxFiles}`, {
      hint: `name fewer in ${includeName}`,
    });
  let total = 0;
  return readable.filter((path) => {
    const stat = lstatSync(join(project, path), { throwIfNoEntry: false });
    if (stat?.isFile() !== true) {
      if (stat !== undefined) notes.push(`${path} is no regular file, so the worktree does not get it`);
      return false;
    }
    if (isSecret(join(project, path))) {
      notes.push(`${path} is a secret that tools can't read, so the worktree does not get it`);
      return false;
    }
    if (stat.size > maxFileBytes) {
      notes.push(`${path} has more than ${maxFileBytes >> 20} MB, so the worktree does not get it`);
      return false;
    }
    total += stat.size;
    if (total > maxTotalBytes)
      throw new Fault("usage", `the ignored files have more than ${maxTotalBytes >> 20} MB`, { hint: `name fewer in ${includeName}` });
    return true;
  });
}

/** Copies and links into the new directory. Existing paths stay. git ignores the links, also if a pattern means directories only. */
export async function addIgnored(
  { project, directory, copied: planned, linked }: WorktreeRecord,
  { isSecret }: Pick<IgnoredOptions, "isSecret">,
): Promise<void> {
  const copied = planned.filter((path) => !isSecret(join(project, path)));
  let remaining = maxTotalBytes;
  const owners = ownersFor(statSync(project));
  for (const path of copied) {
    const target = { to: join(directory, path), maxBytes: Math.min(remaining, maxFileBytes), owners };
    remaining -= await copyFile(join(project, path), target);
  }
  for (const path of linked) {
    const link = join(directory, path);
    makeDirectorySafely(dirname(link), 0o755);
    const parent = openDirectorySafely(dirname(link));
    const own = join(parent.path, basename(link));
    if (lstatSync(own, { throwIfNoEntry: false }) === undefined) symlinkSync(join(project, path), own);
    parent.close();
  }
  const excludes = join(directory, ".git", "info", "exclude");
  const lines = [...copied, ...linked].map((path) => `/${path.replace(/[\\*?[\]!# ]/g, "\\$&")}\n`).join("");
  const ownFile = excludeFile(project);
  const own = ownFile === null ? null : readSafely(ownFile, { maxBytes: 1 << 20, hasOtherNames: true, isCut: true, owners });
  if (lines !== "" || own !== null) replaceTextSafely(excludes, `${own?.toString() ?? ""}\n${lines}`, 0o644);
}

type CopyTarget = { to: string; maxBytes: number; owners: readonly number[] };

/** Returns the number of bytes. Throws if there are more than `maxBytes`: a file may grow while it is copied. */
async function copyFile(from: string, { to, maxBytes, owners }: CopyTarget): Promise<number> {
  makeDirectorySafely(dirname(to), 0o755);
  if (lstatSync(to, { throwIfNoEntry: false }) !== undefined || !createSafely(to, "", 0o600)) return 0;
  let bytes = 0;
  const source = openSafely(from, constants.O_RDONLY, { hasOtherNames: true, owners });
  try {
    await replaceSafely(to, async (file) => {
      for await (const chunk of readChunks(source)) {
        if ((bytes += chunk.length) > maxBytes)
          throw new Fault("usage", `${from} has become too big for a worktree`, { hint: "run again when it no longer grows" });
        writeAll(file, chunk);
      }
    });
    return bytes;
  } finally {
    closeSync(source);
  }
}
