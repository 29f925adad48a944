// Says in plain words why a file can't be read or written, and what is there instead. What the walls hide looks
// absent or empty from inside, so a path is looked up among the secrets before such a look is believed.
import { readdirSync, readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { nearestWord } from "../../kit/text/nearest-word.ts";
import type { ToolOutcome } from "../../protocol/api/ports.ts";
import { isHidden, isUnwritable, secretDenial, writeDenial } from "../denial.ts";
import { errorOutcome, deniedOutcome, type ToolRun } from "./tool.ts";

export type PathContext = Pick<ToolRun, "sandbox" | "home">;

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

export function fileProblem(error: unknown, verb: "read" | "write", path: string, seen: PathContext): ToolOutcome {
  const secret = secretProblem(path, verb, seen);
  if (secret !== null) return secret;
  const code = (error as { code?: string }).code ?? "";
  const { sandbox: bounds, home } = seen;
  if (verb === "write" && bounds?.isEnforced && ["EROFS", "EACCES", "EPERM"].includes(code)) {
    const target = realPath(path);
    if (isUnwritable(target, bounds)) return deniedOutcome("write", writeDenial(target, bounds, home));
  }
  if (code === "ENOENT") return errorOutcome(missingFile(path));
  return errorOutcome(`can't ${verb} ${path}: ${words[code] ?? (error instanceof Error ? error.message : String(error))}`);
}

/** For a path that seems absent, empty or closed: whether it is a secret. */
export function secretProblem(path: string, verb: "read" | "write", { sandbox: bounds, home }: PathContext): ToolOutcome | null {
  if (!bounds?.isEnforced || !(isHidden(path, bounds) || isHidden(realPath(path), bounds))) return null;
  return deniedOutcome("secret", secretDenial(path, verb, home));
}

export function directoryProblem(path: string, seen: PathContext): ToolOutcome {
  const names = namesIn(path);
  const secret = names.length === 0 ? secretProblem(path, "read", seen) : null;
  if (secret !== null) return secret;
  const some = names.slice(0, 20).join(", ");
  const more = names.length > 20 ? `, and ${names.length - 20} more` : "";
  return errorOutcome(`${path} is a directory${names.length === 0 ? " (empty)" : `: ${some}${more}`}`);
}

export function specialFileProblem(path: string, seen: PathContext): ToolOutcome {
  return secretProblem(path, "read", seen) ?? errorOutcome(`${path} is not a regular file (a pipe, socket or device)`);
}

const mostLinks = 40;

/** With every link followed as far as the path exists; a link may lead to what does not. */
function realPath(path: string, links = 0): string {
  try {
    return realpathSync(path);
  } catch {
    const above = dirname(path);
    if (above === path || links > mostLinks) return path;
    const target = linkTarget(path);
    return target === null ? join(realPath(above, links), basename(path)) : realPath(resolve(realPath(above, links), target), links + 1);
  }
}

function linkTarget(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

function missingFile(path: string): string {
  const directory = dirname(path);
  const nearest = nearestWord(
    basename(path),
    namesIn(directory).filter((name) => name !== basename(path)),
  );
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
