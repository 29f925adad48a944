// `tokens.count`: counts the tokens of a project's files in child processes. Files that no tool may read are left out.
import { realpathSync } from "node:fs";
import { join } from "node:path";
import { findProject } from "../config/paths.ts";
import { countFiles } from "../files/project/count-files.ts";
import { listFiles } from "../files/project/list-files.ts";
import type { AppContext } from "./app-context.ts";
import type { ExecutorProvider } from "./executors/executors.ts";
import { Fault } from "../protocol/api/error.ts";
import type { TokenCount, CountTokensParams } from "../protocol/api/api.ts";
import { secretPaths } from "../sandbox/known-paths.ts";

export async function countTokens(
  ctx: AppContext,
  { git, containedReader }: Pick<ExecutorProvider, "git" | "containedReader">,
  { items, directory, top, limitMs }: CountTokensParams,
): Promise<TokenCount> {
  const { paths, env, selfCommand } = ctx;
  const startedAt = performance.now();
  const project = findProject(directory, paths.home);
  if (project === "/") throw new Fault("usage", "/ is not a project", { hint: "name a directory of a project" });
  const allFiles = await listFiles({ items, directory, project, git });
  const hidden = [...secretPaths({ home: paths.home, isRoot: process.getuid?.() === 0, env }), paths.data, paths.state, paths.config];
  const isHidden = hiddenBy(hidden, project);
  const files = allFiles.filter((file) => !isHidden(file));
  const secretCount = allFiles.length - files.length;
  if (files.length === 0 && secretCount > 0) throw new Fault("usage", "these files contain secrets, which no tool may read");
  const remainingMs = Math.max(1, limitMs - (performance.now() - startedAt));
  const command = () => containedReader(project, [...selfCommand, "__count"]);
  const counted = await countFiles({ command, project, files, top, limitMs: remainingMs });
  return { ...counted, skipped: { ...counted.skipped, secret: secretCount } };
}

/** Only paths inside the project, or parents of it, can match. */
function hiddenBy(paths: readonly string[], project: string): (file: string) => boolean {
  const root = realpathSync(project);
  const relevant = paths.filter((path) => `${path}/`.startsWith(`${root}/`) || `${root}/`.startsWith(`${path}/`));
  return (file) => relevant.some((path) => `${join(root, file)}/`.startsWith(`${path}/`));
}
