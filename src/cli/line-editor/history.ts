// The entries typed in a project, oldest first: one JSON string per line, readable by its owner only.
// Must not throw: a history that can't be read or written does not stop a conversation.
import { appendFileSync, mkdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { replaceFile } from "../../kit/files/replace-file.ts";

export type History = { entries: string[]; add: (text: string) => void };

const maxEntries = 1000;
const modes = { file: 0o600, directory: 0o700 };

export function openHistory(file: string | null): History {
  const entries = file === null ? [] : readEntries(file);
  return {
    entries,
    add(text) {
      if (text.trim() === "" || entries.at(-1) === text) return;
      entries.push(text);
      if (file !== null) attempt(() => append(file, text));
    },
  };
}

export function historyFile(state: string, project: string): string {
  return join(state, "history", `${fileNameOf(project)}.jsonl`);
}

/** The hash of the path distinguishes projects with the same directory name. */
export function fileNameOf(project: string): string {
  const name = basename(project).replace(/[^\w.-]/g, "_") || "root";
  return `${name}-${Bun.hash(project).toString(16).slice(0, 8)}`;
}

function readEntries(file: string): string[] {
  const text = attempt(() => readFileSync(file, "utf8")) ?? "";
  const entries = text.split("\n").flatMap((line) => {
    const entry: unknown = attempt(() => JSON.parse(line));
    return typeof entry === "string" ? [entry] : [];
  });
  const latest = entries.slice(-maxEntries);
  if (entries.length > maxEntries * 2) attempt(() => replaceFile(file, latest.map(lineOf).join(""), modes));
  return latest;
}

function append(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: modes.directory });
  appendFileSync(file, lineOf(text), { mode: modes.file });
}

function lineOf(entry: string): string {
  return `${JSON.stringify(entry)}\n`;
}

function attempt<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
