// Reads AGENTS.md (or CLAUDE.md) from the user's configuration and from the project root down to the directory.
// Skips links that lead out of the project: their text would be sent to a vendor.
import { lstatSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { resolveContained } from "../../../kit/files/contained-path.ts";
import { cutText } from "../../../kit/text/cut-text.ts";

const names = ["AGENTS.md", "CLAUDE.md"];
const maxBytes = 32 * 1024;

export function readContextFiles(directory: string, project: string, configDir: string): { path: string; text: string }[] {
  const folders = [configDir, ...foldersBetween(project, directory)];
  return folders.flatMap((folder) => firstFile(folder, folder === configDir ? configDir : project) ?? []);
}

/** The folders from the project down to the directory; only the directory if it is outside of the project. */
function foldersBetween(project: string, directory: string): string[] {
  const path = relative(project, directory);
  if (path.startsWith("..")) return [directory];
  const folders = [project];
  for (let folder = directory; folder !== project && folder !== dirname(folder); folder = dirname(folder)) folders.splice(1, 0, folder);
  return folders;
}

function firstFile(folder: string, root: string): { path: string; text: string } | null {
  for (const name of names) {
    const path = join(folder, name);
    const stat = lstatSync(path, { throwIfNoEntry: false });
    const isLinkInside = stat?.isSymbolicLink() === true && "path" in resolveContained(path, [root]);
    if (stat?.isFile() !== true && !isLinkInside) continue;
    try {
      const cut = cutText(readFileSync(path, "utf8"), maxBytes, { keep: "head" });
      const note = cut.cutBytes > 0 ? `\n[${cut.cutBytes} more bytes in ${path}]` : "";
      return { path, text: cut.text + note };
    } catch {
      continue; // An unreadable file counts as missing.
    }
  }
  return null;
}
