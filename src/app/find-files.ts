// `files.list`: the files of a project that somebody means by a few letters. What there is is listed again at most every
// few seconds, and nobody who types waits for it but the first.
import { join, relative } from "node:path";
import { findProject } from "../config/paths.ts";
import { listFiles } from "../files/project/list-files.ts";
import { rankFiles } from "../files/project/rank-files.ts";
import type { AppContext } from "./app-context.ts";
import { Fault } from "../protocol/api/error.ts";
import type { ListFilesParams, ListFilesResult } from "../protocol/tree/file-changes.ts";
import { searchPath } from "./search-path.ts";

const listedForMs = 5_000;

type Listed = { project: string; at: number; files: Promise<string[]> };

/** Remembers the project that was asked for last. */
export function createFileFinder({ paths, env }: AppContext): (params: ListFilesParams) => Promise<ListFilesResult> {
  let known: Listed | null = null;
  let isListing = false;
  const list = (project: string): Listed => ({
    project,
    at: Date.now(),
    files: listFiles({ items: [project], directory: project, project, path: searchPath(env) }),
  });
  /** The files that were there a moment ago will do until those that are there now are known. */
  function refresh(project: string): void {
    isListing = true;
    const next = list(project);
    void next.files
      .then(() => (known = next))
      .catch(() => (known = null)) // Who asks next is told why.
      .finally(() => (isListing = false));
  }
  return async ({ directory, query, limit }) => {
    const project = findProject(directory, paths.home);
    if (project === "/") throw new Fault("usage", "the whole machine is no project", { hint: "name a directory of a project" });
    if (known?.project !== project) known = list(project);
    else if (!isListing && Date.now() - known.at > listedForMs) refresh(project);
    const asked = known;
    const files = await asked.files.catch((error: unknown) => {
      if (known === asked) known = null;
      throw error;
    });
    const found = await rankFiles(files, query, limit);
    return { files: found.map((file) => relative(directory, join(project, file))), total: files.length };
  };
}
