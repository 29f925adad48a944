// Explains why a file can't be read or written. A path that the sandbox hides looks missing or empty from inside,
// so every path is compared with the hidden ones before it is reported as missing.
import { readdirSync, readlinkSync, realpathSync, type Stats } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { nearestWord } from "../../kit/text/nearest-word.ts";
import { messageOf } from "../../protocol/api/error.ts";
import type { ToolOutcome } from "../../protocol/api/ports.ts";
import { isHidden, isUnwritable, secretDenial, writeDenial } from "../denial.ts";
import { deniedOutcome, errorOutcome, type ToolContext } from "./tool.ts";

export type PathContext = Pick<ToolContext, "sandbox" | "home">;

const errorTexts: Record<string, string> = {
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

export function fileProblem(error: unknown, verb: "read" | "write", path: string, ctx: PathContext): ToolOutcome {
  const secret = secretProblem(path, verb, ctx);
  if (secret !== null) return secret;
  const code = (error as { code?: string }).code ?? "";
  const { sandbox, home } = ctx;
  if (verb === "write" && sandbox?.isEnforced && ["EROFS", "EACCES", "EPERM"].includes(code)) {
    const target = resolveLinks(path);
    if (isUnwritable(target, sandbox)) return deniedOutcome("write", writeDenial(target, sandbox, home));
  }
  if (code === "ENOENT") return errorOutcome(missingFile(path));
  return errorOutcome(`can't ${verb} ${path}: ${errorTexts[code] ?? messageOf(error)}`);
}

/** The outcome for a path that the policy hides; null for other paths. Call it for a path that seems missing, empty or unreadable. */
export function secretProblem(path: string, verb: "read" | "write", { sandbox, home }: PathContext): ToolOutcome | null {
  if (!sandbox?.isEnforced || !(isHidden(path, sandbox) || isHidden(resolveLinks(path), sandbox))) return null;
  return deniedOutcome("secret", secretDenial(path, verb, home));
}

/** The outcome for a path that is no regular file; null for a file. */
export function fileTypeProblem(stats: Stats, path: string, ctx: PathContext): ToolOutcome | null {
  if (stats.isFile()) return null;
  if (stats.isDirectory()) return directoryProblem(path, ctx);
  return secretProblem(path, "read", ctx) ?? errorOutcome(`${path} is not a regular file (a pipe, socket or device)`);
}

function directoryProblem(path: string, ctx: PathContext): ToolOutcome {
  const names = listNames(path);
  const secret = names.length === 0 ? secretProblem(path, "read", ctx) : null;
  if (secret !== null) return secret;
  const some = names.slice(0, 20).join(", ");
  const more = names.length > 20 ? `, and ${names.length - 20} more` : "";
  return errorOutcome(`${path} is a directory${names.length === 0 ? " (empty)" : `: ${some}${more}`}`);
}

const maxLinks = 40;

/** Follows every symbolic link of a path whose last parts may be missing. */
function resolveLinks(path: string, followed = 0): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    if (parent === path || followed > maxLinks) return path;
    const realParent = resolveLinks(parent, followed);
    const target = linkTarget(path);
    return target === null ? join(realParent, basename(path)) : resolveLinks(resolve(realParent, target), followed + 1);
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
  const [directory, name] = [dirname(path), basename(path)];
  const otherNames = listNames(directory).filter((other) => other !== name);
  const nearest = nearestWord(name, otherNames);
  return `${path} does not exist${nearest ? `; did you mean ${join(directory, nearest)}?` : ""}`;
}

const maxNames = 10_000;

function listNames(directory: string): string[] {
  try {
    return readdirSync(directory).toSorted().slice(0, maxNames);
  } catch {
    return [];
  }
}
