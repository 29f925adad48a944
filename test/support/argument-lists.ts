// What every process of this machine is started with while something runs.
import { readdirSync, readFileSync } from "node:fs";

export function watchArguments(): { lists: () => string[]; stop: () => Promise<void> } {
  const seen = new Set<string>();
  let isWatching = true;
  const watching = (async () => {
    while (isWatching) {
      for (const name of readdirSync("/proc").filter((each) => /^\d+$/.test(each))) {
        try {
          seen.add(readFileSync(`/proc/${name}/cmdline`, "utf8"));
        } catch {
          continue; // it has ended
        }
      }
      await Bun.sleep(15);
    }
  })();
  return {
    lists: () => [...seen],
    stop: () => {
      isWatching = false;
      return watching;
    },
  };
}
