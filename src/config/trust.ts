// Stores whether the user trusts the files of a project that can widen rights. The user trusts their present content: any
// change revokes it. Each directory has its own small file, so that two writers never collide. A caller that has parsed
// files passes its reader, so that the parsed bytes are hashed.
import { readdirSync, rmSync } from "node:fs";
import { join, sep } from "node:path";
import { FileReader } from "../kit/files/file-reader.ts";
import { realPath, statPath } from "../kit/files/path-status.ts";
import { readRegularFile } from "../kit/files/safe-file.ts";
import { Fault, messageOf } from "../protocol/api/error.ts";
import type { TrustState } from "../protocol/api/api.ts";
import { type Paths, realDirectory } from "./paths.ts";
import { writeFileAtomically } from "./write-file.ts";

/** Files and directories that can widen rights. */
export const trustSources = [
  ".skein/config.jsonc",
  ".mcp.json",
  ".skein/roles",
  ".skein/skills",
  ".skein/agents",
  ".claude/agents",
  ".claude/skills",
  ".agents/skills",
] as const;

const max = { files: 1_000, directories: 1_000, bytes: 16_000_000, depth: 8 };

type Content = { files: string[]; digest: string; problem: null } | { files: string[]; digest: null; problem: string };

export function trustState(paths: Paths, directory: string, files?: FileReader): TrustState {
  const project = realDirectory(directory);
  return stateOf(paths, project, readContent(project, files));
}

/** Identifies the current content; null if it can't be read. */
export function contentDigest(directory: string, files?: FileReader): string | null {
  return readContent(realDirectory(directory), files).digest;
}

/** Trusts the current content. Writes nothing for a project without such files. */
export function grantTrust(paths: Paths, directory: string, files?: FileReader): TrustState {
  const project = realDirectory(directory);
  const content = readContent(project, files);
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

function readContent(project: string, reader = new FileReader(project)): Content {
  const parsed = reader.paths;
  const scan: Scan = { reader, files: [], directories: 0, bytes: 0, hash: new Bun.CryptoHasher("sha256") };
  try {
    for (const source of trustSources) visit(scan, source, []);
    const changed = parsed.find((path) => !scan.files.some((file) => join(project, file) === path));
    if (changed !== undefined) throw new Error(`${changed} changed while it was read`);
  } catch (error) {
    return { files: scan.files, digest: null, problem: messageOf(error) };
  }
  return { files: scan.files, digest: scan.hash.digest("hex"), problem: null };
}

type Scan = { reader: FileReader; files: string[]; directories: number; bytes: number; hash: Bun.CryptoHasher };

/**
 * Adds a file, or all files below a directory. Throws if one can't be read, or if there are too many. `parents` are the
 * real paths above, to end loops of links.
 */
function visit(scan: Scan, path: string, parents: readonly string[]): void {
  const { root } = scan.reader;
  const full = join(root, path);
  const real = realPath(full);
  const stat = statPath(full);
  if (stat === undefined || real === null || parents.includes(real)) return;
  if (!real.startsWith(root + sep)) return addOutsideLink(scan, path, real);
  if (stat.isFile()) return addFile(scan, path);
  if (!stat.isDirectory()) throw new Error(`${path} is neither a file nor a directory`);
  if (parents.length > max.depth) throw new Error(`${path} is nested too deeply`);
  if ((scan.directories += 1) > max.directories) throw new Error(`more than ${max.directories} directories to read before trusting them`);
  for (const name of readdirSync(full).sort()) visit(scan, `${path}/${name}`, [...parents, real]);
}

function addFile(scan: Scan, path: string): void {
  if (scan.files.length >= max.files) throw new Error(`more than ${max.files} files to read before trusting them`);
  const content = readFile(scan, path);
  scan.bytes += content.byteLength;
  scan.hash.update(`${Buffer.byteLength(path)}:${path}:${content.byteLength}:`).update(content);
  scan.files.push(path);
}

function readFile({ reader, bytes }: Scan, path: string): Buffer {
  try {
    const content = reader.read(join(reader.root, path), max.bytes);
    if (content === null) throw new Error("it is missing");
    if (bytes + content.byteLength <= max.bytes) return content;
  } catch (error) {
    throw new Error(`${path} can't be read: ${messageOf(error)}`, { cause: error });
  }
  throw new Error(`more than ${max.bytes} bytes to read before trusting them`);
}

/** Adds a link that leads out of the project. skein never reads through it, so only its target is hashed. */
function addOutsideLink(scan: Scan, path: string, target: string): void {
  scan.hash.update(`link:${Buffer.byteLength(path)}:${path}:${Buffer.byteLength(target)}:${target}`);
  scan.files.push(path);
}

function recordPath(paths: Paths, project: string): string {
  return join(paths.state, "trust", `${new Bun.CryptoHasher("sha256").update(project).digest("hex")}.json`);
}

/** The trusted digest; null if the record is missing or damaged. */
function readRecord(path: string): string | null {
  try {
    const record: unknown = JSON.parse(String(readRegularFile(path, { maxBytes: 10_000 })));
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
