// Messages that were typed on a screen and not sent, kept for the next screen of the project: a file for each process,
// replaced as a whole, readable by its owner only. What a living process keeps is left to it.
import { readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { processStartTime } from "../../../kit/process/processes.ts";
import { replaceFile } from "../../../kit/files/replace-file.ts";
import { messageOf } from "../../../protocol/api/error.ts";
import type { Chip } from "../../../tui/composer/chips.ts";
import type { UnsentDraft, UnsentStore } from "../../../tui/composer/unsent.ts";

export function openUnsentStore(directory: string): UnsentStore & { isKept: () => boolean } {
  const own = join(directory, nameOf(process.pid, processStartTime(process.pid) ?? ""));
  let isKept = false;
  let problem: string | null = null;
  return {
    take() {
      try {
        const left = leftIn(directory);
        for (const [at, file] of left.entries()) {
          const unsent = readUnsent(file);
          if ("problem" in unsent) problem = unsent.problem;
          else if (isClaimed(file, own)) {
            isKept = true;
            return { unsent, more: left.length - at - 1 };
          }
        }
      } catch (error) {
        problem = messageOf(error);
      }
      return null;
    },
    keep(unsent) {
      try {
        if (unsent === null) rmSync(own, { force: true });
        else replaceFile(own, JSON.stringify(unsent), { file: 0o600, directory: 0o700 });
        isKept = unsent !== null;
        problem = null;
      } catch (error) {
        problem = messageOf(error);
      }
    },
    problem: () => problem,
    isKept: () => isKept,
  };
}

/** A pid is used again; with its start it is one process. */
function nameOf(pid: number, started: string): string {
  return `${pid}-${started.replace(/\W/g, "")}.json`;
}

/** What processes that are gone have left, the latest first. What one of them was just writing goes: it is half of something. */
function leftIn(directory: string): string[] {
  const names = namesIn(directory).filter((name) => {
    const [, whole, pid] = /^((\d+)-\w*\.json)/.exec(name) ?? [];
    const started = pid === undefined ? null : processStartTime(Number(pid));
    return pid !== undefined && (started === null || whole !== nameOf(Number(pid), started));
  });
  const isHalf = (name: string) => name.endsWith(".tmp");
  for (const name of names.filter(isHalf)) rmSync(join(directory, name), { force: true });
  const files = names.filter((name) => !isHalf(name)).map((name) => join(directory, name));
  const changed = new Map(files.map((file) => [file, statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0]));
  return files.toSorted((a, b) => changed.get(b)! - changed.get(a)!);
}

function namesIn(directory: string): string[] {
  return unlessGone(() => readdirSync(directory)) ?? [];
}

/** False when another screen was faster. */
function isClaimed(from: string, to: string): boolean {
  return unlessGone(() => (renameSync(from, to), true)) ?? false;
}

function readUnsent(file: string): UnsentDraft | { problem: string } {
  const cannot = (why: string) => ({ problem: `${file} can't be read: ${why}` });
  try {
    const { text, chips } = JSON.parse(readFileSync(file, "utf8")) as { text: unknown; chips: unknown };
    return typeof text === "string" && Array.isArray(chips) && chips.every(isChip) ? { text, chips } : cannot("it is something else");
  } catch (error) {
    return cannot(messageOf(error));
  }
}

function isChip(chip: Record<string, unknown> | null): chip is Chip {
  return typeof chip?.["label"] === "string" && typeof (chip["text"] ?? chip["image"]) === "string";
}

function unlessGone<T>(act: () => T): T | null {
  try {
    return act();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}
