// The engine's port to a project's history: its commits and their notes, the redaction of secrets, and a conversation as a prompt.
import type { AppContext } from "./app-context.ts";
import type { GitRunner } from "../files/git.ts";
import type { HistorySource } from "../engine/engine.ts";
import type { CommitNotes } from "../protocol/tree/history.ts";
import { redactor, envSecrets } from "../kit/text/redact.ts";

export function createHistorySource({ env, paths, providers }: AppContext, git: GitRunner): HistorySource {
  let redact: ((text: string) => string) | null = null;
  return {
    commits: async (project) => (await import("../files/project/commits.ts")).readCommits({ project, git }),
    redact: (text) => (redact ??= redactor({ home: paths.home, secrets: [...envSecrets(env), ...keysOf(providers)] }))(text),
    promptWithBrief: async (path, prompt) => (await import("../agents/external/turn/brief.ts")).promptWithBrief(path, prompt),
  };
}

/** The notes of commits. Few commands use them, so their code is loaded at the first call. */
export function createCommitNotesPort(git: GitRunner): CommitNotes {
  const load = async () => (await import("../files/project/commit-notes.ts")).createCommitNotes(git);
  return {
    committedFile: async (...args) => (await load()).committedFile(...args),
    read: async (...args) => (await load()).read(...args),
    write: async (...args) => (await load()).write(...args),
  };
}

function keysOf(providers: AppContext["providers"]): string[] {
  return Object.values(providers).flatMap(({ apiKey }) => apiKey ?? []);
}
