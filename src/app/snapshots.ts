// The room of files as the engine is given it: loaded when the first turn with tools runs.
import { join } from "node:path";
import type { AppContext } from "./create-app.ts";
import type { Snapshots } from "../protocol/api/ports.ts";
import { searchPath } from "./search-path.ts";

export function createLazySnapshots({ paths, env, warn }: AppContext): Snapshots {
  let opened: Promise<Snapshots> | null = null;
  const open = () => (opened ??= load());
  async function load(): Promise<Snapshots> {
    const { createSnapshots: openSnapshots } = await import("../files/snapshots/snapshots.ts");
    return openSnapshots({
      root: join(paths.data, "files"),
      path: searchPath(env),
      tooWide: ["/", paths.home],
      leaveOut: [paths.data, paths.state, paths.cache, paths.config],
      warn,
    });
  }
  return {
    take: async (...given) => (await open()).take(...given),
    find: async (...given) => (await open()).find(...given),
    changes: async (...given) => (await open()).changes(...given),
    patch: async (...given) => (await open()).patch(...given),
    planRestore: async (...given) => (await open()).planRestore(...given),
    restore: async (...given) => (await open()).restore(...given),
  };
}
