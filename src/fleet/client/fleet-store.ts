// The shared store for one app. In a worker it maps paths to the workspaces and stores checkpoints; elsewhere a new session
// gets a path of the fleet.
import { relative } from "node:path";
import type { Store } from "../../store/store.ts";
import { Checkpoints, type FileParts } from "../files/checkpoints.ts";
import { mapStore } from "../files/mapped-store.ts";
import { noPaths, sharedPath, workspacePaths } from "../files/fleet-paths.ts";
import { purgeRuns } from "../queue/purge-runs.ts";
import type { Fleet } from "./open-fleet.ts";

export type StoreParts = FileParts;

export type SharedStore = { store: Store; checkpoints: Checkpoints };

/** `workspaces` is null in a process that runs no turns of the fleet. */
export function sharedStore(
  fleet: Fleet,
  files: StoreParts,
  { workspaces, warn }: { workspaces: string | null; warn: (text: string) => void },
): SharedStore {
  const paths = workspaces === null ? noPaths : workspacePaths(workspaces);
  const checkpoints = new Checkpoints({ db: fleet.db, files, paths, warn });
  const raw: Store = {
    ...fleet.store,
    async purge(request) {
      const report = await fleet.store.purge(request);
      if (!request.dryRun) await purgeRuns(fleet.db);
      return report;
    },
    // The connections belong to the process, not to one app.
    close: async () => {},
  };
  if (workspaces !== null) return { checkpoints, store: mapStore(raw, { paths, hooks: checkpoints.hooks(), create: null }) };
  const create = ({ id, directory, project }: { id: string; directory: string; project: string }) => ({
    directory: sharedPath(id, relative(project, directory)),
    project: sharedPath(id),
  });
  return { checkpoints, store: mapStore(raw, { paths, hooks: null, create }) };
}
