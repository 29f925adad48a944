// Runs a program in its own terminal (a pty) and measures its output, its reaction to keys, its CPU time and memory.
// Answers terminal queries like a plain xterm, so that no program waits for an answer.
import { readFileSync } from "node:fs";
import { childrenOf } from "./tree.ts";

export type Pty = {
  /** Output bytes since the start or the last `mark`. */
  bytes: () => number;
  mark: () => void;
  type: (text: string) => void;
  /** Milliseconds until the program writes the text, from now on. Rejects after `limitMs`. */
  until: (text: string, limitMs: number) => Promise<number>;
  cpuMs: () => number;
  rssBytes: () => number;
  end: () => Promise<void>;
};

export const size = { cols: 120, rows: 40 };
const queries: [query: string, answer: string][] = [
  ["\x1b[c", "\x1b[?62;22c"],
  ["\x1b[6n", "\x1b[1;1R"],
  ["\x1b[5n", "\x1b[0n"],
];

export function openPty(command: string[], cwd: string, env: Record<string, string>): Pty {
  const decoder = new TextDecoder();
  let written = 0;
  const waiters = new Set<{ text: string; output: string; onMatch: () => void }>();
  const child = Bun.spawn(command, {
    cwd,
    env,
    terminal: {
      ...size,
      data(terminal, bytes) {
        written += bytes.length;
        const text = decoder.decode(bytes, { stream: true });
        for (const [query, answer] of queries) if (text.includes(query)) terminal.write(answer);
        for (const waiter of waiters) {
          // The text may be split between two chunks.
          waiter.output = (waiter.output + plain(text)).slice(-4000);
          if (waiter.output.includes(waiter.text)) waiter.onMatch();
        }
      },
    },
  });
  return {
    bytes: () => written,
    mark: () => void (written = 0),
    type: (text) => void child.terminal?.write(text),
    async until(text, limitMs) {
      const from = performance.now();
      const { promise, resolve } = Promise.withResolvers<number>();
      const waiter = { text, output: "", onMatch: () => resolve(performance.now() - from) };
      waiters.add(waiter);
      const timer = setTimeout(() => resolve(Number.NaN), limitMs);
      const elapsed = await promise;
      clearTimeout(timer);
      waiters.delete(waiter);
      if (Number.isNaN(elapsed))
        throw new Error(`${command[0]}: no "${text}" within ${limitMs} ms, but ${JSON.stringify(waiter.output.slice(-300))}`);
      return elapsed;
    },
    cpuMs: () => treeOf(child.pid).reduce((sum, pid) => sum + cpuOf(pid), 0),
    rssBytes: () => treeOf(child.pid).reduce((sum, pid) => sum + Number(/^VmRSS:\s+(\d+)/m.exec(proc(pid, "status"))?.[1] ?? 0) * 1024, 0),
    async end() {
      const pids = treeOf(child.pid);
      for (const pid of pids) kill(pid);
      await child.exited;
    },
  };
}

/** Without escape sequences for the cursor and colours. */
function plain(text: string): string {
  return Bun.stripANSI(text).replace(/\s+/g, " ");
}

function treeOf(pid: number): number[] {
  return [pid, ...childrenOf(pid).flatMap(treeOf)];
}

function cpuOf(pid: number): number {
  const stat = proc(pid, "stat");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * 10;
}

function proc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1");
  } catch {
    return "";
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
