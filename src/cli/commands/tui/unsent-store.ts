// Stores unsent messages of the screen for the next screen of the project. Each process has one file, which is replaced
// atomically and readable by its owner only. Files of other running processes are not touched.
import { readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { processStartTime } from "../../../kit/process/processes.ts";
import { replaceFile } from "../../../kit/files/replace-file.ts";
import { isRecord } from "../../../kit/text/json.ts";
import { messageOf } from "../../../protocol/api/error.ts";
import type { Chip } from "../../../tui/composer/chips.ts";
import type { UnsentMessage, UnsentStore } from "../../../tui/composer/unsent.ts";

export function openUnsentStore(directory: string): UnsentStore & { isSaved: () => boolean } {
  const ownFile = join(directory, fileNameOf(process.pid, processStartTime(process.pid) ?? ""));
  let isSaved = false;
  let problem: string | null = null;
  return {
    claim() {
      try {
        const files = orphanedFiles(directory);
        for (const [index, file] of files.entries()) {
          const unsent = readUnsent(file);
          if ("problem" in unsent) problem = unsent.problem;
          // Another screen may have claimed the file first.
          else if (nullIfMissing(() => (renameSync(file, ownFile), true)) !== null) {
            isSaved = true;
            return { unsent, more: files.length - index - 1 };
          }
        }
      } catch (error) {
        problem = messageOf(error);
      }
      return null;
    },
    save(unsent) {
      try {
        if (unsent === null) rmSync(ownFile, { force: true });
        else replaceFile(ownFile, JSON.stringify(unsent), { file: 0o600, directory: 0o700 });
        isSaved = unsent !== null;
        problem = null;
      } catch (error) {
        problem = messageOf(error);
      }
    },
    problem: () => problem,
    isSaved: () => isSaved,
  };
}

/** Pids are reused, so the start time of the process is part of the name. */
function fileNameOf(pid: number, started: string): string {
  return `${pid}-${started.replace(/\W/g, "")}.json`;
}

/** Files of processes that have exited, the latest first. Deletes their incomplete temporary files. */
function orphanedFiles(directory: string): string[] {
  const names = (nullIfMissing(() => readdirSync(directory)) ?? []).filter((name) => {
    const [, fileName, pid] = /^((\d+)-\w*\.json)/.exec(name) ?? [];
    const started = pid === undefined ? null : processStartTime(Number(pid));
    return pid !== undefined && (started === null || fileName !== fileNameOf(Number(pid), started));
  });
  const isTemporary = (name: string) => name.endsWith(".tmp");
  for (const name of names.filter(isTemporary)) rmSync(join(directory, name), { force: true });
  const files = names.filter((name) => !isTemporary(name)).map((name) => join(directory, name));
  const modifiedAt = new Map(files.map((file) => [file, statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0]));
  return files.toSorted((a, b) => modifiedAt.get(b)! - modifiedAt.get(a)!);
}

function readUnsent(file: string): UnsentMessage | { problem: string } {
  const unreadable = (reason: string) => ({ problem: `${file} can't be read: ${reason}` });
  try {
    const unsent: unknown = JSON.parse(readFileSync(file, "utf8"));
    return isUnsent(unsent) ? unsent : unreadable("it is not an unsent message");
  } catch (error) {
    return unreadable(messageOf(error));
  }
}

function isUnsent(value: unknown): value is UnsentMessage {
  if (!isRecord(value)) return false;
  const { text, chips, session, others = [] } = value;
  const isMessage = typeof text === "string" && Array.isArray(chips) && chips.every(isChip);
  return isMessage && (session === undefined || typeof session === "string") && Array.isArray(others) && others.every(isUnsent);
}

function isChip(chip: Record<string, unknown> | null): chip is Chip {
  return typeof chip?.["label"] === "string" && typeof (chip["text"] ?? chip["image"]) === "string";
}

function nullIfMissing<T>(act: () => T): T | null {
  try {
    return act();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}
