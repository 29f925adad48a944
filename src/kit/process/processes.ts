// Who runs on this machine, who descends from whom, and how to end a whole family: group, session, descendants,
// and whoever carries its mark in the environment, or its sign in a limit, after leaving all three. Ends nothing else.
import { readdirSync, readFileSync } from "node:fs";
import { adoptsOrphans, rlimitTags } from "./libc.ts";

export type ProcessInfo = { pid: number; parent: number; group: number; session: number; isZombie: boolean };

/**
 * `mark` is a `NAME=value` (or a beginning of one) in the environment of every process of the family. `sign` is the limit
 * it was started with, which stays when the environment is gone; it counts only below this process.
 */
export type ProcessFamily = { root: number | null; envTag: string | null; rlimitTag?: number | null };

export function processTable(): ProcessInfo[] {
  return process.platform === "linux" ? fromProc() : fromPs();
}

/** Every living process below this one. */
export function descendantsOf(pid: number, table: ProcessInfo[] = processTable()): number[] {
  const children = new Set(table.filter((row) => row.parent === pid).map((row) => row.pid));
  return closure(table, children);
}

export function familyMembers(family: ProcessFamily, table: ProcessInfo[] = processTable()): number[] {
  const below = family.rlimitTag == null ? null : new Set(descendantsOf(process.pid, table));
  const members = table.filter((row) => isInFamily(row, below?.has(row.pid) === true ? family : { ...family, rlimitTag: null }));
  return closure(table, new Set(members.map((row) => row.pid)));
}

/** All families that are marked by one variable, by its value. */
export function familiesByVariable(variable: string): Map<string, number[]> {
  const table = processTable();
  const beginning = `${variable}=`;
  const marked = new Map<string, Set<number>>();
  for (const row of table) {
    const environment = row.isZombie || row.pid === process.pid ? "" : (readText(`/proc/${row.pid}/environ`) ?? "");
    const value = environment
      .split("\0")
      .find((entry) => entry.startsWith(beginning))
      ?.slice(beginning.length);
    if (value !== undefined) marked.set(value, (marked.get(value) ?? new Set()).add(row.pid));
  }
  return new Map([...marked].map(([value, pids]) => [value, closure(table, pids)]));
}

