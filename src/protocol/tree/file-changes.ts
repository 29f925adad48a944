// What changed in a project's files between two moments that were recorded.

export type FileChange = {
  /** Relative to the project, as people read it. */
  path: string;
  kind: "added" | "modified" | "deleted";
  /** Lines; both are 0 for a binary file. */
  added: number;
  removed: number;
  binary?: true;
  /** Too big to be kept: only its hash is known, so it can't be brought back. */
  big?: true;
};

/** The ids of the project's states around a turn; `after` is null until the turn ended. */
export type TurnFiles = { project: string; before: string; after: string | null };

/** Files of the directory's project, without what .gitignore leaves out. */
export type ListFilesParams = {
  directory: string;
  /** Letters of their paths, in this order; none is every file. */
  query: string;
  limit: number;
};

/** Relative to the directory, the best first; and how many files there are in all. */
export type ListFilesResult = { files: string[]; total: number };
