// Turns a policy and a few paths into sandbox rules, as data. The rule with the longest path decides for a file.
// Enforces nothing: the launcher and the Seatbelt profile are built from the rules.
import { existsSync, lstatSync, readdirSync, statSync } from "node:fs";
import { totalmem } from "node:os";
import { dirname, sep } from "node:path";
import { isTooBroad, resolveLinks } from "../kit/files/path-status.ts";
import { namedHosts, type Policy, type SandboxInfo, type SessionTag } from "../protocol/api/policy.ts";
import { planFilePath } from "../protocol/tree/skein-directory.ts";
import { borrowedObjects, protectedGitPaths } from "./git-paths.ts";
import { missingSecrets, scratchPaths, secretPaths } from "./known-paths.ts";
import { parentsOfProtected, protectedPaths, realPathOf } from "./protected-paths.ts";
import { type WritablePaths, writablePaths } from "./writable-paths.ts";

/** `scratch` can be read, and writes go to a private copy. Without support for copies it is read-only. */
export type PathRule = { path: string; access: "none" | "read" | "write" | "scratch" };

export type SandboxRules = {
  /** From the shortest path to the longest. The first is for `/`. */
  rules: PathRule[];
  net: "on" | "off";
  /**
   * With the network off, the one port of the loopback that can still be reached. In a network namespace it is a port of
   * that namespace, passed out by `namespace-port.ts`. Without a namespace it is a port of the machine.
   */
  port?: number;
  unixSockets: boolean;
  /** Private and writable: TMPDIR of the tools. */
  temp: string;
  /** The directory for the copies of `scratch` paths. */
  copies: string;
  maxProcesses: number;
  /** Root keeps the right to write files of other users, because files of the project belong to one. */
  keepsOwnerRights: boolean;
  /** Shown inside the sandbox, see `enclosing-session.ts`. It can't be removed there. */
  sessionTag?: SessionTag;
};

/** The project, the directory and the paths of the policy have no links. A path that has one gets no rule. */
export type SandboxPaths = {
  project: string;
  directory: string;
  home: string;
  /** The directories of skein. They are hidden, except for files that the model may read. */
  own: { config: string; data: string; state: string; cache: string };
  /** Both exist and are private. */
  temp: string;
  copies: string;
  isRoot: boolean;
  unixSockets: boolean;
  /** The user's environment. Its variables may move secrets. */
  env?: Record<string, string | undefined>;
};

/** Limit of the kernel. */
const kernelMaxProcesses = 4096;
/** Limit of the executor. It is lower, so that the executor can end the commands and report the reason. */
const executorMaxProcesses = 3000;
/** Share of the machine's memory that commands may use together. */
const memoryShare = 0.75;

/** For every policy except `full`, which has no sandbox. */
export function createSandboxRules(policy: Policy, paths: SandboxPaths): SandboxRules {
  const writable = writablePaths(policy, paths);
  const { accessByPath, setAccess, setRealAccess } = createAccessTable();
  setRealAccess("scratch", scratchPaths(paths.home));
  hideSecrets({ accessByPath, setRealAccess }, paths);
  setRealAccess("read", readableSkeinPaths(paths));
  const hidden = [...accessByPath].flatMap(([path, access]) => (access === "none" ? [path + sep] : []));
  setAccess(
    "read",
    linkedSkills(paths).filter((path) => hidden.some((directory) => path.startsWith(directory))),
  );
  // A project below a scratch path must not be scratch itself, or its changes would be lost.
  setAccess(
    "read",
    [paths.project, paths.directory, ...policy.addDirs].filter((path) => !isTooBroad(path, paths.home)),
  );
  setAccess("write", writable);
  // Objects that appear later are missing in a private copy, if git has looked for them before.
  setAccess(
    "read",
    writable.flatMap(borrowedObjects).flatMap((path) => {
      const real = realPathOf(path);
      return real !== null && accessOf(accessByPath, real) === "scratch" ? [real] : [];
    }),
  );
  // A tool could rename the directory around a secret, and the next sandbox would not know its new path.
  const secrets = [...accessByPath].flatMap(([path, access]) => (access === "none" ? [path] : []));
  setAccess(
    "write",
    parentsOfProtected(secrets, writable).filter((path) => accessOf(accessByPath, path) === "write"),
  );
  const isVisible = (path: string) => accessOf(accessByPath, path) !== "none";
  const guarded = guardedPaths(policy, paths).filter(isVisible);
  setAccess("write", parentsOfProtected(guarded, writable).filter(isVisible));
  setAccess("read", guarded);
  if (policy.name !== "readonly" && isOwnFile(planFilePath(paths.project))) setAccess("write", [planFilePath(paths.project)]);
  setAccess("write", [paths.temp]);
  const rules = [...accessByPath].map(([path, access]) => ({ path, access }));
  return {
    rules: sortByDepth(rules),
    net: policy.net,
    unixSockets: paths.unixSockets,
    temp: paths.temp,
    copies: paths.copies,
    maxProcesses: kernelMaxProcesses,
    keepsOwnerRights: paths.isRoot && writable.some((path) => ownerOf(path) !== 0),
  };
}

