// Samples the peak memory of a process tree from /proc. The rules:
// - a process belongs to the tree if its parent does at the first sample; an orphan stays in the tree;
// - a child with its parent's executable and arguments is not counted for up to 100 ms: between fork and exec it
//   shows the parent's pages a second time (after a vfork in PSS too);
// - RSS is the sum of resident pages every 5 ms, PSS the sum of smaps_rollup every 20 ms.
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

export type Peak = { rssBytes: number; pssBytes: number; samples: number };

type Member = { parent: number; seenAt: number; isSettled: boolean };

const pageBytes = 4096;
const forkMs = 100;

export function watchTree(root: number): { stop: () => Peak } {
  const members = new Map<number, Member>([[root, { parent: 0, seenAt: performance.now(), isSettled: true }]]);
  const others = new Set<number>();
  const peak: Peak = { rssBytes: 0, pssBytes: 0, samples: 0 };
  const timer = setInterval(() => {
    updateMembers(members, others);
    const counted = [...members].flatMap(([pid, member]) => (isCopy(pid, member) ? [] : [pid]));
    peak.rssBytes = Math.max(peak.rssBytes, sum(counted, residentBytes));
    if (peak.samples % 4 === 0) peak.pssBytes = Math.max(peak.pssBytes, sum(counted, proportionalBytes));
    peak.samples += 1;
  }, 5);
  return {
    stop: () => {
      clearInterval(timer);
      return peak;
    },
  };
}

/** The memory of a process and all its descendants at this moment. */
export function treeMemory(root: number): { rssBytes: number; pssBytes: number } {
  const pids = [root];
  for (const pid of pids) pids.push(...childrenOf(pid));
  return { rssBytes: sum(pids, residentBytes), pssBytes: sum(pids, proportionalBytes) };
}

/** Processes with this text in their start environment. */
export function processesWithEnv(marker: string): number[] {
  return processIds().filter((pid) => read(`/proc/${pid}/environ`).includes(marker));
}

export function childrenOf(parent: number): number[] {
  return processIds().filter((pid) => parentOf(pid) === parent);
}

export function isZombie(pid: number): boolean {
  return statFields(pid)[0] === "Z";
}

function updateMembers(members: Map<number, Member>, others: Set<number>): void {
  const alive = new Set(processIds());
  for (const pid of members.keys()) if (!alive.has(pid)) members.delete(pid);
  for (const pid of others) if (!alive.has(pid)) others.delete(pid);
  for (const pid of alive) {
    if (members.has(pid) || others.has(pid)) continue;
    const parent = parentOf(pid);
    if (members.has(parent)) members.set(pid, { parent, seenAt: performance.now(), isSettled: false });
    else others.add(pid);
  }
}

function isCopy(pid: number, member: Member): boolean {
  if (member.isSettled) return false;
  const isSame = identity(pid) === identity(member.parent) && performance.now() - member.seenAt < forkMs;
  if (!isSame) member.isSettled = true;
  return isSame;
}

function identity(pid: number): string {
  try {
    return `${readlinkSync(`/proc/${pid}/exe`)} ${read(`/proc/${pid}/cmdline`)}`;
  } catch {
    return `gone ${pid}`;
  }
}

function sum(pids: number[], bytes: (pid: number) => number): number {
  return pids.reduce((total, pid) => total + bytes(pid), 0);
}

function residentBytes(pid: number): number {
  return Number(read(`/proc/${pid}/statm`).split(" ")[1] ?? 0) * pageBytes;
}

function proportionalBytes(pid: number): number {
  return Number(/^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) * 1024;
}

function processIds(): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0);
}

function parentOf(pid: number): number {
  return Number(statFields(pid)[1] ?? 0);
}

/** The fields of stat after the name. The name may contain spaces and brackets. */
function statFields(pid: number): string[] {
  const stat = read(`/proc/${pid}/stat`);
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
