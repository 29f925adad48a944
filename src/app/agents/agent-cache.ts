// A cache of the versions of installed CLIs and of their trials with `doctor --agents`, in a file of the state directory.
// An entry is valid only for the same program file. The cache may be deleted at any time.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Program } from "../../agents/external/process/program.ts";
import { replaceFile } from "../../kit/files/replace-file.ts";
import { isRecord } from "../../kit/text/json.ts";
import type { TrialSummary } from "../../protocol/api/agents.ts";

/** Abilities that the trial showed. They take precedence over the table of agents. */
export type TrialFindings = TrialSummary & { resume: boolean; fork: boolean };

type Entry = {
  mtimeMs: number;
  /** Output of `--version`, for a program without a version file. */
  askedVersion?: string;
  /** Results of the trial, with the version that was tried. */
  found?: TrialFindings & { version: string | null };
};

type AgentCache = Record<string, Entry>;

export function cachedVersion(state: string, program: Program): string | null {
  return program.version ?? entryOf(readCache(state), program)?.askedVersion ?? null;
}

export function cachedFindings(state: string, program: Program): TrialFindings | null {
  const entry = entryOf(readCache(state), program);
  if (entry?.found === undefined) return null;
  const { version, ...findings } = entry.found;
  return version === (program.version ?? entry.askedVersion ?? null) ? findings : null;
}

export function cacheVersion(state: string, program: Program, askedVersion: string): void {
  update(state, program, { askedVersion });
}

export function cacheFindings(state: string, program: Program, findings: TrialFindings): void {
  update(state, program, { found: { ...findings, version: cachedVersion(state, program) } });
}

function update(state: string, program: Program, change: Partial<Entry>): void {
  const cache = readCache(state);
  const entry = { ...entryOf(cache, program), ...change, mtimeMs: program.mtimeMs };
  try {
    replaceFile(cacheFile(state), `${JSON.stringify({ ...cache, [program.path]: entry })}\n`, { file: 0o600, directory: 0o700 });
  } catch {
    // Without the cache, the next call asks the program again.
  }
}

function entryOf(cache: AgentCache, { path, mtimeMs }: Program): Entry | undefined {
  const entry = Object.hasOwn(cache, path) ? cache[path] : undefined;
  return entry?.mtimeMs === mtimeMs ? entry : undefined;
}

function readCache(state: string): AgentCache {
  try {
    const cache: unknown = JSON.parse(readFileSync(cacheFile(state), "utf8"));
    return isRecord(cache) ? (cache as AgentCache) : {};
  } catch {
    return {};
  }
}

function cacheFile(state: string): string {
  return join(state, "agents.json");
}
