// Records the directories that tools of any run could write. A program from there is not trusted in other projects either: PATH
// may keep the virtual environment of one project while skein works in another, above all in the hub.
import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { pathListText, readPathList } from "../../kit/files/path-list.ts";
import { realPath } from "../../kit/files/path-status.ts";
import { replaceFile } from "../../kit/files/replace-file.ts";
import { toolPlacesFile } from "../../protocol/api/policy.ts";

/** From this many directories on, those that no longer exist are removed. */
const maxDirectories = 500;

/** Real paths. Empty if nothing is recorded or it can't be read. */
export function toolDirectories(state: string): string[] {
  return readPathList(recordFile(state));
}

export function addToolDirectories(state: string, paths: readonly string[]): void {
  const directories = toolDirectories(state);
  const added = new Set(paths.flatMap((path) => realPath(path) ?? []).filter((path) => !directories.includes(path)));
  if (added.size === 0) return;
  try {
    mkdirSync(state, { recursive: true, mode: 0o700 });
    if (directories.length < maxDirectories) return appendFileSync(recordFile(state), pathListText([...added]), { mode: 0o600 });
    const existing = directories.filter((path) => realPath(path) !== null);
    replaceFile(recordFile(state), pathListText([...existing, ...added]), { file: 0o600, directory: 0o700 });
  } catch {
    // Without the record, the directories of the current turn are still refused.
  }
}

function recordFile(state: string): string {
  return join(state, toolPlacesFile);
}
