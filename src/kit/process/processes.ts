// Lists processes and their descendants, and ends a whole family: its group, its session, its descendants, and every
// process with the family's tag in its environment or in an rlimit. Ends no other process.
import { readdirSync } from "node:fs";
import { adoptsOrphans, rlimitTags } from "./libc.ts";
import { hasEnded, processDirectory, readText, statFields, threadsOf } from "./proc-files.ts";

export type ProcessInfo = { pid: number; parent: number; group: number; session: number; isZombie: boolean };

/**
 * `envTag` is `NAME=value`, or its beginning, in the environment of every process of the family. `rlimitTag` is the
 * limit that the family was started with. It survives a cleared environment, and counts only for our descendants.
 */
export type ProcessFamily = { root: number | null; envTag: string | null; rlimitTag?: number | null };

export function processTable(): ProcessInfo[] {
  return process.platform === "linux" ? fromProc() : fromPs();
}

/** Every descendant that is not a zombie. */
export function descendantsOf(pid: number, table: ProcessInfo[] = processTable()): number[] {
  const children = new Set(table.filter((row) => row.parent === pid).map((row) => row.pid));
  return withDescendants(table, children);
}

export function familyMembers(family: ProcessFamily, table: ProcessInfo[] = processTable()): number[] {
  const descendants = family.rlimitTag == null ? null : new Set(descendantsOf(process.pid, table));
  const members = table.filter((row) => isInFamily(row, descendants?.has(row.pid) === true ? family : { ...family, rlimitTag: null }));
  return withDescendants(table, new Set(members.map((row) => row.pid)));
}

/**
 * The descendants of this process that have an environment variable, and their own descendants, by the value of the variable. A
 * process can choose its own environment, but not that of its parents. So the topmost process with the variable decides.
 */
export function familiesByVariable(variable: string): Map<string, number[]> {
  const children = Map.groupBy(processTable(), (row) => row.parent);
  const families = new Map<string, number[]>();
  const pending: { pid: number; value: string | null }[] = [{ pid: process.pid, value: null }];
  for (let parent = pending.pop(); parent !== undefined; parent = pending.pop()) {
    for (const { pid, isZombie } of children.get(parent.pid) ?? []) {
      const value = parent.value ?? (isZombie ? null : valueIn(pid, variable));
      pending.push({ pid, value });
      if (value !== null && !isZombie) families.set(value, [...(families.get(value) ?? []), pid]);
    }
  }
  return families;
}

function valueIn(pid: number, variable: string): string | null {
  const entries = (readText(`${processDirectory(pid)}/environ`) ?? "").split("\0");
  return entries.find((entry) => entry.startsWith(`${variable}=`))?.slice(variable.length + 1) ?? null;
}

