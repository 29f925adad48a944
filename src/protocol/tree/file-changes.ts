// Types of recorded file changes.
import type { MethodParams } from "../api/api.ts";

export type { ListFilesResult, OtherChange } from "../schema/results.ts";
export type { FileChange } from "../schema/team.ts";

/** Ids of the project's recorded states before and after a turn; `after` is null until the turn has ended. */
export type TurnFiles = { project: string; before: string; after: string | null };

/** The recorded files around the calls of one answer. Calls of one answer run at the same time, so they share a record. */
export type CallFiles = {
  /** The node with the calls. */
  first: string;
  /** The node with their last result; null until they have ended; it stays null after a crash. */
  last: string | null;
  project: string;
  /** The files just before the calls; null if they are not known. */
  before: string | null;
  /** The files just after the calls; null if they are not known. */
  after: string | null;
  /** The only paths that the calls can have changed, absolute; null if they can have changed any file. */
  paths: string[] | null;
  startedAt: number;
  endedAt: number | null;
};

/** `CallFiles` of any turn. A turn without records of its calls is one record, and `first` is null. */
export type FileRecord = Omit<CallFiles, "first"> & { session: string; turn: string; first: string | null };

/** `id` is null if the files can't be recorded. `stored` is null if the state is stored already; it resolves to false if that failed. */
export type FileState = { id: string | null; stored: Promise<boolean> | null };

/** A change of one file between two recorded states. */
export type EntryChange = {
  /** Relative to the project, one character for each byte. */
  path: string;
  before: FileVersion;
  after: FileVersion;
};

/** The mode and the content of a file, as an id; null if there is no such file. */
export type FileVersion = string | null;

export type ListFilesParams = MethodParams<"files.list">;
