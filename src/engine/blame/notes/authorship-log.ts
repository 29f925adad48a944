// The text of a note in refs/notes/ai: an authorship log by version 3.0.0 of git-ai's standard. First the files with the
// lines of each writer, then a line `---`, then JSON that says who the writers are. Pure.
export const logVersion = "authorship/3.0.0";

/** Keys of writers by line number (from 1). */
export type LineKeys = Map<number, string>;

export type AuthorshipLog = { files: Map<string, LineKeys>; metadata: Record<string, unknown> };

/** A session of an agent, under `s_` and 14 hex digits. */
export type AgentSession = { agent_id: { tool: string; id: string; model: string }; custom_attributes?: Record<string, string> };

/** The session's part of a key. It is the same for all lines that a conversation of an agent wrote, as the standard demands. */
export function sessionKey(tool: string, conversation: string): string {
  return `s_${hexDigits(`${tool}:${conversation}`)}`;
}

/** The second part of a key names one turn, so that writing a note again changes nothing. */
export function turnKey(session: string, turn: string): string {
  return `${session}::t_${hexDigits(turn)}`;
}

function hexDigits(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, 14);
}

export function emptyLog(commit: string, writer: string): AuthorshipLog {
  const metadata = { schema_version: logVersion, git_ai_version: writer, base_commit_sha: commit, prompts: {}, sessions: {} };
  return { files: new Map(), metadata };
}

/** Null if the text is no authorship log of this version. */
export function parseLog(text: string): AuthorshipLog | null {
  const divider = text.startsWith("---\n") ? 0 : text.indexOf("\n---\n") + 1;
  if (divider === 0 && !text.startsWith("---\n")) return null;
  const files = parseFiles(text.slice(0, divider));
  const metadata = parseMetadata(text.slice(divider + 4));
  return files === null || metadata === null ? null : { files, metadata };
}

function parseMetadata(text: string): Record<string, unknown> | null {
  try {
    const metadata: unknown = JSON.parse(text);
    return isObject(metadata) && metadata["schema_version"] === logVersion && isObject(metadata["sessions"] ?? {}) ? metadata : null;
  } catch {
    return null;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parseFiles(text: string): Map<string, LineKeys> | null {
  const files = new Map<string, LineKeys>();
  let lines: LineKeys | null = null;
  for (const row of text.split("\n")) {
    if (row === "") continue;
    if (!row.startsWith(" ")) {
      const path = /^"(.*)"$/.exec(row)?.[1] ?? row;
      lines = files.get(path) ?? new Map<number, string>();
      files.set(path, lines);
      continue;
    }
    const [, key, ranges] = /^ {2}(\S+) ([\d,-]+)$/.exec(row) ?? [];
    if (lines === null || key === undefined || !addRanges(lines, key, ranges!)) return null;
  }
  return files;
}

/** A file of 5 MB has no more lines. A hostile note must not fill the memory. */
const maxLine = 5_000_000;

function addRanges(lines: LineKeys, key: string, ranges: string): boolean {
  for (const range of ranges.split(",")) {
    const [, first, last = first] = /^(\d{1,8})(?:-(\d{1,8}))?$/.exec(range) ?? [];
    if (first === undefined || Number(last) > maxLine || Number(first) < 1) return false;
    for (let line = Number(first); line <= Number(last); line++) lines.set(line, key);
  }
  return true;
}

export function logText({ files, metadata }: AuthorshipLog): string {
  const sections = [...files]
    .filter(([, lines]) => lines.size > 0)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, lines]) => `${quotedPath(path)}\n${entryRows(lines)}`);
  return `${sections.join("")}---\n${JSON.stringify(metadata, null, 2)}\n`;
}

function quotedPath(path: string): string {
  return /\s/.test(path) || path === "---" ? `"${path}"` : path;
}

function entryRows(lines: LineKeys): string {
  const byKey = Map.groupBy(
    [...lines].toSorted(([a], [b]) => a - b),
    ([, key]) => key,
  );
  return [...byKey].map(([key, entries]) => `  ${key} ${rangesText(entries.map(([line]) => line))}\n`).join("");
}

function rangesText(lines: readonly number[]): string {
  const ranges: [first: number, last: number][] = [];
  for (const line of lines) {
    const range = ranges.at(-1);
    if (range !== undefined && range[1] === line - 1) range[1] = line;
    else ranges.push([line, line]);
  }
  return ranges.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join(",");
}