export type GitSandboxPaths = Pick<SandboxPaths, "project" | "home" | "own" | "temp" | "copies" | "isRoot" | "env"> & {
  /** The repository of skein that git may write; null if it only reads the project's own. */
  repository: string | null;
  /** Whether git may write the project, for a restore. */
  isProjectWritable: boolean;
};

/** For git processes of skein: they read the project and write one repository. Links in the project lead nowhere else. */
export function createGitRules({ project, repository, isProjectWritable, temp, copies, ...paths }: GitSandboxPaths): SandboxRules {
  // The data directory may be a link of the user. A link on the way to a repository in a project is one of a tool.
  const real = repository === null ? null : realPathOf(repository);
  const ownRepository = real === repository || repository?.startsWith(paths.own.data + sep) ? real : null;
  const writable = [...(ownRepository === null ? [] : [ownRepository]), ...(isProjectWritable ? [project] : [])];
  const { accessByPath, setAccess, setRealAccess } = createAccessTable();
  hideSecrets({ accessByPath, setRealAccess }, paths);
  setAccess("read", [project]);
  setAccess("write", writable);
  setAccess("read", writable.flatMap(protectedGitPaths));
  setAccess("write", [temp]);
  const rules = sortByDepth([...accessByPath].map(([path, access]) => ({ path, access })));
  return { rules, net: "off", unixSockets: false, temp, copies, maxProcesses: kernelMaxProcesses, keepsOwnerRights: paths.isRoot };
}

/**
 * `setRealAccess` follows links, and is only for paths outside of the project. In a project a tool could replace a directory
 * by a link between two looks at it, so `setAccess` takes a path as it is. The launcher opens it without following links.
 */
function createAccessTable() {
  const accessByPath = new Map<string, PathRule["access"]>([["/", "read"]]);
  const setAccess = (access: PathRule["access"], targets: string[]) => {
    for (const path of targets) if (realPathOf(path) === path) accessByPath.set(path, access);
  };
  const setRealAccess = (access: PathRule["access"], targets: string[]) => {
    for (const path of targets.map(realPathOf)) if (path !== null) accessByPath.set(path, access);
  };
  return { accessByPath, setAccess, setRealAccess };
}

/** Landlock keeps a missing secret unreadable when it appears. Mounts need an existing path. */
function hideSecrets(
  { accessByPath, setRealAccess }: Pick<ReturnType<typeof createAccessTable>, "accessByPath" | "setRealAccess">,
  { own, ...paths }: Pick<SandboxPaths, "home" | "isRoot" | "env" | "own">,
): void {
  const ownPaths = [own.config, own.data, own.state];
  const missing = [...missingSecrets(realPathOf(paths.home) ?? paths.home), ...ownPaths.map(resolveLinks)];
  for (const path of missing) accessByPath.set(path, "none");
  setRealAccess("none", [...secretPaths(paths), ...ownPaths]);
}

