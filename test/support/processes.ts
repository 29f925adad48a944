// Finds the processes that belong to a temporary house: whoever has its path in the environment or the arguments.
// It ends none of them.
import { readdirSync, readFileSync } from "node:fs";

export type Living = { pid: number; command: string };

export function processesOf(root: string): Living[] {
  const found: Living[] = [];
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    const command = readText(`/proc/${name}/cmdline`).replaceAll("\0", " ").trim();
    if (command === "") continue;
    if (command.includes(root) || readText(`/proc/${name}/environ`).includes(root)) found.push({ pid, command });
  }
  return found;
}

/** What is still there after `limitMs`; nothing, as soon as nothing is left. */
export async function leftOf(root: string, limitMs = 5000): Promise<Living[]> {
  const giveUpAt = performance.now() + limitMs;
  for (;;) {
    const left = processesOf(root);
    if (left.length === 0 || performance.now() >= giveUpAt) return left;
    await Bun.sleep(20);
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
