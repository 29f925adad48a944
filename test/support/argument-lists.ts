// Records the arguments of every process of this machine while a test runs.
import { readdirSync, readFileSync } from "node:fs";

export function watchArguments(): { lists: () => string[]; stop: () => Promise<void> } {
  const lists = new Set<string>();
  let isWatching = true;
  const watching = (async () => {
    while (isWatching) {
      for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
        try {
          lists.add(readFileSync(`/proc/${name}/cmdline`, "utf8"));
        } catch {
          continue; // the process has ended
        }
      }
      await Bun.sleep(15);
    }
  })();
  return {
    lists: () => [...lists],
    stop: () => {
      isWatching = false;
      return watching;
    },
  };
}
