// A handle points at data that is too big for a node, or that lives outside the tree.

export type HandleSource = "bash" | "file" | "http" | "postgres" | "session";

export type Handle = {
  source: HandleSource | (string & {});
  sourceVersion: string;
  /** `<session>/<n>` for bash; a path, URL, query or session id for the others. */
  identifier: string;
  metadata: HandleMetadata;
};

/** Where the copy of a handle's data is kept: a `bash` handle is its own, the others name one, so that replay is faithful. */
export function storedIdentifier(handle: Handle): string {
  return typeof handle.metadata["stored"] === "string" ? handle.metadata["stored"] : handle.identifier;
}

export type HandleMetadata = {
  command?: string;
  exitCode?: number | null;
  durationMs?: number;
  /** Size of the whole data, and of what was kept when it was over the bound. */
  bytes?: number;
  keptBytes?: number;
  sha256?: string;
  [key: string]: unknown;
};
