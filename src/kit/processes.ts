// Who runs on this machine, who descends from whom, and how to end a whole family: group, session, descendants,
// and whoever carries its mark in the environment after leaving all three. Ends nothing it was not asked to.
import { readdirSync, readFileSync } from "node:fs";

export type ProcessRow = { pid: number; parent: number; group: number; session: number; isZombie: boolean };

/** `mark` is a `NAME=value` (or a beginning of one) in the environment of every process of the family. */
export type Family = { root: number | null; mark: string | null };

export function processTable(): ProcessRow[] {
  return process.platform === "linux" ? fromProc() : fromPs();
}

/** Every living process below this one. */
export function descendantsOf(pid: number, table: ProcessRow[] = processTable()): number[] {
  const children = new Set(table.filter((row) => row.parent === pid).map((row) => row.pid));
  return closure(table, children);
}

export function familyMembers(family: Family, table: ProcessRow[] = processTable()): number[] {
  const found = new Set<number>();
  for (const row of table) {
    const isInGroup = family.root !== null && [row.pid, row.group, row.session].includes(family.root);
    if (isInGroup || (family.mark !== null && hasMark(row, family.mark))) found.add(row.pid);
  }
  return closure(table, found);
}

/** SIGTERM, then SIGKILL after the grace, until none is left. Resolves with those that would not die. */
export async function endFamily(family: Family, graceMs: number): Promise<number[]> {
  const killAt = performance.now() + graceMs;
  const told = new Set<number>();
  signalGroup(family.root, "SIGTERM");
  for (let wait = 5; ; wait = Math.min(wait * 2, 50)) {
    const left = familyMembers(family);
    if (left.length === 0) return [];
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

/** Dead children of this process that it did not start itself: orphans it adopted. */
export function adoptedZombies(started: ReadonlySet<number>): number[] {
  const children = readText(`/proc/self/task/${process.pid}/children`)?.trim();
  if (!children) return [];
  const strangers = children
    .split(" ")
    .map(Number)
    .filter((pid) => !started.has(pid));
  return strangers.filter((pid) => rowOf(pid)?.isZombie);
}

/** When a process began, in the system's own words: with its pid it names it for good. Null when only remains are there. */
export function startOf(pid: number): string | null {
  if (process.platform === "darwin") return startFromPs(pid);
  const stat = readText(`/proc/${pid}/stat`);
  if (!stat) return null;
  const fields = afterName(stat);
  return fields[0] === "Z" || fields[0] === "X" ? null : (fields[19] ?? null);
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

function closure(table: ProcessRow[], found: Set<number>): number[] {
  const children = Map.groupBy(table, (row) => row.parent);
  for (const pid of found) for (const child of children.get(pid) ?? []) found.add(child.pid);
  found.delete(process.pid);
  return table.filter((row) => found.has(row.pid) && !row.isZombie).map((row) => row.pid);
}

function hasMark(row: ProcessRow, mark: string): boolean {
  const environment = row.isZombie || row.pid === process.pid ? null : readText(`/proc/${row.pid}/environ`);
  return environment !== null && (environment.startsWith(mark) || environment.includes(`\0${mark}`));
}

function fromProc(): ProcessRow[] {
  // In a pid namespace without a /proc of its own the numbers would be someone else's.
  if (Number(readText("/proc/self/stat")?.split(" ", 1)[0]) !== process.pid) return [];
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => rowOf(Number(name)))
    .filter((row) => row !== null);
}

function rowOf(pid: number): ProcessRow | null {
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

function fromPs(): ProcessRow[] {
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
