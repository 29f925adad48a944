// Stores a project's current session and its planner in a small file of the state directory.
// The file is only a convenience, so a broken one counts as empty.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { replaceFile } from "../kit/files/replace-file.ts";
import type { Paths } from "./paths.ts";

export type ProjectState = {
  /** The session that `--continue` means. */
  current: string | null;
  /** The session that wrote the project's plan last. */
  planning: string | null;
};

export function readProjectState(paths: Paths, project: string): ProjectState {
  try {
    const { current, planning } = JSON.parse(readFileSync(stateFile(paths, project), "utf8")) as Partial<ProjectState>;
    return { current: typeof current === "string" ? current : null, planning: typeof planning === "string" ? planning : null };
  } catch {
    return { current: null, planning: null };
  }
}

/** Changes only the named fields. */
export function writeProjectState(paths: Paths, project: string, change: Partial<ProjectState>): void {
  const state = { ...readProjectState(paths, project), ...change };
  try {
    replaceFile(stateFile(paths, project), `${JSON.stringify({ project, ...state })}\n`, {
      file: 0o600,
      directory: 0o700,
      isFlushed: false,
    });
  } catch {
    // A run must not fail because of it. Without the file the latest session is the current one.
  }
}

function stateFile(paths: Paths, project: string): string {
  return join(paths.state, "projects", `${Bun.hash(project).toString(16)}.json`);
}

/** Late enough for the first request of a run, and before another process can have read the state. */
const delayMs = 10;

export type CurrentSessions = {
  get: (project: string) => string | null;
  set: (project: string, session: string) => void;
  /** Writes what is not written yet. */
  flush: () => void;
};

/** Writes the current session of a project a moment after it was set, because a run sets it before its first request. */
export function createCurrentSessions(paths: Paths): CurrentSessions {
  const unwritten = new Map<string, string>();
  let timer: Timer | null = null;
  const flush = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    for (const [project, current] of unwritten) writeProjectState(paths, project, { current });
    unwritten.clear();
  };
  return {
    get: (project) => unwritten.get(project) ?? readProjectState(paths, project).current,
    set(project, session) {
      unwritten.set(project, session);
      timer ??= setTimeout(flush, delayMs);
    },
    flush,
  };
}
