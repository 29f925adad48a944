// Stores whether the user trusts the files of a project that can widen rights. Trust is for exactly this content: any
// change revokes it. Each directory has its own small file, so that two writers never collide.
import { readFileSync, readdirSync, realpathSync, rmSync, statSync, type Stats } from "node:fs";
import { join } from "node:path";
import { Fault, messageOf } from "../protocol/api/error.ts";
import type { TrustState } from "../protocol/api/api.ts";
import type { Paths } from "./paths.ts";
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

function realDirectory(directory: string): string {
  try {
    return realpathSync(directory);
  } catch (error) {
    throw new Fault("file-unreadable", `can't use ${directory} as a directory: ${messageOf(error)}`, { cause: error });
  }
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
  const scan: Scan = { project, files: [], bytes: 0, visited: new Set(), hash: null, problem: null };
  for (const source of trustSources) visit(scan, source, 0);
  if (scan.problem !== null) return { files: scan.files, digest: null, problem: scan.problem };
  return { files: scan.files, digest: scan.hash?.digest("hex") ?? "", problem: null };
}

type Scan = {
  project: string;
  files: string[];
  bytes: number;
  visited: Set<string>;
  hash: Bun.CryptoHasher | null;
  problem: string | null;
};

function visit(scan: Scan, path: string, depth: number): void {
  if (scan.problem !== null) return;
  const full = join(scan.project, path);
  const stat = statOr(full);
  if (stat === undefined) return;
  if (stat.isDirectory()) visitDirectory(scan, path, full, depth);
  else if (stat.isFile()) visitFile(scan, path, full, stat);
  else scan.problem = `${path} is neither a file nor a directory`;
}

function visitDirectory(scan: Scan, path: string, full: string, depth: number): void {
  if (depth > max.depth) {
    scan.problem = `${path} is nested too deeply`;
    return;
  }
  try {
    const real = realpathSync(full);
    if (scan.visited.has(real)) return;
    scan.visited.add(real);
    for (const name of readdirSync(full).sort()) visit(scan, `${path}/${name}`, depth + 1);
  } catch (error) {
    scan.problem = `can't read ${path}: ${messageOf(error)}`;
  }
}

function visitFile(scan: Scan, path: string, full: string, stat: Stats): void {
  scan.bytes += stat.size;
  if (scan.files.length >= max.files) scan.problem = `more than ${max.files} files to read before trusting them`;
  else if (scan.bytes > max.bytes) scan.problem = `more than ${max.bytes} bytes to read before trusting them`;
  if (scan.problem !== null) return;
  try {
    const content = readFileSync(full);
    scan.hash ??= new Bun.CryptoHasher("sha256");
    scan.hash.update(`${Buffer.byteLength(path)}:${path}:${content.byteLength}:`).update(content);
    scan.files.push(path);
  } catch (error) {
    scan.problem = `can't read ${path}: ${messageOf(error)}`;
  }
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

/** A dangling link counts as a missing file. */
function statOr(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
