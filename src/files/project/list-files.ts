// Lists the files of a project without those that .gitignore excludes. Without a repository it scans the directories
// and skips generated ones. Never follows links: they may lead out of the project.
import { lstatSync, readdirSync, realpathSync } from "node:fs";
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { Fault } from "../../protocol/api/error.ts";
import { readProjectGit, type ProjectGit } from "./project-git.ts";

const limits = { maxBytes: 256 << 20, limitMs: 20_000, files: 1_000_000 };

/** Directories of generated or fetched files, and of version control. */
const skippedDirectories = new Set(
  ".git .hg .svn .skein node_modules bower_components .venv venv __pycache__ .tox .mypy_cache .pytest_cache .next .nuxt .turbo .gradle .cache target dist build".split(
    " ",
  ),
);

export type ListFilesOptions = ProjectGit & {
  /** Files and directories of the project, absolute or relative to `directory`. */
  items: readonly string[];
  directory: string;
};

/** Paths relative to the project, each once. A file that is an item is listed even if .gitignore excludes it. */
export async function listFiles({ items, directory, ...git }: ListFilesOptions): Promise<string[]> {
  const requested = items.map((item) => resolveItem(item, directory, git.project));
  const files = new Set(requested.filter(({ isFile }) => isFile).map(({ path }) => path));
  const directories = requested.filter(({ isFile }) => !isFile).map(({ path }) => path);
  if (directories.length === 0) return [...files];
  const all = (await listWithGit(git)) ?? (await scan(git.project, directories));
  if (files.size === 0 && directories.includes("")) return all;
  for (const path of all) if (directories.some((parent) => parent === "" || path.startsWith(`${parent}/`))) files.add(path);
  return [...files];
}

/** The path of the project itself is "". Throws for a path that leads out of the project, also through a link. */
function resolveItem(item: string, directory: string, project: string): { path: string; isFile: boolean } {
  const root = realpathSync(project);
  const real = realPath(resolve(directory, item), item);
  const path = relative(root, real);
  if (path === ".." || path.startsWith(`..${sep}`) || isAbsolute(path))
    throw new Fault("usage", `${item} is outside of the project`, { hint: `the project is ${project}` });
  const stat = lstatSync(real);
  if (stat.isFile() || stat.isDirectory()) return { path, isFile: stat.isFile() };
  throw new Fault("usage", `${item} is neither a file nor a directory`);
}

function realPath(path: string, item: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    throw new Fault("usage", `there is no file or directory ${item}`, { cause: error });
  }
}

async function listWithGit(git: ProjectGit): Promise<string[] | null> {
  const transcripts = "--exclude=**/.skein/sessions/";
  const output = await readProjectGit(git, ["ls-files", "-z", "--cached", "--others", "--exclude-standard", transcripts], limits);
  if (output === null) return null;
  if (output.isCut) throw tooManyFiles();
  // Decoded at once: a hundred thousand single paths would block the event loop.
  const paths = output.bytes.toString("utf8").split("\0");
  // The last path is empty. A file in conflict is listed once for each side, one after the other.
  return paths.filter((path, index) => path !== "" && path !== paths[index - 1]);
}

/** Yields to the event loop after every `directoriesPerSlice` directories. */
async function scan(project: string, directories: string[]): Promise<string[]> {
  const files: string[] = [];
  const pending = [...directories];
  const deadline = performance.now() + limits.limitMs;
  for (let next = pending.pop(), count = 1; next !== undefined; next = pending.pop(), count += 1) {
    if (count % directoriesPerSlice === 0) await Bun.sleep(0);
    for (const entry of entriesOf(join(project, next))) {
      const path = next === "" ? entry.name : `${next}/${entry.name}`;
      if (entry.isDirectory() && !skippedDirectories.has(entry.name)) pending.push(path);
      if (entry.isFile()) files.push(path);
    }
    if (files.length > limits.files || performance.now() > deadline) throw tooManyFiles();
  }
  return files;
}

const directoriesPerSlice = 50;

function tooManyFiles(): Fault {
  return new Fault("usage", "the project has too many files to list", { hint: "list directories of it instead" });
}

/** Empty for a directory that can't be read. */
function entriesOf(path: string) {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch {
    return [];
  }
}
