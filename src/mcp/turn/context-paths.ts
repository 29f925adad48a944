// Resolves the paths that a caller names as context. They must exist inside the project. Reads no file.
import { realpathSync, statSync, type Stats } from "node:fs";
import { isAbsolute, relative, resolve } from "node:path";
import { groupDigits } from "../../kit/text/cut-text.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { CallContext } from "../tools/tool.ts";

export type ContextPath = { path: string; stat: Stats };

export function resolveContextPaths(
  paths: readonly string[] | undefined,
  { directory, project }: Pick<CallContext, "directory" | "project">,
): ContextPath[] {
  return [...new Set(paths ?? [])].map((path) => {
    const real = realPath(resolve(directory, path), path);
    const inside = relative(project, real);
    if (inside.startsWith("..") || isAbsolute(inside))
      throw new Fault("usage", `context: ${path} is outside of the project`, { hint: `paths must be inside ${project}` });
    return { path: real, stat: statSync(real) };
  });
}

/** Follows links. `name` is the path as the caller wrote it. */
function realPath(path: string, name: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    throw new Fault("usage", `context: there is no ${name}`, { hint: "paths are relative to the project's directory", cause: error });
  }
}

const maxBytes = 10_000_000;

/** Throws unless the path is a file that is small enough to be sent to a model. */
export function requireSendable({ path, stat }: ContextPath): ContextPath {
  if (stat.isDirectory()) throw new Fault("usage", `context: ${path} is a directory`, { hint: "name single files of the directory" });
  if (!stat.isFile()) throw new Fault("usage", `context: ${path} is not a file`);
  if (stat.size <= maxBytes) return { path, stat };
  throw new Fault("usage", `context: ${path} has ${groupDigits(stat.size)} bytes; a file may have ${groupDigits(maxBytes)}`, {
    hint: "write the part that matters to a file, or have an agent read the file with work_with",
  });
}
