// The files of a project as its .gitignore files leave them, or a walk that leaves out what is never meant where there
// is no repository. Links are not followed: they may lead anywhere.
import { lstatSync, readdirSync, realpathSync } from "node:fs";
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { Fault } from "../../protocol/api/error.ts";
import { readProjectGit, type ProjectGit } from "./project-git.ts";

const bounds = { mostBytes: 256 << 20, limitMs: 20_000, files: 1_000_000 };

/** Made or fetched by programs, or kept by version control. */
const leftOut = new Set(
  ".git .hg .svn .skein node_modules bower_components .venv venv __pycache__ .tox .mypy_cache .pytest_cache .next .nuxt .turbo .gradle .cache target dist build".split(
    " ",
  ),
);

export type ListFilesOptions = ProjectGit & {
  /** Files and directories of the project, absolute or relative to `directory`. */
  items: readonly string[];
  directory: string;
};

/** Relative to the project, each once. A file that is named is listed whatever .gitignore says. */
export async function listFiles({ items, directory, ...place }: ListFilesOptions): Promise<string[]> {
  const named = items.map((item) => placeOf(item, directory, place.project));
  const found = new Set(named.filter(({ isFile }) => isFile).map(({ path }) => path));
  const folders = named.filter(({ isFile }) => !isFile).map(({ path }) => path);
  if (folders.length === 0) return [...found];
  const all = (await fromGit(place)) ?? (await walk(place.project, folders));
  if (found.size === 0 && folders.includes("")) return all;
  for (const path of all) if (folders.some((folder) => folder === "" || path.startsWith(`${folder}/`))) found.add(path);
  return [...found];
}

/** The project itself is "". What leads out of the project by any way is refused. */
function placeOf(item: string, directory: string, project: string): { path: string; isFile: boolean } {
  const asked = resolve(directory, item);
  const root = realpathSync(project);
  const real = realOf(asked, item);
  const path = relative(root, real);
  if (path === ".." || path.startsWith(`..${sep}`) || isAbsolute(path))
    throw new Fault("usage", `${item} is outside of the project`, { hint: `the project is ${project}` });
  const stat = lstatSync(real);
  if (stat.isFile() || stat.isDirectory()) return { path, isFile: stat.isFile() };
  throw new Fault("usage", `${item} is neither a file nor a directory`);
}

function realOf(path: string, item: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    throw new Fault("usage", `there is no file or directory ${item}`, { cause: error });
  }
}

async function fromGit(place: ProjectGit): Promise<string[] | null> {
  const ours = "--exclude=**/.skein/sessions/";
  const read = await readProjectGit(place, ["ls-files", "-z", "--cached", "--others", "--exclude-standard", ours], bounds);
  if (read === null) return null;
  if (read.isCut) throw tooMany();
  // All at once: a hundred thousand paths one by one would hold everybody up.
  const paths = read.bytes.toString("utf8").split("\0");
  // The last is empty. A file in conflict is listed once for each side, one after the other.
  return paths.filter((path, at) => path !== "" && path !== paths[at - 1]);
}

/** Lets others work in between, however much there is. */
async function walk(project: string, folders: string[]): Promise<string[]> {
  const files: string[] = [];
  const waiting = [...folders];
  const giveUpAt = performance.now() + bounds.limitMs;
  for (let next = waiting.pop(), turn = 1; next !== undefined; next = waiting.pop(), turn += 1) {
    if (turn % foldersAtOnce === 0) await Bun.sleep(0);
    for (const entry of entriesOf(join(project, next))) {
      const path = next === "" ? entry.name : `${next}/${entry.name}`;
      if (entry.isDirectory() && !leftOut.has(entry.name)) waiting.push(path);
      if (entry.isFile()) files.push(path);
    }
    if (files.length > bounds.files || performance.now() > giveUpAt) throw tooMany();
  }
  return files;
}

const foldersAtOnce = 50;

function tooMany(): Fault {
  return new Fault("usage", "the project has too many files to list", { hint: "name directories below it" });
}

/** A directory that can't be opened has nothing that could be counted. */
function entriesOf(path: string) {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch {
    return [];
  }
}
