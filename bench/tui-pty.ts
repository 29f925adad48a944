// A program in a terminal of its own (a pty): what it writes, how soon it answers a key, what it takes of the machine.
// It is answered as a plain xterm answers, so that nobody waits for a terminal that says nothing.
import { readFileSync } from "node:fs";
import { childrenOf } from "./tree.ts";

export type Pty = {
  /** Since the start, or since the last `mark`. */
  bytes: () => number;
  mark: () => void;
  type: (text: string) => void;
  /** Milliseconds until the text is written to the terminal, from now on. */
  until: (text: string, limitMs: number) => Promise<number>;
  cpuMs: () => number;
  rssBytes: () => number;
  end: () => Promise<void>;
};

export const size = { cols: 120, rows: 40 };
const queries: [asked: string, answer: string][] = [
  ["\x1b[c", "\x1b[?62;22c"],
  ["\x1b[6n", "\x1b[1;1R"],
  ["\x1b[5n", "\x1b[0n"],
];

export function openPty(command: string[], cwd: string, env: Record<string, string>): Pty {
  const decoder = new TextDecoder();
  let written = 0;
  const waiting = new Set<{ text: string; seen: string; found: () => void }>();
  const child = Bun.spawn(command, {
    cwd,
    env,
    terminal: {
      ...size,
      data(terminal, bytes) {
        written += bytes.length;
        const text = decoder.decode(bytes, { stream: true });
        for (const [asked, answer] of queries) if (text.includes(asked)) terminal.write(answer);
        for (const each of waiting) {
          // What is waited for may be torn between two pieces.
          each.seen = (each.seen + plain(text)).slice(-4000);
          if (each.seen.includes(each.text)) each.found();
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
      const waiter = { text, seen: "", found: () => resolve(performance.now() - from) };
      waiting.add(waiter);
      const late = setTimeout(() => resolve(Number.NaN), limitMs);
      const took = await promise;
      clearTimeout(late);
      waiting.delete(waiter);
      if (Number.isNaN(took))
        throw new Error(`${command[0]}: no "${text}" within ${limitMs} ms, but ${JSON.stringify(waiter.seen.slice(-300))}`);
      return took;
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

/** Without the words that move the cursor and change colours. */
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
