// The paths that a caller names as context: inside the project, there, and as absolute paths. Nothing is read here.
import { realpathSync, statSync, type Stats } from "node:fs";
import { isAbsolute, relative, resolve } from "node:path";
import { groupDigits } from "../../kit/text/cut-text.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { CallContext } from "../tools/tool.ts";

export type ContextPath = { path: string; stat: Stats };

export function resolveContextPaths(
  given: readonly string[] | undefined,
  { directory, project }: Pick<CallContext, "directory" | "project">,
): ContextPath[] {
  return [...new Set(given ?? [])].map((path) => {
    const real = realOf(resolve(directory, path), path);
    const inside = relative(project, real);
    if (inside.startsWith("..") || isAbsolute(inside))
      throw new Fault("usage", `context: ${path} is outside of the project`, { hint: `paths must be inside ${project}` });
    return { path: real, stat: statSync(real) };
  });
}

/** Links count as what they lead to. */
function realOf(path: string, given: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    throw new Fault("usage", `context: there is no ${given}`, { hint: "paths count from the project's directory", cause: error });
  }
}

const mostBytes = 10_000_000;

/** For one that is sent along: a file, and not of any size. */
export function requireSendable({ path, stat }: ContextPath): ContextPath {
  if (stat.isDirectory()) throw new Fault("usage", `context: ${path} is a directory`, { hint: "name the files in it" });
  if (!stat.isFile()) throw new Fault("usage", `context: ${path} is no file`);
  if (stat.size <= mostBytes) return { path, stat };
  throw new Fault("usage", `context: ${path} has ${groupDigits(stat.size)} bytes; a file may have ${groupDigits(mostBytes)}`, {
    hint: "write the part that matters to a file, or have an agent look at it with work_with",
  });
}
