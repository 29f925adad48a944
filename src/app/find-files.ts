// `files.list`: finds files of a project by a few letters of their paths. The list of files is cached for some seconds;
// only the first call waits for it.
import { join, relative } from "node:path";
import { findProject } from "../config/paths.ts";
import type { GitRunner } from "../files/git.ts";
import { listFiles } from "../files/project/list-files.ts";
import { rankFiles } from "../files/project/rank-files.ts";
import type { AppContext } from "./app-context.ts";
import { Fault } from "../protocol/api/error.ts";
import type { ListFilesParams, ListFilesResult } from "../protocol/tree/file-changes.ts";

const maxAgeMs = 5_000;

type Listing = { project: string; listedAt: number; files: Promise<string[]> };

/** Caches the files of the last project. */
export function createFileFinder({ paths }: AppContext, git: GitRunner): (params: ListFilesParams) => Promise<ListFilesResult> {
  let cache: Listing | null = null;
  let isListing = false;
  const startListing = (project: string): Listing => ({
    project,
    listedAt: Date.now(),
    files: listFiles({ items: [project], directory: project, project, git }),
  });
  /** Lists the files again in the background. Until then the old list is used. */
  function refresh(project: string): void {
    isListing = true;
    const next = startListing(project);
    void next.files
      .then(() => (cache = next))
      .catch(() => (cache = null)) // the next call lists again and reports the error
      .finally(() => (isListing = false));
  }
  return async ({ directory, query, limit }) => {
    const project = findProject(directory, paths.home);
    if (project === "/") throw new Fault("usage", "/ is not a project", { hint: "name a directory of a project" });
    if (cache?.project !== project) cache = startListing(project);
    else if (!isListing && Date.now() - cache.listedAt > maxAgeMs) refresh(project);
    const listing = cache;
    const files = await listing.files.catch((error: unknown) => {
      if (cache === listing) cache = null;
      throw error;
    });
    const matches = await rankFiles(files, query, limit);
    return { files: matches.map((file) => relative(directory, join(project, file))), total: files.length };
  };
}
