// Finds the processes of a temporary home: their environment, arguments, working directory or open files contain its path.
// It ends none of them.
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

export type LivingProcess = { pid: number; command: string; started: string };

/** `tag`: text in the arguments that no other process of the machine has (see `ownRlimitTag`). */
export type ProcessTags = { tag?: string };

/** Returns a duration for sleep of about a day that no other test run uses. */
export function ownRlimitTag(): string {
  return `86395.${crypto.getRandomValues(new Uint32Array(1))[0]}`;
}

export function processesOf(root: string, { tag }: ProcessTags = {}): LivingProcess[] {
  return table().filter(({ pid, command }) => {
    if (pid === process.pid || command === "") return false;
    if (command.includes(root) || (tag !== undefined && command.includes(tag))) return true;
    return readText(`/proc/${pid}/environ`).includes(root) || linksOf(pid).some((path) => path.startsWith(root));
  });
}

/** Waits until one process matches. Between fork and exec a child has the command line of its parent for a moment. */
export async function findProcess(root: string, matches: (command: string) => boolean): Promise<LivingProcess> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    const processes = processesOf(root).filter(({ command }) => matches(command));
    if (processes.length === 1) return processes[0]!;
    if (performance.now() >= deadline) throw new Error(`expected one process, but got ${JSON.stringify(processes)}`);
    await Bun.sleep(20);
  }
}

/** Returns every living descendant. */
export function childrenOf(pid: number): LivingProcess[] {
  const rows = table();
  const family = new Set([pid]);
  for (const parent of family) for (const row of rows) if (row.parent === parent) family.add(row.pid);
  return rows.filter((row) => row.pid !== pid && family.has(row.pid));
}

/** True if a thread runs or waits for a processor or the disk. */
export function isAtWork(pid: number): boolean {
  const threads = readdirSync(`/proc/${pid}/task`);
  return threads.some((thread) => /\) [RD] /.test(readText(`/proc/${pid}/task/${thread}/stat`)));
}

export type WaitOptions = ProcessTags & {
  /** More processes to wait for, from an earlier scan. */
  family?: LivingProcess[];
  only?: (living: LivingProcess) => boolean;
};

/** Waits until no process is left. Returns the processes that still run after `limitMs`. */
export async function waitForNoProcesses(root: string, limitMs = 20_000, options: WaitOptions = {}): Promise<LivingProcess[]> {
  const deadline = performance.now() + limitMs;
  const { family = [], only = () => true } = options;
  for (;;) {
    const living = new Set(table().map(({ pid, started }) => `${pid} ${started}`));
    const survivors = family.filter(({ pid, started }) => living.has(`${pid} ${started}`));
    const remaining = [...survivors, ...processesOf(root, options)].filter(only);
    if (remaining.length === 0 || performance.now() >= deadline) return remaining;
    await Bun.sleep(20);
  }
}

type Row = LivingProcess & { parent: number };

/** Reads all processes from /proc, without zombies. */
function table(): Row[] {
  return readdirSync("/proc").flatMap((name) => {
    const pid = Number(name);
    const stat = Number.isInteger(pid) ? readText(`/proc/${name}/stat`) : "";
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (stat === "" || fields[0] === "Z" || fields[0] === "X") return [];
    const command = readText(`/proc/${name}/cmdline`).replaceAll("\0", " ").trim();
    return [{ pid, command, started: fields[19] ?? "", parent: Number(fields[1]) }];
  });
}

/** Returns the working directory and the open files of a process. */
function linksOf(pid: number): string[] {
  const links = [`/proc/${pid}/cwd`];
  try {
    links.push(...readdirSync(`/proc/${pid}/fd`).map((fd) => `/proc/${pid}/fd/${fd}`));
  } catch {
    // The process has ended, or belongs to another user.
  }
  return links.map((link) => {
    try {
      return readlinkSync(link);
    } catch {
      return "";
    }
  });
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