/** SIGTERM, then SIGKILL after the grace, until none is left. Resolves with those that would not die. */
export async function endFamily(family: ProcessFamily, graceMs: number): Promise<number[]> {
  const killAt = performance.now() + graceMs;
  const told = new Set<number>();
  signalGroup(family.root, "SIGTERM");
  for (let wait = 5; ; wait = Math.min(wait * 2, 50)) {
    const left = familyMembers(family);
    // Who is somewhere else in every table is missing in this one.
    if (left.length === 0 && !killStrayChildren((row) => isInFamily(row, family))) return [];
    const isTimeToKill = performance.now() >= killAt;
    if (isTimeToKill && performance.now() >= killAt + 5000) return left;
    if (isTimeToKill) signalGroup(family.root, "SIGKILL");
    for (const pid of left) {
      if (isTimeToKill) signal(pid, "SIGKILL");
      else if (!told.has(pid)) signal(pid, "SIGTERM");
      told.add(pid);
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

/** Kills what `find` finds until it finds nothing, without waiting; for a process that is about to end itself. */
export function killAll(find: () => number[]): void {
  // A table is not read in one moment: after a kill it takes two empty ones to be sure.
  let hasFound = false;
  for (let round = 0; round < 50; round += 1) {
    const pids = find();
    if (pids.length === 0 && !hasFound) return;
    hasFound = pids.length > 0;
    for (const pid of pids) signal(pid, "SIGKILL");
  }
}

/**
 * Kills children of this process that it did not start, in much less time than a whole table takes: whoever forks and
 * leaves, again and again, is somewhere else by then, but becomes a child of ours each time.
 */
export function killStrayChildren(isWanted: (row: ProcessInfo) => boolean): boolean {
  const seen = new Set<number>();
  let hasFound = false;
  for (let quiet = 0, round = 0; quiet < 20 && round < 2000; round += 1) {
    quiet += 1;
    for (const pid of ownChildren()) {
      if (seen.has(pid)) continue;
      seen.add(pid);
      const row = rowOf(pid);
      if (row === null || row.isZombie || !isWanted(row)) continue;
      signal(pid, "SIGKILL");
      quiet = 0;
      hasFound = true;
    }
  }
  return hasFound;
}

/** Dead children of this process that it did not start itself: orphans it adopted. */
export function adoptedZombies(started: ReadonlySet<number>): number[] {
  if (!adoptsOrphans()) return [];
  const strangers = ownChildren().filter((pid) => !started.has(pid));
  // What this process started in its own session is the runtime's to take off.
  const isAdopted = (row: ProcessInfo | null) => row !== null && row.isZombie && row.session !== ownSession();
  return strangers.filter((pid) => isAdopted(rowOf(pid)));
}

function ownChildren(): number[] {
  const children = readText(`/proc/self/task/${process.pid}/children`)?.trim();
  return children ? children.split(" ").map(Number) : [];
}

/** When a process began, in the system's own words: with its pid it names it for good. Null when only remains are there. */
export function processStartTime(pid: number): string | null {
  if (process.platform === "darwin") return startFromPs(pid);
  const stat = readText(`/proc/${pid}/stat`);
  if (!stat) return null;
  const fields = afterName(stat);
  return fields[0] === "Z" || fields[0] === "X" ? null : (fields[19] ?? null);
}

/** Whether it stands still because somebody stopped it. */
export function isStopped(pid: number): boolean {
  if (process.platform === "darwin")
    return Bun.spawnSync(["/bin/ps", "-o", "stat=", "-p", String(pid)])
      .stdout.toString()
      .startsWith("T");
  const stat = readText(`/proc/${pid}/stat`);
  return stat !== null && afterName(stat)[0] === "T";
}

function signalGroup(group: number | null, name: "SIGTERM" | "SIGKILL"): void {
  if (group !== null) signal(-group, name);
}

function signal(pid: number, name: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended by itself, or is not ours to end.
  }
}

function closure(table: ProcessInfo[], found: Set<number>): number[] {
  const children = Map.groupBy(table, (row) => row.parent);
  for (const pid of found) for (const child of children.get(pid) ?? []) found.add(child.pid);
  found.delete(process.pid);
  return table.filter((row) => found.has(row.pid) && !row.isZombie).map((row) => row.pid);
}

function isInFamily(row: ProcessInfo, { root, envTag: mark, rlimitTag: sign = null }: ProcessFamily): boolean {
  const isInGroup = root !== null && (row.pid === root || row.group === root || row.session === root);
  return isInGroup || (mark !== null && hasMark(row, mark)) || (sign !== null && isSigned(row, sign));
}

/** An orphan that came to us without the sign of any call has got rid of it on purpose: it ends with the next family. */
function isSigned(row: ProcessInfo, sign: number): boolean {
  const limit = row.isZombie ? null : /^Max msgqueue size\s+(\d+|unlimited)/m.exec(readText(`/proc/${row.pid}/limits`) ?? "");
  if (!limit) return false;
  const value = Number(limit[1]);
  if (value === sign) return true;
  const isAnyCall = value >= rlimitTags.start && value < rlimitTags.end;
  return !isAnyCall && adoptsOrphans() && row.parent === process.pid && row.session !== ownSession();
}

function ownSession(): number | null {
  return rowOf(process.pid)?.session ?? null;
}

function hasMark(row: ProcessInfo, mark: string): boolean {
  const environment = row.isZombie || row.pid === process.pid ? null : readText(`/proc/${row.pid}/environ`);
  return environment !== null && (environment.startsWith(mark) || environment.includes(`\0${mark}`));
}

function fromProc(): ProcessInfo[] {
  // In a pid namespace without a /proc of its own the numbers would be someone else's.
  if (Number(readText("/proc/self/stat")?.split(" ", 1)[0]) !== process.pid) return [];
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => rowOf(Number(name)))
    .filter((row) => row !== null);
}

function rowOf(pid: number): ProcessInfo | null {
  const stat = readText(`/proc/${pid}/stat`);
  if (!stat) return null;
  const [state, parent, group, session] = afterName(stat);
  return { pid, parent: Number(parent), group: Number(group), session: Number(session), isZombie: state === "Z" || state === "X" };
}

/** The name in parentheses may contain anything, a parenthesis too. */
function afterName(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

function fromPs(): ProcessInfo[] {
  const { stdout } = Bun.spawnSync(["ps", "-axo", "pid=,ppid=,pgid=,stat="]);
  return stdout
    .toString()
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields.length >= 4)
    .map(([pid, parent, group, stat]) => ({
      pid: Number(pid),
      parent: Number(parent),
      group: Number(group),
      session: Number(group),
      isZombie: stat!.startsWith("Z"),
    }));
}

function startFromPs(pid: number): string | null {
  const { exitCode, stdout } = Bun.spawnSync(["/bin/ps", "-o", "lstart=", "-p", String(pid)], {
    stdin: "ignore",
    stderr: "ignore",
    env: { LC_ALL: "C", TZ: "UTC" },
  });
  return (exitCode === 0 && stdout.toString().trim()) || null;
}
