// A parsed transcript before it is stored: sessions, turns and nodes with their final ids. The ids depend only on
// the file, so that stored nodes are recognised.
import type { Handle } from "./handle.ts";
import type { NewNode } from "./node.ts";
import type { Session, Turn } from "./turn.ts";

export type { ImportReport } from "../schema/results.ts";

export const importFormats = ["skein", "claude", "codex", "gemini", "opencode", "pi", "atif"] as const;
export type ImportFormat = (typeof importFormats)[number];

export type ImportedTree = {
  format: ImportFormat;
  /** The session's id in the other program. */
  nativeId: string;
  sha256: string;
  /** Null: the tree of the nodes that are stored, or a new one. */
  tree: string | null;
  /** The session that the file is about. */
  main: string;
  sessions: ImportedSession[];
  turns: ImportedTurn[];
  /** Parents precede their children. */
  nodes: ImportedNode[];
  /** Number of lines that can't be parsed. */
  unreadable: number;
  /** The last line of the file has no line end. */
  isCutOff: boolean;
  /** Sub-sessions of the main session, each with a tree of its own. */
  subSessions?: ImportedTree[];
};

export type ImportedSession = Pick<
  Session,
  "id" | "name" | "agent" | "model" | "task" | "toolLevel" | "tip" | "forkedFrom" | "createdAt" | "plan"
>;

export type ImportedTurn = Omit<Turn, "tip" | "usage" | "costUsd" | "steps" | "source" | "cli">;

export type ImportedNode = NewNode & {
  id: string;
  parent: string | null;
  session: string;
  turn: string | null;
  at: number;
  /** Full outputs of this node's handles. They are stored under the identifiers of the handles. */
  outputs?: { handle: Handle; call: string; bytes: Uint8Array }[];
};

export type ImportSource = { path: string } | { text: string };
