// Finds the directory of a caller: `--project`, the first root of its client, or the working directory if it is in a project.
// Never returns / or a relative path.
import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Fault } from "../../protocol/api/error.ts";

export type DirectorySources = {
  /** `--project`, absolute. */
  flag: string | null;
  /** The working directory if it is in a project, else null. */
  workingDirectory: string | null;
  /** Asks the client for its roots. */
  roots: () => Promise<{ uri: string }[]>;
};

export async function findDirectory({ flag, workingDirectory, roots }: DirectorySources): Promise<string> {
  const directory = flag ?? firstDirectory(await roots()) ?? workingDirectory;
  if (directory !== null && directory !== "/") return directory;
  throw new Fault("usage", "no project: the client names none, and the server was not started in one", {
    hint: "start the server in a directory with .git or .skein, or with skein mcp --project <directory>",
  });
}

/** The first root that is a directory on this machine. */
function firstDirectory(roots: readonly { uri: string }[]): string | null {
  for (const { uri } of roots) {
    const path = pathOf(uri);
    if (path !== null && path !== "/" && statSync(path, { throwIfNoEntry: false })?.isDirectory()) return path;
  }
  return null;
}

function pathOf(uri: string): string | null {
  if (!uri.startsWith("file://")) return null;
  try {
    return fileURLToPath(uri);
  } catch {
    return null; // A URI of another machine.
  }
}
