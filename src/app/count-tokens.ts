// `tokens.count`: the files of a project, without what no tool may read, counted by processes of this program.
import { realpathSync } from "node:fs";
import { join } from "node:path";
import { findProject } from "../config/paths.ts";
import { countFiles } from "../files/project/count-files.ts";
import { listFiles } from "../files/project/list-files.ts";
import type { AppContext } from "./app-context.ts";
import { Fault } from "../protocol/api/error.ts";
import type { TokenCount, CountTokensParams } from "../protocol/api/token-count.ts";
import { secretPaths } from "../sandbox/known-paths.ts";
import { searchPath } from "./search-path.ts";

export async function countTokens(ctx: AppContext, { items, directory, top, limitMs }: CountTokensParams): Promise<TokenCount> {
  const { paths, env, selfCommand: self } = ctx;
  const began = performance.now();
  const project = findProject(directory, paths.home);
  if (project === "/") throw new Fault("usage", "the whole machine is no project", { hint: "name a directory of a project" });
  const all = await listFiles({ items, directory, project, path: searchPath(env) });
  const hidden = [...secretPaths({ home: paths.home, isRoot: process.getuid?.() === 0, env }), paths.data, paths.state, paths.config];
  const isHidden = hiddenBy(hidden, project);
  const files = all.filter((file) => !isHidden(file));
  const secret = all.length - files.length;
  if (files.length === 0 && secret > 0) throw new Fault("usage", "what is named there holds secrets, which no tool may read");
  const left = Math.max(1, limitMs - (performance.now() - began));
  const counted = await countFiles({ command: [...self, "__count"], project, files, top, limitMs: left });
  return { ...counted, skipped: { ...counted.skipped, secret } };
}

/** Only places at or below the project, or around it, can matter. */
function hiddenBy(places: readonly string[], project: string): (file: string) => boolean {
  const root = realpathSync(project);
  const near = places.filter((place) => `${place}/`.startsWith(`${root}/`) || `${root}/`.startsWith(`${place}/`));
  return (file) => near.some((place) => `${join(root, file)}/`.startsWith(`${place}/`));
}
