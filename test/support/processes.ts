// Finds the processes that belong to a temporary house: whoever has its path in the environment, the arguments, the
// working directory or an open file, and whoever descends from one. It ends none of them.
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

export type Living = { pid: number; command: string; started: string };

/** More ways to belong: a word in the arguments. */
export type Signs = { sign?: string };

export function processesOf(root: string, { sign }: Signs = {}): Living[] {
  return table().filter(({ pid, command }) => {
    if (pid === process.pid || command === "") return false;
    if (command.includes(root) || (sign !== undefined && command.includes(sign))) return true;
    return readText(`/proc/${pid}/environ`).includes(root) || linksOf(pid).some((path) => path.startsWith(root));
  });
}

/** Every living process below this one. */
export function belowOf(pid: number): Living[] {
  const rows = table();
  const found = new Set([pid]);
  for (const each of found) for (const row of rows) if (row.parent === each) found.add(row.pid);
  return rows.filter((row) => row.pid !== pid && found.has(row.pid));
}

export type Wanted = Signs & {
  /** Processes that were seen before. */
  family?: Living[];
  only?: (living: Living) => boolean;
};

/** What is still there after `limitMs`; nothing, as soon as nothing is left. */
export async function leftOf(root: string, limitMs = 5000, wanted: Wanted = {}): Promise<Living[]> {
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

type Row = Living & { parent: number };

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
