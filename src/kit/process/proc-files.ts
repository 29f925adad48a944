// Reads the files of a process in /proc on Linux. A process whose first thread has ended looks like a zombie there, and has no
// memory and environment, although its other threads run. Then this reads the files of one of these threads.
import { readdirSync, readFileSync } from "node:fs";

/** The fields of `/proc/<pid>/stat` after the name, which is in parentheses and may contain any character. Null if there is none. */
export function statFields(directory: string): string[] | null {
  const stat = readText(`${directory}/stat`);
  return stat ? stat.slice(stat.lastIndexOf(")") + 2).split(" ") : null;
}

const threadCount = 17;

/** Whether no thread of the process runs any more. Null stands for a process that is gone. */
export function hasEnded(fields: string[] | null): boolean {
  return fields === null || (isOver(fields[0]) && Number(fields[threadCount]) <= 1);
}

/** `/proc/<pid>`, or the directory of a running thread if the first one has ended. */
export function processDirectory(pid: number): string {
  const directory = `/proc/${pid}`;
  return isOver(statFields(directory)?.[0]) ? (threadsOf(pid)[0]?.directory ?? directory) : directory;
}

/** The running threads of a process, with the state of each: `T` is stopped, `t` is stopped by a debugger, `D` waits in the kernel. */
export function threadsOf(pid: number): { directory: string; state: string }[] {
  return namesIn(`/proc/${pid}/task`).flatMap((name) => {
    const directory = `/proc/${pid}/task/${name}`;
    const state = statFields(directory)?.[0];
    return state === undefined || isOver(state) ? [] : [{ directory, state }];
  });
}

function isOver(state: string | undefined): boolean {
  return state === "Z" || state === "X";
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

export function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}
