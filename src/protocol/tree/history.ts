// Types for a project's history: the search in it, descriptions of sessions, and notes of commits.
import type { MethodParams } from "../api/api.ts";

/** Messages, commits, and names and tasks of sessions. */
export const historyKinds = ["conversation", "commit", "session"] as const;

export type { Description, HistoryHit, HistorySearchResult, SessionProse, SessionType } from "../schema/results.ts";

export type HistorySearchParams = MethodParams<"history.search">;
export type DescribeSessionParams = MethodParams<"session.describe"> & { signal?: AbortSignal };

export type Commit = { id: string; at: number; author: string; subject: string; body: string; files: string[] };

/** Commits, the latest first. `note` names the part that is missing. */
export type CommitLog = { commits: Commit[]; note: string | null };

/** A line of a file at HEAD: the commit that added it, and its path and number (from 1) in that commit. */
export type CommittedLine = { commit: string; path: string; line: number };

export type CommittedFile = {
  /** The id of the content, as in a file's version. */
  blob: string;
  /** Ends with a line break, even if the file does not. */
  content: Buffer;
  lines: CommittedLine[];
};

/** The notes of a project's commits, in which git-ai and others keep who wrote a line. */
export type CommitNotes = {
  /** The file at HEAD; null if there is none, or no repository that git can read. The path has one character for each byte. */
  committedFile: (project: string, path: string) => Promise<CommittedFile | null>;
  /** The notes of these commits, for those that have one. */
  read: (project: string, commits: readonly string[]) => Promise<Map<string, Buffer>>;
  /** Replaces the notes of these commits, all or none of them. Fails if another program wrote notes since `read`. */
  write: (project: string, notes: ReadonlyMap<string, Buffer>) => Promise<void>;
};