/** Sends SIGTERM, and SIGKILL after `graceMs`, until the family has ended. Resolves with the survivors after 5 more seconds. */
export async function endFamily(family: ProcessFamily, graceMs: number): Promise<number[]> {
  const killAt = performance.now() + graceMs;
  const signalled = new Set<number>();
  signalGroup(family.root, "SIGTERM");
  for (let wait = 5; ; wait = Math.min(wait * 2, 50)) {
    const survivors = familyMembers(family);
    // A process that forks all the time may be missing in every scan.
    if (survivors.length === 0 && !killStrayChildren((row) => isInFamily(row, family))) return [];
    const isTimeToKill = performance.now() >= killAt;
    if (isTimeToKill && performance.now() >= killAt + 5000) return survivors;
    if (isTimeToKill) signalGroup(family.root, "SIGKILL");
    for (const pid of survivors) {
      if (isTimeToKill) sendSignal(pid, "SIGKILL");
      else if (!signalled.has(pid)) sendSignal(pid, "SIGTERM");
      signalled.add(pid);
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

/** Kills the processes from `listPids` until there are none. Does not wait, so a process can call it before it exits. */
export function killAll(listPids: () => number[]): void {
  // A scan takes time, and a process may fork during it. After a kill only two empty scans are conclusive.
  let hadPids = false;
  for (let round = 0; round < 50; round += 1) {
    const pids = listPids();
    if (pids.length === 0 && !hadPids) return;
    hadPids = pids.length > 0;
    for (const pid of pids) sendSignal(pid, "SIGKILL");
  }
}

/**
 * Kills matching children of this process that it did not start itself. It is much faster than a scan of all processes.
 * A process that forks and exits all the time is missed by such a scan, but becomes a child of ours each time.
 */
export function killStrayChildren(shouldKill: (row: ProcessInfo) => boolean): boolean {
  const visited = new Set<number>();
  let hasKilled = false;
  for (let quiet = 0, round = 0; quiet < 20 && round < 2000; round += 1) {
    quiet += 1;
    for (const pid of ownChildren()) {
      if (visited.has(pid)) continue;
      visited.add(pid);
      const row = rowOf(pid);
      if (row === null || row.isZombie || !shouldKill(row)) continue;
      sendSignal(pid, "SIGKILL");
      quiet = 0;
      hasKilled = true;
    }
  }
  return hasKilled;
}

/** Zombie children that this process adopted. */
export function adoptedZombies(started: ReadonlySet<number>): number[] {
  if (!adoptsOrphans()) return [];
  const others = ownChildren().filter((pid) => !started.has(pid));
  // Bun reaps the children that it started in this session.
  const isAdopted = (row: ProcessInfo | null) => row !== null && row.isZombie && row.session !== ownSession();
  return others.filter((pid) => isAdopted(rowOf(pid)));
}

function ownChildren(): number[] {
  const children = readText(`/proc/self/task/${process.pid}/children`)?.trim();
  return children ? children.split(" ").map(Number) : [];
}

/** The start time in the format of the system. With the pid it identifies a process. Null for a zombie, and if there is no process. */
export function processStartTime(pid: number): string | null {
  if (process.platform === "darwin") return startFromPs(pid);
  const fields = statFields(`/proc/${pid}`);
  return hasEnded(fields) ? null : (fields?.[19] ?? null);
}

/** True when SIGSTOP has stopped every thread, until SIGCONT. */
export function isStopped(pid: number): boolean {
  if (process.platform === "darwin")
    return Bun.spawnSync(["/bin/ps", "-o", "stat=", "-p", String(pid)])
      .stdout.toString()
      .startsWith("T");
  const threads = threadsOf(pid);
  return threads.length > 0 && threads.every(({ state }) => state === "T");
}

function signalGroup(group: number | null, name: "SIGTERM" | "SIGKILL"): void {
  if (group !== null) sendSignal(-group, name);
}

/** False if the process has ended or belongs to another user. A negative pid is a process group. */
export function sendSignal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

/** The pids and their descendants, without zombies and this process. Adds to `pids`. */
function withDescendants(table: ProcessInfo[], pids: Set<number>): number[] {
  const children = Map.groupBy(table, (row) => row.parent);
  for (const pid of pids) for (const child of children.get(pid) ?? []) pids.add(child.pid);
  pids.delete(process.pid);
  return table.filter((row) => pids.has(row.pid) && !row.isZombie).map((row) => row.pid);
}

function isInFamily(row: ProcessInfo, { root, envTag, rlimitTag = null }: ProcessFamily): boolean {
  const isInGroup = root !== null && (row.pid === root || row.group === root || row.session === root);
  return isInGroup || (envTag !== null && hasEnvTag(row, envTag)) || (rlimitTag !== null && hasRlimitTag(row, rlimitTag));
}

/** True for an adopted orphan without any tag, too: it removed its tag on purpose, so it ends with the next family. */
function hasRlimitTag(row: ProcessInfo, tag: number): boolean {
  const limit = row.isZombie ? null : /^Max msgqueue size\s+(\d+|unlimited)/m.exec(readText(`/proc/${row.pid}/limits`) ?? "");
  if (!limit) return false;
  const value = Number(limit[1]);
  if (value === tag) return true;
  const isAnyTag = value >= rlimitTags.start && value < rlimitTags.end;
  return !isAnyTag && adoptsOrphans() && row.parent === process.pid && row.session !== ownSession();
}

function ownSession(): number | null {
  return rowOf(process.pid)?.session ?? null;
}

function hasEnvTag(row: ProcessInfo, tag: string): boolean {
  const environment = row.isZombie || row.pid === process.pid ? null : readText(`${processDirectory(row.pid)}/environ`);
  return environment !== null && (environment.startsWith(tag) || environment.includes(`\0${tag}`));
}

function fromProc(): ProcessInfo[] {
  // In a pid namespace that uses the /proc of another one the pids would be wrong.
  if (Number(readText("/proc/self/stat")?.split(" ", 1)[0]) !== process.pid) return [];
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => rowOf(Number(name)))
    .filter((row) => row !== null);
}

function rowOf(pid: number): ProcessInfo | null {
  const fields = statFields(`/proc/${pid}`);
  if (fields === null) return null;
  const [, parent, group, session] = fields;
  return { pid, parent: Number(parent), group: Number(group), session: Number(session), isZombie: hasEnded(fields) };
}

function fromPs(): ProcessInfo[] {
  const { stdout } = Bun.spawnSync(["/bin/ps", "-axo", "pid=,ppid=,pgid=,stat="]);
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