/** The last rule for a path wins. */
export function sortByDepth(rules: PathRule[]): PathRule[] {
  const last = new Map(rules.map((rule) => [rule.path, rule]));
  return [...last.values()].toSorted((a, b) => depth(a.path) - depth(b.path) || (a.path < b.path ? -1 : 1));
}

/** The description that the executor gets, to explain what the kernel denies. */
export function describeSandbox(rules: SandboxRules, policy: Policy, isEnforced: boolean): SandboxInfo {
  const hosts = namedHosts(policy);
  const pathsWith = (access: PathRule["access"]) => rules.rules.filter((rule) => rule.access === access).map((rule) => rule.path);
  return {
    policy: policy.name,
    net: policy.net,
    ...(rules.port === undefined || hosts.length === 0 ? {} : { named: { hosts, port: rules.port } }),
    unixSockets: rules.unixSockets,
    writable: pathsWith("write"),
    hidden: pathsWith("none"),
    temp: rules.temp,
    maxProcesses: executorMaxProcesses,
    maxMemoryBytes: policy.name === "full" ? null : Math.floor(totalmem() * memoryShare),
    isEnforced,
    ...(rules.sessionTag === undefined ? {} : { sessionTag: rules.sessionTag }),
  };
}

/** `env` is the user's environment: it can name further configuration files of git. */
type GuardInput = WritablePaths & { env?: Record<string, string | undefined> };

/** The paths in writable directories that stay read-only, if the tier can protect them. */
export function guardedPaths(policy: Policy, paths: GuardInput): string[] {
  return protectedPaths({ ...paths, writable: writablePaths(policy, paths), allowed: policy.allowWrite });
}

/**
 * The guarded paths that must stay mounted, with the directories above them. Other worktrees of the repository come and go,
 * and theirs are not among them.
 */
export function mountedGuards(policy: Policy, paths: GuardInput): string[] {
  const writable = writablePaths(policy, paths);
  const guarded = guardedPaths(policy, paths);
  const otherWorktrees = writable.map((path) => `${realPathOf(path) ?? path}${sep}worktrees`);
  return [...guarded, ...parentsOfProtected(guarded, writable)].filter(
    (path) => !otherWorktrees.some((directory) => path === directory || path.startsWith(directory + sep)),
  );
}

/** A regular file without links to it: an untrusted project could place a link here. */
function isOwnFile(path: string): boolean {
  try {
    const stat = lstatSync(path);
    return stat.isFile() && stat.nlink === 1 && lstatSync(dirname(path)).isDirectory();
  } catch {
    return false;
  }
}

/** Skills, roles and instructions are for the model, though they are beside hidden files. */
function readableSkeinPaths({ own, home }: SandboxPaths): string[] {
  return [...["skills", "roles", "AGENTS.md", "CLAUDE.md"].map((name) => `${own.config}/${name}`), `${home}/.claude/skills`];
}

/** The access of the longest path that contains `path`. */
function accessOf(accessByPath: ReadonlyMap<string, PathRule["access"]>, path: string): PathRule["access"] | null {
  return accessByPath.get(path) ?? (path === sep ? null : accessOf(accessByPath, dirname(path)));
}

/** Directories of skills that the user linked into a directory of skills. */
function linkedSkills({ own, home }: SandboxPaths): string[] {
  return [`${own.config}/skills`, `${home}/.agents/skills`, `${home}/.claude/skills`].flatMap((directory) => {
    try {
      const links = readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isSymbolicLink());
      const paths = links.map(({ name }) => `${directory}/${name}`).filter((path) => existsSync(`${path}/SKILL.md`));
      return paths.flatMap((path) => realPathOf(path) ?? []);
    } catch {
      return [];
    }
  });
}

function ownerOf(path: string): number {
  try {
    return statSync(path).uid;
  } catch {
    return 0;
  }
}

function depth(path: string): number {
  return path === sep ? 0 : path.split(sep).length - 1;
}
