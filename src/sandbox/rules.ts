// What may be read, written and reached, as data: a policy and a few places become rules on paths. The longest path
// that leads to a file decides. Enforces nothing; the launcher and the Seatbelt profile are made from it.
import { lstatSync, realpathSync, statSync } from "node:fs";
import { totalmem } from "node:os";
import { dirname, sep } from "node:path";
import type { SandboxInfo, Policy, SessionTag } from "../protocol/api/policy.ts";
import { protectedGitPaths, writableGitPaths } from "./git-paths.ts";
import { scratchPaths, secretPaths } from "./known-paths.ts";

/** `scratch` can be read, and what is written there goes to a copy of its own; where that can't be had it is read-only. */
export type PathRule = { path: string; access: "none" | "read" | "write" | "scratch" };

export type SandboxRules = {
  /** From the shortest path to the longest; the first is for everything. */
  rules: PathRule[];
  net: "on" | "off";
  /**
   * With the network off, the one port of the loopback that can be reached all the same. In a namespace it is the
   * program's own and `inner-port.ts` hands it out; elsewhere it is the machine's.
   */
  port?: number;
  unixSockets: boolean;
  /** Private and writable: the tools' TMPDIR. */
  temp: string;
  /** Where the copies that `scratch` makes are kept. */
  copies: string;
  maxProcesses: number;
  /** Root may write what belongs to others only where the project does. */
  keepsOwnerRights: boolean;
  /** Shown to those inside, by `within.ts`; they can't remove it. */
  sessionTag?: SessionTag;
};

export type SandboxPaths = {
  project: string;
  directory: string;
  home: string;
  /** skein's own directories: hidden but for what a model is told to read. */
  own: { config: string; data: string; state: string; cache: string };
  /** Both exist, and are nobody else's. */
  temp: string;
  copies: string;
  isRoot: boolean;
  unixSockets: boolean;
  /** The person's environment, which may have moved secrets. */
  env?: Record<string, string | undefined>;
};

/** Held by the kernel; the executor ends what comes near it, and says so. */
const mostProcesses = 4096;
const manyProcesses = 3000;
/** Of the machine's memory: commands that take more end before the machine does. */
const memoryShare = 0.75;

/** For every policy but `full`, which has no walls. */
export function createSandboxRules(policy: Policy, places: SandboxPaths): SandboxRules {
  const writable = writablePlaces(policy, places);
  const found = new Map<string, PathRule["access"]>([["/", "read"]]);
  const put = (access: PathRule["access"], paths: string[]) => {
    for (const path of paths.map(real)) if (path !== null) found.set(path, access);
  };
  put("scratch", scratchPaths(places.home));
  put("none", secretPaths(places));
  put("none", [places.own.config, places.own.data, places.own.state]);
  put("read", readableSkeinPaths(places));
  // Also where the project lies in a scratch place: what seems to be written must not be lost.
  put(
    "read",
    [places.project, places.directory, ...policy.addDirs].filter((path) => !isTooBroad(path, places.home)),
  );
  put("write", writable);
  put("read", protectedPlaces(writable, policy.allowWrite));
  if (policy.name !== "readonly" && isOwnFile(planFilePath(places.project))) put("write", [planFilePath(places.project)]);
  put("write", [places.temp]);
  const rules = [...found].map(([path, access]) => ({ path, access }));
  return {
    rules: sortByDepth(rules),
    net: policy.net,
    unixSockets: places.unixSockets,
    temp: places.temp,
    copies: places.copies,
    maxProcesses: mostProcesses,
    keepsOwnerRights: places.isRoot && writable.some((path) => ownerOf(path) !== 0),
  };
}

/** What is named twice goes by the last. */
export function sortByDepth(rules: PathRule[]): PathRule[] {
  const last = new Map(rules.map((rule) => [rule.path, rule]));
  return [...last.values()].toSorted((a, b) => depth(a.path) - depth(b.path) || (a.path < b.path ? -1 : 1));
}

/** What the executor is told, to explain what the kernel denies. */
export function describeSandbox(rules: SandboxRules, policy: Policy, isEnforced: boolean): SandboxInfo {
  const paths = (access: PathRule["access"]) => rules.rules.filter((rule) => rule.access === access).map((rule) => rule.path);
  return {
    policy: policy.name,
    net: policy.net,
    unixSockets: rules.unixSockets,
    writable: paths("write"),
    hidden: paths("none"),
    temp: rules.temp,
    maxProcesses: manyProcesses,
    maxMemoryBytes: policy.name === "full" ? null : Math.floor(totalmem() * memoryShare),
    isEnforced,
    ...(rules.sessionTag === undefined ? {} : { sessionTag: rules.sessionTag }),
  };
}

export function planFilePath(project: string): string {
  return `${project}/.skein/plan.md`;
}

/** The home directory is no project: a tool that may write it may write what runs at the next login. */
export function isTooBroad(project: string, home: string): boolean {
  return `${real(home) ?? home}${sep}`.startsWith(project === sep ? sep : `${real(project) ?? project}${sep}`);
}

function writablePlaces(policy: Policy, places: SandboxPaths): string[] {
  if (policy.name !== "workspace") return [];
  const own = [places.project, places.directory].filter((path) => !isTooBroad(path, places.home));
  const all = [...own, ...policy.addDirs, ...policy.allowWrite];
  return [...all, ...all.flatMap(writableGitPaths)];
}

/**
 * Where a change would run code, or widen what skein does, outside of the walls. Only what lies in a writable place:
 * a link must not make a secret readable by being guarded.
 */
function protectedPlaces(writable: string[], asked: string[]): string[] {
  const within = writable.flatMap((path) => real(path) ?? []);
  const wanted = new Set(asked.map(real));
  const guarded = writable.flatMap((path) => [...protectedGitPaths(path), `${path}/.skein`]).flatMap((path) => real(path) ?? []);
  return guarded.filter((path) => !wanted.has(path) && within.some((one) => path.startsWith(one + sep)));
}

/** Not reached by a link: the project may be a stranger's. */
function isOwnFile(path: string): boolean {
  try {
    const stat = lstatSync(path);
    return stat.isFile() && stat.nlink === 1 && lstatSync(dirname(path)).isDirectory();
  } catch {
    return false;
  }
}

/** Skills and roles are read by the model; they lie beside what it must not see. */
function readableSkeinPaths({ own, home }: SandboxPaths): string[] {
  return [...["skills", "roles", "AGENTS.md", "CLAUDE.md"].map((name) => `${own.config}/${name}`), `${home}/.claude/skills`];
}

function real(path: string): string | null {
  // Most of the places that are looked for do not exist, and an exception for each would cost milliseconds.
  try {
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return null;
    return realpathSync(path);
  } catch {
    return null;
  }
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
