// Whether a person has read the files of a project that could widen what skein does. Trust is given to a directory
// with exactly this content: any change takes it away. One small file per directory, so that writers never collide.
import { readFileSync, readdirSync, realpathSync, rmSync, statSync, type Stats } from "node:fs";
import { join } from "node:path";
import { Fault, messageOf } from "../protocol/api/error.ts";
import type { TrustState } from "../protocol/api/api.ts";
import type { Paths } from "./paths.ts";
import { writeFileAtomically } from "./write-file.ts";

/** What can widen: files, or directories with all that is in them. */
export const trustSources = [
  ".skein/config.jsonc",
  ".skein/roles",
  ".skein/skills",
  ".skein/agents",
  ".claude/agents",
  ".claude/skills",
  ".agents/skills",
] as const;

const limits = { files: 1_000, bytes: 16_000_000, depth: 8 };

type Content = { files: string[]; digest: string; problem: null } | { files: string[]; digest: null; problem: string };

export function trustState(paths: Paths, directory: string): TrustState {
  const project = realDirectory(directory);
  return judge(paths, project, readContent(project));
}

/** Trusts the content as it is now. A project without such files has nothing to trust, and nothing is written. */
export function grantTrust(paths: Paths, directory: string): TrustState {
  const project = realDirectory(directory);
  const content = readContent(project);
  if (content.problem !== null) throw new Fault("config", `can't trust ${project}: ${content.problem}`);
  if (content.files.length > 0) writeRecord(paths, project, content.digest);
  return judge(paths, project, content);
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

function judge(paths: Paths, project: string, content: Content): TrustState {
  const answer = (trusted: boolean, reason: string): TrustState => ({ directory: project, trusted, files: content.files, reason });
  if (content.problem !== null) return answer(false, content.problem);
  if (content.files.length === 0) return answer(false, "nothing in this project needs trust");
  const digest = readRecord(recordPath(paths, project));
  if (digest === null) return answer(false, "not trusted yet");
  return digest === content.digest ? answer(true, "trusted as it is now") : answer(false, "changed since it was trusted");
}

function readContent(project: string): Content {
  const walk: Walk = { project, files: [], bytes: 0, seen: new Set(), hash: null, problem: null };
  for (const source of trustSources) visit(walk, source, 0);
  if (walk.problem !== null) return { files: walk.files, digest: null, problem: walk.problem };
  return { files: walk.files, digest: walk.hash?.digest("hex") ?? "", problem: null };
}

type Walk = {
  project: string;
  files: string[];
  bytes: number;
  seen: Set<string>;
  hash: Bun.CryptoHasher | null;
  problem: string | null;
};

function visit(walk: Walk, path: string, depth: number): void {
  if (walk.problem !== null) return;
  const full = join(walk.project, path);
  const stat = statOr(full);
  if (stat === undefined) return;
  if (stat.isDirectory()) visitDirectory(walk, path, full, depth);
  else if (stat.isFile()) visitFile(walk, path, full, stat);
  else walk.problem = `${path} is neither a file nor a directory`;
}

function visitDirectory(walk: Walk, path: string, full: string, depth: number): void {
  if (depth > limits.depth) {
    walk.problem = `${path} is nested too deeply`;
    return;
  }
  try {
    const real = realpathSync(full);
    if (walk.seen.has(real)) return;
    walk.seen.add(real);
    for (const name of readdirSync(full).sort()) visit(walk, `${path}/${name}`, depth + 1);
  } catch (error) {
    walk.problem = `can't read ${path}: ${messageOf(error)}`;
  }
}

function visitFile(walk: Walk, path: string, full: string, stat: Stats): void {
  walk.bytes += stat.size;
  if (walk.files.length >= limits.files) walk.problem = `more than ${limits.files} files to read before trusting them`;
  else if (walk.bytes > limits.bytes) walk.problem = `more than ${limits.bytes} bytes to read before trusting them`;
  if (walk.problem !== null) return;
  try {
    const content = readFileSync(full);
    walk.hash ??= new Bun.CryptoHasher("sha256");
    walk.hash.update(`${Buffer.byteLength(path)}:${path}:${content.byteLength}:`).update(content);
    walk.files.push(path);
  } catch (error) {
    walk.problem = `can't read ${path}: ${messageOf(error)}`;
  }
}

function recordPath(paths: Paths, project: string): string {
  return join(paths.state, "trust", `${new Bun.CryptoHasher("sha256").update(project).digest("hex")}.json`);
}

/** The digest that was trusted; a missing or damaged record trusts nothing. */
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

/** A dangling link is a missing file: it gives no content. */
function statOr(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
