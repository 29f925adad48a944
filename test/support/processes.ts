// Finds the processes that belong to a temporary home: whoever has its path in the environment, the arguments, the
// working directory or an open file, and whoever descends from one. It ends none of them.
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

export type LivingProcess = { pid: number; command: string; started: string };

/** More ways to belong: a word in the arguments, which nobody else on the machine may have (`ownSign`). */
export type ProcessTags = { sign?: string };

/** A duration for sleep, of about a day, that no other test and no other run of it has. */
export function ownRlimitTag(): string {
  return `86395.${crypto.getRandomValues(new Uint32Array(1))[0]}`;
}

export function processesOf(root: string, { sign }: ProcessTags = {}): LivingProcess[] {
  return table().filter(({ pid, command }) => {
    if (pid === process.pid || command === "") return false;
    if (command.includes(root) || (sign !== undefined && command.includes(sign))) return true;
    return readText(`/proc/${pid}/environ`).includes(root) || linksOf(pid).some((path) => path.startsWith(root));
  });
}

/** The only one with such a command line. A child that has not become its own program yet has its parent's for a moment. */
export async function findProcess(root: string, isIt: (command: string) => boolean): Promise<LivingProcess> {
  const giveUpAt = performance.now() + 60_000;
  for (;;) {
    const found = processesOf(root).filter(({ command }) => isIt(command));
    if (found.length === 1) return found[0]!;
    if (performance.now() >= giveUpAt) throw new Error(`one process was looked for, not ${JSON.stringify(found)}`);
    await Bun.sleep(20);
  }
}

/** Every living process below this one. */
export function childrenOf(pid: number): LivingProcess[] {
  const rows = table();
  const found = new Set([pid]);
  for (const each of found) for (const row of rows) if (row.parent === each) found.add(row.pid);
  return rows.filter((row) => row.pid !== pid && found.has(row.pid));
}

/** Runs, or would if the machine let it. */
export function isAtWork(pid: number): boolean {
  const threads = readdirSync(`/proc/${pid}/task`);
  return threads.some((thread) => /\) [RD] /.test(readText(`/proc/${pid}/task/${thread}/stat`)));
}

export type WaitOptions = ProcessTags & {
  /** Processes that were seen before. */
  family?: LivingProcess[];
  only?: (living: LivingProcess) => boolean;
};

/** What is still there after `limitMs`; nothing, as soon as nothing is left. */
export async function waitForNoProcesses(root: string, limitMs = 20_000, wanted: WaitOptions = {}): Promise<LivingProcess[]> {
  const giveUpAt = performance.now() + limitMs;
  const { family = [], only = () => true } = wanted;
  for (;;) {
    const seen = new Set(table().map(({ pid, started }) => `${pid} ${started}`));
    const known = family.filter(({ pid, started }) => seen.has(`${pid} ${started}`));
    const left = [...known, ...processesOf(root, wanted)].filter(only);
    if (left.length === 0 || performance.now() >= giveUpAt) return left;
    await Bun.sleep(20);
  }
}

type Row = LivingProcess & { parent: number };

/** Without zombies. */
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

/** Where it stands and what it has open. */
function linksOf(pid: number): string[] {
  const links = [`/proc/${pid}/cwd`];
  try {
    links.push(...readdirSync(`/proc/${pid}/fd`).map((fd) => `/proc/${pid}/fd/${fd}`));
  } catch {
    // It has ended, or is not ours.
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
