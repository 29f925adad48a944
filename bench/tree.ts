// Peak memory of a process and everything under it, sampled from /proc. The rule:
// - a process belongs to the tree if its parent did when it was first seen; one that is orphaned later stays in;
// - a child that for up to 100 ms still shows its parent's executable and arguments is not counted: between fork and
//   exec it shows the parent's pages a second time (after a vfork in PSS too);
// - RSS is the sum of resident pages every 5 ms, PSS the sum of smaps_rollup every 20 ms.
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

export type Peak = { rssBytes: number; pssBytes: number; samples: number };

type Member = { parent: number; seenAt: number; isSettled: boolean };

const pageBytes = 4096;
const forkMs = 100;

export function watchTree(root: number): { stop: () => Peak } {
  const members = new Map<number, Member>([[root, { parent: 0, seenAt: performance.now(), isSettled: true }]]);
  const strangers = new Set<number>();
  const peak: Peak = { rssBytes: 0, pssBytes: 0, samples: 0 };
  const timer = setInterval(() => {
    updateMembers(members, strangers);
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

/** Processes with this text in the environment they were started with. */
export function processesMarked(marker: string): number[] {
  return processIds().filter((pid) => read(`/proc/${pid}/environ`).includes(marker));
}

export function childrenOf(parent: number): number[] {
  return processIds().filter((pid) => parentOf(pid) === parent);
}

export function isZombie(pid: number): boolean {
  return statFields(pid)[0] === "Z";
}

function updateMembers(members: Map<number, Member>, strangers: Set<number>): void {
  const alive = new Set(processIds());
  for (const pid of members.keys()) if (!alive.has(pid)) members.delete(pid);
  for (const pid of strangers) if (!alive.has(pid)) strangers.delete(pid);
  for (const pid of alive) {
    if (members.has(pid) || strangers.has(pid)) continue;
    const parent = parentOf(pid);
    if (members.has(parent)) members.set(pid, { parent, seenAt: performance.now(), isSettled: false });
    else strangers.add(pid);
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

/** The fields of stat after the name, which may itself contain spaces and brackets. */
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
