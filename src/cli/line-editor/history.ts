// The entries typed in a project, oldest first: one JSON string per line, readable by its owner only.
// Must not throw: a history that can't be read or written does not stop a conversation.
import { appendFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

export type History = { entries: string[]; add: (text: string) => void };

const maxEntries = 1000;

export function openHistory(file: string | null): History {
  const entries = file === null ? [] : readEntries(file);
  return {
    entries,
    add(text) {
      if (text.trim() === "" || entries.at(-1) === text) return;
      entries.push(text);
      if (file !== null) append(file, text);
    },
  };
}

export function historyFile(state: string, project: string): string {
  return join(state, "history", `${fileNameOf(project)}.jsonl`);
}

/** A hash of the path keeps projects with the same directory name apart. */
export function fileNameOf(project: string): string {
  const name = basename(project).replace(/[^\w.-]/g, "_") || "root";
  return `${name}-${Bun.hash(project).toString(16).slice(0, 8)}`;
}

function readEntries(file: string): string[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return [];
  }
  const entries = text.split("\n").flatMap(parseEntry);
  if (entries.length > maxEntries * 2) rewrite(file, entries.slice(-maxEntries));
  return entries.slice(-maxEntries);
}

/** Returns [] for a line that is incomplete or not a JSON string. */
function parseEntry(row: string): string[] {
  try {
    const value: unknown = JSON.parse(row);
    return typeof value === "string" ? [value] : [];
  } catch {
    return [];
  }
}

function append(file: string, text: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    appendFileSync(file, `${JSON.stringify(text)}\n`, { mode: 0o600 });
  } catch {
    // The entry stays in the memory of this process.
  }
}

function rewrite(file: string, entries: string[]): void {
  try {
    const temporary = `${file}.${process.pid}`;
    writeFileSync(temporary, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""), { mode: 0o600 });
    renameSync(temporary, file);
  } catch {
    // The file stays longer than necessary; the next start tries again.
  }
}
