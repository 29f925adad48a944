// Stops members that use more memory than their role allows. Finds the processes of a member by a variable in their
// environment. Idle and crashed members are detected by their turns, not here.
import { familiesByVariable } from "../../../kit/process/processes.ts";
import { residentBytes } from "../../../kit/process/memory-use.ts";

export type WatchedMember = {
  id: string;
  maxMemoryMb: number;
  /** Called at each check while the member uses too much memory. */
  stop: (reason: string) => void;
};

/** `watch` returns a function that ends the watch of this member. */
export type MemoryWatch = { watch: (member: WatchedMember) => () => void; close: () => void };

export function startMemoryWatch(intervalMs = 5_000): MemoryWatch {
  const watched = new Map<string, WatchedMember>();
  const timer = setInterval(() => checkMemory(watched), intervalMs);
  timer.unref();
  return {
    watch: (member) => {
      watched.set(member.id, member);
      return () => void watched.delete(member.id);
    },
    close: () => clearInterval(timer),
  };
}

function checkMemory(watched: ReadonlyMap<string, WatchedMember>): void {
  if (watched.size === 0) return;
  for (const [id, pids] of familiesByVariable("SKEIN_AGENT_ID")) {
    const member = watched.get(id);
    const megabytes = pids.reduce((sum, pid) => sum + residentBytes(pid), 0) / 2 ** 20;
    if (member !== undefined && megabytes > member.maxMemoryMb)
      member.stop(`it used ${Math.round(megabytes)} MB of memory; its role may use ${member.maxMemoryMb}`);
  }
}
