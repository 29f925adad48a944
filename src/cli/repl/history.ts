// What was entered in a project, oldest first: one JSON string per line, readable by its owner only.
// A history that can't be read or written is no reason not to talk.
import { appendFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

export type History = { entries: string[]; add: (text: string) => void };

const most = 1000;

export function openHistory(file: string | null): History {
  const entries = file === null ? [] : read(file);
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

/** Projects with the same last name have different files. */
export function fileNameOf(project: string): string {
  const name = basename(project).replace(/[^\w.-]/g, "_") || "root";
  return `${name}-${Bun.hash(project).toString(16).slice(0, 8)}`;
}

function read(file: string): string[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return [];
  }
  const entries = text.split("\n").flatMap(entryOf);
  if (entries.length > most * 2) rewrite(file, entries.slice(-most));
  return entries.slice(-most);
}

/** A torn or foreign line is left out. */
function entryOf(row: string): string[] {
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
    // The entry is still in this REPL's memory.
  }
}

function rewrite(file: string, entries: string[]): void {
  try {
    const temporary = `${file}.${process.pid}`;
    writeFileSync(temporary, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""), { mode: 0o600 });
    renameSync(temporary, file);
  } catch {
    // It only stays longer than it need be.
  }
}
