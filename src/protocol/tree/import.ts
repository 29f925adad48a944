// What a transcript becomes before it is stored: sessions, turns and nodes with their final ids. The same file always
// gives the same ids, so that what is stored already can be told from what is not.
import type { Handle } from "./handle.ts";
import type { NewNode } from "./node.ts";
import type { Session, Turn } from "./turn.ts";

export type { ImportReport } from "../schema/results.ts";

export const importFormats = ["skein", "claude", "codex", "gemini", "pi"] as const;
export type ImportFormat = (typeof importFormats)[number];

export type ImportedTree = {
  format: ImportFormat;
  /** The session's id where it comes from. */
  nativeId: string;
  sha256: string;
  /** Null: the tree of the nodes that are stored already, or one that is made now. */
  tree: string | null;
  /** The session that the file is about. */
  main: string;
  sessions: ImportedSession[];
  turns: ImportedTurn[];
  /** Parents before children. */
  nodes: ImportedNode[];
  /** Lines that could not be read, and whether the last one was cut off. */
  unreadable: number;
  torn: boolean;
};

export type ImportedSession = Pick<
  Session,
  "id" | "name" | "agent" | "model" | "task" | "toolLevel" | "tip" | "forkedFrom" | "createdAt" | "plan"
>;

export type ImportedTurn = Pick<
  Turn,
  | "id"
  | "session"
  | "parent"
  | "agent"
  | "model"
  | "role"
  | "nativeId"
  | "policy"
  | "enforced"
  | "startedAt"
  | "endedAt"
  | "status"
  | "error"
>;

export type ImportedNode = NewNode & {
  id: string;
  parent: string | null;
  session: string;
  turn: string | null;
  at: number;
  /** Whole outputs that this node's handles point at; the identifier is where they are stored. */
  outputs?: { handle: Handle; call: string; bytes: Uint8Array }[];
};

export type ImportSource = { path: string } | { text: string };
