// Whether the members that run are well: looked at every few seconds, by the processes that carry their name. One that
// uses more memory than its role may is stopped; silence and death are told by the turns themselves.
import { familiesByVariable } from "../../../kit/process/processes.ts";
import { residentBytes } from "../../../kit/process/memory-use.ts";

export type WatchedMember = { id: string; maxMemoryMb: number; stop: (why: string) => void };

export type MemoryWatch = { watch: (member: WatchedMember) => () => void; close: () => void };

export const memoryCheckMs = 5_000;

export function startMemoryWatch(everyMs: number = memoryCheckMs): MemoryWatch {
  const watched = new Map<string, WatchedMember>();
  const timer = setInterval(() => look(watched), everyMs);
  timer.unref();
  return {
    watch: (member) => {
      watched.set(member.id, member);
      return () => void watched.delete(member.id);
    },
    close: () => clearInterval(timer),
  };
}

function look(watched: ReadonlyMap<string, WatchedMember>): void {
  if (watched.size === 0) return;
  for (const [id, pids] of familiesByVariable("SKEIN_AGENT_ID")) {
    const member = watched.get(id);
    const megabytes = pids.reduce((sum, pid) => sum + residentBytes(pid), 0) / 2 ** 20;
    if (member !== undefined && megabytes > member.maxMemoryMb)
      member.stop(`it used ${Math.round(megabytes)} MB of memory; its role may use ${member.maxMemoryMb}`);
  }
}
