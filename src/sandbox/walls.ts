// What may be read, written and reached, as data: a policy and a few places become rules on paths. The longest path
// that leads to a file decides. Enforces nothing; the launcher and the Seatbelt profile are made from it.
import { lstatSync, realpathSync, statSync } from "node:fs";
import { totalmem } from "node:os";
import { dirname, sep } from "node:path";
import type { Bounds, Policy, SessionMark } from "../protocol/policy.ts";
import { guardedInGit, gitPlaces } from "./git-places.ts";
import { scratchPlaces, secretPlaces } from "./places.ts";

/** `scratch` can be read, and what is written there goes to a copy of its own; where that can't be had it is read-only. */
export type Rule = { path: string; access: "none" | "read" | "write" | "scratch" };

export type Walls = {
  /** From the shortest path to the longest; the first is for everything. */
  rules: Rule[];
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
  mark?: SessionMark;
};

export type Places = {
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
export function wallsFor(policy: Policy, places: Places): Walls {
  const writable = writablePlaces(policy, places);
  const found = new Map<string, Rule["access"]>([["/", "read"]]);
  const put = (access: Rule["access"], paths: string[]) => {
    for (const path of paths.map(real)) if (path !== null) found.set(path, access);
  };
  put("scratch", scratchPlaces(places.home));
  put("none", secretPlaces(places));
  put("none", [places.own.config, places.own.data, places.own.state]);
  put("read", shownOfOurs(places));
  // Also where the project lies in a scratch place: what seems to be written must not be lost.
  put(
    "read",
    [places.project, places.directory, ...policy.addDirs].filter((path) => !isTooWide(path, places.home)),
  );
  put("write", writable);
  put("read", protectedPlaces(writable, policy.allowWrite));
  if (policy.name !== "readonly" && isOwnFile(planFile(places.project))) put("write", [planFile(places.project)]);
  put("write", [places.temp]);
  const rules = [...found].map(([path, access]) => ({ path, access }));
  return {
    rules: byDepth(rules),
    net: policy.net,
    unixSockets: places.unixSockets,
    temp: places.temp,
    copies: places.copies,
    maxProcesses: mostProcesses,
    keepsOwnerRights: places.isRoot && writable.some((path) => ownerOf(path) !== 0),
  };
}

/** What is named twice goes by the last. */
export function byDepth(rules: Rule[]): Rule[] {
  const last = new Map(rules.map((rule) => [rule.path, rule]));
  return [...last.values()].toSorted((a, b) => depth(a.path) - depth(b.path) || (a.path < b.path ? -1 : 1));
}

/** What the executor is told, to explain what the kernel denies. */
export function boundsOf(walls: Walls, policy: Policy, isEnforced: boolean): Bounds {
  const paths = (access: Rule["access"]) => walls.rules.filter((rule) => rule.access === access).map((rule) => rule.path);
  return {
    policy: policy.name,
    net: policy.net,
    unixSockets: walls.unixSockets,
    writable: paths("write"),
    hidden: paths("none"),
    temp: walls.temp,
    maxProcesses: manyProcesses,
    maxMemoryBytes: policy.name === "full" ? null : Math.floor(totalmem() * memoryShare),
    isEnforced,
    ...(walls.mark === undefined ? {} : { mark: walls.mark }),
  };
}

export function planFile(project: string): string {
  return `${project}/.skein/plan.md`;
}

/** The home directory is no project: a tool that may write it may write what runs at the next login. */
export function isTooWide(project: string, home: string): boolean {
  return `${real(home) ?? home}${sep}`.startsWith(project === sep ? sep : `${real(project) ?? project}${sep}`);
}

function writablePlaces(policy: Policy, places: Places): string[] {
  if (policy.name !== "workspace") return [];
  const own = [places.project, places.directory].filter((path) => !isTooWide(path, places.home));
  const all = [...own, ...policy.addDirs, ...policy.allowWrite];
  return [...all, ...all.flatMap(gitPlaces)];
}

/**
 * Where a change would run code, or widen what skein does, outside of the walls. Only what lies in a writable place:
 * a link must not make a secret readable by being guarded.
 */
function protectedPlaces(writable: string[], asked: string[]): string[] {
  const within = writable.flatMap((path) => real(path) ?? []);
  const wanted = new Set(asked.map(real));
  const guarded = writable.flatMap((path) => [...guardedInGit(path), `${path}/.skein`]).flatMap((path) => real(path) ?? []);
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
function shownOfOurs({ own, home }: Places): string[] {
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
