// Stores whether the user trusts the files of a project that can widen rights. Trust is for exactly this content: any
// change revokes it. Each directory has its own small file, so that two writers never collide.
import { readFileSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { statPath } from "../kit/files/path-status.ts";
import { Fault, messageOf } from "../protocol/api/error.ts";
import type { TrustState } from "../protocol/api/api.ts";
import { type Paths, realDirectory } from "./paths.ts";
import { writeFileAtomically } from "./write-file.ts";

/** Files and directories that can widen rights. */
export const trustSources = [
  ".skein/config.jsonc",
  ".skein/roles",
  ".skein/skills",
  ".skein/agents",
  ".claude/agents",
  ".claude/skills",
  ".agents/skills",
] as const;

const max = { files: 1_000, bytes: 16_000_000, depth: 8 };

type Content = { files: string[]; digest: string; problem: null } | { files: string[]; digest: null; problem: string };

export function trustState(paths: Paths, directory: string): TrustState {
  const project = realDirectory(directory);
  return stateOf(paths, project, readContent(project));
}

/** Trusts the current content. Writes nothing for a project without such files. */
export function grantTrust(paths: Paths, directory: string): TrustState {
  const project = realDirectory(directory);
  const content = readContent(project);
  if (content.problem !== null) throw new Fault("config", `can't trust ${project}: ${content.problem}`);
  if (content.files.length > 0) writeRecord(paths, project, content.digest);
  return stateOf(paths, project, content);
}

export function revokeTrust(paths: Paths, directory: string): TrustState {
  const project = realDirectory(directory);
  const path = recordPath(paths, project);
  try {
    rmSync(path, { force: true });
  } catch (error) {
    throw new Fault("file-unwritable", `can't remove ${path}: ${messageOf(error)}`, { cause: error });
  }
  return trustState(paths, project);
}

function stateOf(paths: Paths, project: string, content: Content): TrustState {
  const state = (trusted: boolean, reason: string): TrustState => ({ directory: project, trusted, files: content.files, reason });
  if (content.problem !== null) return state(false, content.problem);
  if (content.files.length === 0) return state(false, "nothing in this project needs trust");
  const digest = readRecord(recordPath(paths, project));
  if (digest === null) return state(false, "not trusted yet");
  return digest === content.digest ? state(true, "trusted as it is now") : state(false, "changed since it was trusted");
}

function readContent(project: string): Content {
  const scan: Scan = { project, files: [], bytes: 0, visited: new Set(), hash: new Bun.CryptoHasher("sha256") };
  try {
    for (const source of trustSources) visit(scan, source, 0);
  } catch (error) {
    return { files: scan.files, digest: null, problem: messageOf(error) };
  }
  return { files: scan.files, digest: scan.hash.digest("hex"), problem: null };
}

type Scan = { project: string; files: string[]; bytes: number; visited: Set<string>; hash: Bun.CryptoHasher };

/** Adds a file, or all files below a directory. Throws if one can't be read, or if there are too many. */
function visit(scan: Scan, path: string, depth: number): void {
  const full = join(scan.project, path);
  const stat = statPath(full);
  if (stat === undefined) return;
  if (stat.isFile()) return visitFile(scan, path, stat.size);
  if (!stat.isDirectory()) throw new Error(`${path} is neither a file nor a directory`);
  if (depth > max.depth) throw new Error(`${path} is nested too deeply`);
  const real = realpathSync(full);
  if (scan.visited.has(real)) return;
  scan.visited.add(real);
  for (const name of readdirSync(full).sort()) visit(scan, `${path}/${name}`, depth + 1);
}

function visitFile(scan: Scan, path: string, size: number): void {
  scan.bytes += size;
  if (scan.files.length >= max.files) throw new Error(`more than ${max.files} files to read before trusting them`);
  if (scan.bytes > max.bytes) throw new Error(`more than ${max.bytes} bytes to read before trusting them`);
  const content = readFileSync(join(scan.project, path));
  scan.hash.update(`${Buffer.byteLength(path)}:${path}:${content.byteLength}:`).update(content);
  scan.files.push(path);
}

function recordPath(paths: Paths, project: string): string {
  return join(paths.state, "trust", `${new Bun.CryptoHasher("sha256").update(project).digest("hex")}.json`);
}

/** The trusted digest; null if the record is missing or damaged. */
function readRecord(path: string): string | null {
  try {
    const record: unknown = JSON.parse(readFileSync(path, "utf8"));
    const digest = (record as { digest?: unknown } | null)?.digest;
    return typeof digest === "string" && digest !== "" ? digest : null;
  } catch {
    return null;
  }
}

function writeRecord(paths: Paths, project: string, digest: string): void {
  const record = { directory: project, digest, granted_at: new Date().toISOString() };
  writeFileAtomically(recordPath(paths, project), `${JSON.stringify(record, null, 2)}\n`, { file: 0o600, directory: 0o700 });
}
