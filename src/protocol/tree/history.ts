// Types for the search in a project's history and for descriptions of sessions.
import type { MethodParams } from "../api/api.ts";

/** Messages, commits, and names and tasks of sessions. */
export const historyKinds = ["conversation", "commit", "session"] as const;

export type { Description, HistoryHit, HistorySearchResult, SessionProse, SessionType } from "../schema/results.ts";

export type HistorySearchParams = MethodParams<"history.search">;
export type DescribeSessionParams = MethodParams<"session.describe"> & { signal?: AbortSignal };

export type Commit = { id: string; at: number; author: string; subject: string; body: string; files: string[] };

/** Commits, the latest first. `note` names the part that is missing. */
export type CommitLog = { commits: Commit[]; note: string | null };
