// What was found out about installed agents: their versions, and what `doctor --agents` saw. A file in the state
// directory; it holds for the very program it was found out about, and losing it loses nothing that can't be found again.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Program } from "../../agents/external/process/program.ts";
import type { TrialSummary } from "../../protocol/api/agents.ts";

/** What the trial showed it to be able to do, whatever its adapter says. */
export type TrialFindings = TrialSummary & { resume: boolean; fork: boolean };

type Entry = {
  mtimeMs: number;
  /** What no file beside it says. */
  askedVersion?: string;
  /** Of the version that was tried. */
  found?: TrialFindings & { version: string | null };
};

type AgentCache = Record<string, Entry>;

export function cachedVersion(state: string, program: Program): string | null {
  return program.version ?? entryOf(readKnown(state), program)?.askedVersion ?? null;
}

export function cachedFindings(state: string, program: Program): TrialFindings | null {
  const entry = entryOf(readKnown(state), program);
  if (entry?.found === undefined) return null;
  const { version, ...found } = entry.found;
  return version === (program.version ?? entry.askedVersion ?? null) ? found : null;
}

export function cacheVersion(state: string, program: Program, askedVersion: string): void {
  keep(state, program, { askedVersion });
}

export function cacheFindings(state: string, program: Program, found: TrialFindings): void {
  keep(state, program, { found: { ...found, version: cachedVersion(state, program) } });
}

function keep(state: string, program: Program, change: Partial<Entry>): void {
  const known = readKnown(state);
  const entry = { ...entryOf(known, program), ...change, mtimeMs: program.mtimeMs };
  const file = fileIn(state);
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(temporary, `${JSON.stringify({ ...known, [program.path]: entry })}\n`, { mode: 0o600 });
    renameSync(temporary, file);
  } catch {
    // Then it is found out again the next time.
  }
}

function entryOf(known: AgentCache, { path, mtimeMs }: Program): Entry | undefined {
  const entry = Object.hasOwn(known, path) ? known[path] : undefined;
  return entry?.mtimeMs === mtimeMs ? entry : undefined;
}

function readKnown(state: string): AgentCache {
  try {
    const known: unknown = JSON.parse(readFileSync(fileIn(state), "utf8"));
    return typeof known === "object" && known !== null && !Array.isArray(known) ? (known as AgentCache) : {};
  } catch {
    return {};
  }
}

function fileIn(state: string): string {
  return join(state, "agents.json");
}
