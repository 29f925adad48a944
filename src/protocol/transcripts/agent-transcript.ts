// Transcripts that other agents keep on this machine. skein reads them where they are, and imports one when it is used.
import type { AgentTranscript, FoundMessage } from "../schema/views/transcript-views.ts";
import type { ImportSource } from "../tree/import.ts";

export type { AgentTranscript, FoundMessage } from "../schema/views/transcript-views.ts";

export const transcriptAgents = ["claude", "codex", "gemini", "opencode", "pi"] as const;
export type TranscriptAgent = (typeof transcriptAgents)[number];

export type IndexProgress = { files: number; doneFiles: number; bytes: number; doneBytes: number };

export type TranscriptFilter = {
  /** Null: all agents. */
  agents: readonly TranscriptAgent[] | null;
  /** Null: all projects. */
  project: string | null;
  limit: number;
};

/** A transcript without its session in skein, which the port does not know. */
export type IndexedTranscript = Omit<AgentTranscript, "session">;
export type IndexedMessage = Omit<FoundMessage, "transcript"> & { transcript: IndexedTranscript };

/** The index of the transcripts of other agents. Nothing of theirs is ever written. */
export type AgentTranscripts = {
  /** Reads what is new in the transcripts. `onProgress` is called several times a second while files are read. */
  update: (agents: readonly TranscriptAgent[] | null, onProgress?: (progress: IndexProgress) => void) => Promise<void>;
  /** The latest first. */
  list: (filter: TranscriptFilter) => Promise<IndexedTranscript[]>;
  search: (query: string, filter: TranscriptFilter) => Promise<IndexedMessage[]>;
  /** Finds an indexed transcript by the end of its id; null if there is none. */
  find: (idEnd: string) => Promise<IndexedTranscript | null>;
  /** The transcript of an imported session, if it changed since it was imported. */
  changed: (agent: string, nativeId: string) => Promise<IndexedTranscript | null>;
  /** Returns the content for an import. */
  open: (transcript: IndexedTranscript) => Promise<ImportSource>;
  /** Call it after an import: the transcript counts as unchanged until it grows. */
  noteImported: (transcript: IndexedTranscript) => Promise<void>;
};
