// Types of recorded file changes.
import type { MethodParams } from "../api/api.ts";

export type { ListFilesResult } from "../schema/results.ts";
export type { FileChange } from "../schema/team.ts";

/** Ids of the project's recorded states before and after a turn; `after` is null until the turn has ended. */
export type TurnFiles = { project: string; before: string; after: string | null };

export type ListFilesParams = MethodParams<"files.list">;
