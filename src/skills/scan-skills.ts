// Finds skills of the project and of the user: directories with a SKILL.md. Visits a bounded number of directories and
// never throws; an invalid skill is a problem in the list. A missing directory costs one stat.
import { readdirSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import { readFrontmatter } from "../kit/files/frontmatter.ts";
import { realPath, statPath } from "../kit/files/path-status.ts";
import { readBelow, readRegularFile } from "../kit/files/safe-file.ts";
import { messageOf } from "../protocol/api/error.ts";
import type { SkillList, SkillInfo } from "../protocol/api/api.ts";

export type ScanSkillsOptions = {
  /** The agent's directory. It and its parents up to the project may have `.agents/skills`. */
  directory: string;
  project: string;
  home: string;
  configDir: string;
  trusted: boolean;
};

/** `boundary` is the real path of the project; null for skills of the user, who may link them from anywhere. */
type Root = { path: string; scope: SkillInfo["scope"]; trusted: boolean; boundary: string | null };
type Problem = SkillList["problems"][number];

const maxDepth = 4;
const maxDirectories = 500;
const headBytes = 8_192;

export function scanSkills(options: ScanSkillsOptions): SkillList {
  const skills: SkillInfo[] = [];
  const problems: Problem[] = [];
  const visited = new Set<string>();
  const budget = { remaining: maxDirectories };
  for (const root of rootsOf(options)) {
    for (const file of findFiles(root, visited, budget, problems)) {
      const skill = readSkill(file, root, problems);
      if (!skill) continue;
      const winner = skills.find((other) => other.name === skill.name);
      if (winner) problems.push({ path: file, message: `is overridden by ${winner.path}, which has the same name` });
      else skills.push(skill);
    }
  }
  return { skills, problems };
}

/** In order of precedence: the project before the user, a nearer directory before a farther one. */
function rootsOf({ directory, project, home, configDir, trusted }: ScanSkillsOptions): Root[] {
  const userPaths = [join(configDir, "skills"), join(home, ".agents", "skills"), join(home, ".claude", "skills")];
  const ofProject = { scope: "project", trusted, boundary: realPath(project) ?? project } as const;
  const roots: Root[] = [{ ...ofProject, path: join(project, ".skein", "skills") }];
  // Trust covers the files at the top of the project, not the skills of its subdirectories.
  for (const parent of parentsUpTo(directory, project))
    roots.push({ ...ofProject, path: join(parent, ".agents", "skills"), trusted: trusted && parent === project });
  roots.push({ ...ofProject, path: join(project, ".claude", "skills") });
  const projectRoots = roots.filter((root) => !userPaths.includes(root.path));
  return [...projectRoots, ...userPaths.map((path): Root => ({ path, scope: "user", trusted: true, boundary: null }))];
}

/** The directory and its parents up to the project. Only the project if the directory is outside of it. */
function parentsUpTo(directory: string, project: string): string[] {
  const directories = [directory];
  while (directories.at(-1) !== project) {
    const parent = dirname(directories.at(-1) as string);
    if (parent === directories.at(-1)) return [project];
    directories.push(parent);
  }
  return directories;
}

/** The SKILL.md files below `root`. A directory that was visited before, also through a link, is skipped. */
function findFiles(root: Root, visited: Set<string>, budget: { remaining: number }, problems: Problem[]): string[] {
  if (!statPath(root.path)?.isDirectory()) return [];
  const files: string[] = [];
  const queue = [{ path: root.path, depth: 0 }];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { path, depth } = next;
    const real = realPath(path);
    if (real === null || visited.has(real)) continue;
    if (root.boundary !== null && !real.startsWith(root.boundary + sep)) {
      problems.push({ path, message: "is a link that leads out of the project; put the link into ~/.agents/skills" });
      continue;
    }
    visited.add(real);
    if (budget.remaining <= 0) {
      problems.push({ path, message: `was not searched: more than ${maxDirectories} directories` });
      break;
    }
    budget.remaining -= 1;
    const file = join(path, "SKILL.md");
    if (statPath(file)?.isFile()) files.push(file);
    else if (depth < maxDepth) queue.push(...subdirectories(path, problems).map((child) => ({ path: child, depth: depth + 1 })));
  }
  return files.sort();
}

function subdirectories(path: string, problems: Problem[]): string[] {
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => !entry.name.startsWith(".") && entry.name !== "node_modules")
      .filter((entry) => entry.isDirectory() || (entry.isSymbolicLink() && statPath(join(path, entry.name))?.isDirectory()))
      .map((entry) => join(path, entry.name))
      .sort();
  } catch (error) {
    problems.push({ path, message: `can't be read: ${messageOf(error)}` });
    return [];
  }
}

function readSkill(file: string, root: Root, problems: Problem[]): SkillInfo | null {
  const limits = { maxBytes: headBytes, isCut: true };
  const read = () => (root.boundary === null ? readRegularFile(file, limits) : readBelow(root.boundary, file, limits));
  const { fields, problems: messages } = readFrontmatter(read, headBytes);
  const addProblem = (message: string): number => problems.push({ path: file, message });
  messages.forEach(addProblem);
  const description = typeof fields["description"] === "string" ? fields["description"].trim() : "";
  if (description === "") {
    if (messages.length === 0) addProblem("has no description, so a model can't know when to use it; it is left out");
    return null;
  }
  const folder = basename(dirname(file));
  const declaredName = typeof fields["name"] === "string" ? fields["name"].trim() : "";
  const name = declaredName === "" ? folder : declaredName;
  for (const message of nameProblems(declaredName, folder)) addProblem(message);
  if (description.length > 1024) addProblem(`its description has ${description.length} characters; 1024 are allowed`);
  const hidden = fields["disable-model-invocation"] === true;
  return { name, description, path: file, scope: root.scope, trusted: root.trusted, ...(hidden ? { hidden } : {}) };
}

function nameProblems(name: string, folder: string): string[] {
  if (name === "") return [`has no name; its directory's name "${folder}" is used`];
  const problems: string[] = [];
  if (name.length > 64 || !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name))
    problems.push(`its name ${JSON.stringify(name.slice(0, 80))} should be 1 to 64 lower-case letters, digits and single hyphens`);
  if (name !== folder)
    problems.push(`its name ${JSON.stringify(name.slice(0, 80))} differs from its directory's name ${JSON.stringify(folder)}`);
  return problems;
}
