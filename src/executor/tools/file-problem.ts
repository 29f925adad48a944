// Says in plain words why a file can't be read or written, and what is there instead.
import { readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { nearestWord } from "../../kit/nearest.ts";

const words: Record<string, string> = {
  EACCES: "permission denied",
  EPERM: "not permitted",
  EROFS: "the file system is read-only",
  ENOSPC: "no space left on the device",
  EDQUOT: "the disk quota is used up",
  ENOTDIR: "a part of the path is not a directory",
  EISDIR: "it is a directory",
  ELOOP: "too many symbolic links",
  ENAMETOOLONG: "the name is too long",
  ETXTBSY: "the program is running",
  EFBIG: "the file is too large",
};

export function fileProblem(error: unknown, verb: "read" | "write", path: string): string {
  const code = (error as { code?: string }).code ?? "";
  if (code === "ENOENT") return missingFile(path);
  return `can't ${verb} ${path}: ${words[code] ?? (error instanceof Error ? error.message : String(error))}`;
}

export function directoryProblem(path: string): string {
  const names = namesIn(path);
  const some = names.slice(0, 20).join(", ");
  const more = names.length > 20 ? `, and ${names.length - 20} more` : "";
  return `${path} is a directory${names.length === 0 ? " (empty)" : `: ${some}${more}`}`;
}

export function specialFileProblem(path: string): string {
  return `${path} is not a regular file (a pipe, socket or device)`;
}

function missingFile(path: string): string {
  const directory = dirname(path);
  const nearest = nearestWord(basename(path), namesIn(directory));
  return `${path} does not exist${nearest ? `; did you mean ${join(directory, nearest)}?` : ""}`;
}

const mostNames = 10_000;

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory).toSorted().slice(0, mostNames);
  } catch {
    return [];
  }
}
