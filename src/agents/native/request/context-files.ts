// Reads AGENTS.md (or CLAUDE.md) from the user's configuration and from the project root down to the directory.
// Skips links that lead out of the project: their text would be sent to a vendor.
import { dirname, join, relative } from "node:path";
import { readBelow, readRegularFile } from "../../../kit/files/safe-file.ts";
import { cutText } from "../../../kit/text/cut-text.ts";

const names = ["AGENTS.md", "CLAUDE.md"];
const maxBytes = 32 * 1024;
/** Bytes of a file that are read, to say how much of it is missing. */
const readLimits = { maxBytes: 16 << 20, isCut: true };

export function readContextFiles(directory: string, project: string, configDir: string): { path: string; text: string }[] {
  const isOutside = relative(project, directory).startsWith("..");
  const root = isOutside ? directory : project;
  const ofUser = firstFile(configDir, (path) => readRegularFile(path, readLimits));
  const ofProject = foldersBetween(root, directory).map((folder) => firstFile(folder, (path) => readBelow(root, path, readLimits)));
  return [ofUser, ...ofProject].filter((file) => file !== null);
}

/** The folders from the root down to the directory. */
function foldersBetween(root: string, directory: string): string[] {
  const folders = [root];
  for (let folder = directory; folder !== root && folder !== dirname(folder); folder = dirname(folder)) folders.splice(1, 0, folder);
  return folders;
}

function firstFile(folder: string, read: (path: string) => Buffer | null): { path: string; text: string } | null {
  for (const name of names) {
    const path = join(folder, name);
    try {
      const bytes = read(path);
      if (bytes === null) continue;
      const cut = cutText(bytes.toString("utf8"), maxBytes, { keep: "head" });
      const note = cut.cutBytes > 0 ? `\n[${cut.cutBytes} more bytes in ${path}]` : "";
      return { path, text: cut.text + note };
    } catch {
      continue; // An unreadable file counts as missing.
    }
  }
  return null;
}
