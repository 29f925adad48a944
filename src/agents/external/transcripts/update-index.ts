// Brings the index up to date: removes deleted transcripts and reads new entries of the others. A file that only grew is read
// from the end of the last reading. Files are opened for reading only.
import type { Database } from "bun:sqlite";
import { closeSync, readSync } from "node:fs";
import { yieldToEventLoop } from "../../../kit/flow/time-slice.ts";
import { openRegularFile } from "../../../kit/files/safe-file.ts";
import type { Json } from "../../../kit/text/json.ts";
import { listAt, objectAt, textAt } from "../../../models/wire/json.ts";
import { transcriptAgents, type IndexProgress, type TranscriptAgent } from "../../../protocol/transcripts/agent-transcript.ts";
import { addMessages, type FileState, type IndexedFile, noFacts, removeFile, withFacts } from "./index-db.ts";
import { listTranscriptFiles, statFile, type TranscriptFile, type TranscriptHome } from "./locations.ts";
import { updateOpencode } from "./opencode-sessions.ts";
import { readBatches } from "./read-batches.ts";
import { type EntryFacts, factsOf, type Message, messagesOf } from "./read-messages.ts";

export type UpdateRequest = {
  db: Database;
  home: TranscriptHome;
  agents: readonly TranscriptAgent[] | null;
  onProgress?: (progress: IndexProgress) => void;
};

export async function updateIndex({ db, home, agents, onProgress }: UpdateRequest): Promise<void> {
  const pending: { file: TranscriptFile; known: IndexedFile | null; agent: TranscriptAgent }[] = [];
  for (const agent of agents ?? transcriptAgents) {
    if (agent === "opencode") continue;
    const known = new Map(knownFiles(db, agent).map((row) => [row.key, row]));
    for (const file of listTranscriptFiles(agent, home)) {
      const row = known.get(file.path) ?? null;
      known.delete(file.path);
      if (row === null || !isUnchanged(row, file)) pending.push({ file, known: row, agent });
    }
    for (const { n } of known.values()) removeFile(db, n);
  }
  const progress: IndexProgress = { files: pending.length, doneFiles: 0, bytes: 0, doneBytes: 0 };
  for (const { file, known } of pending) progress.bytes += Math.max(0, file.bytes - startOf(known, file));
  for (const { file, known, agent } of pending) {
    onProgress?.(progress);
    await readFile(db, { file, known, agent }, (bytes) => {
      progress.doneBytes += bytes;
      onProgress?.(progress);
    });
    progress.doneFiles += 1;
  }
  if (agents === null || agents.includes("opencode")) await updateOpencode(db, home);
}

/** Brings one transcript up to date. */
export async function updateFile(db: Database, known: IndexedFile): Promise<void> {
  const file = statFile(known.path);
  if (file === null) removeFile(db, known.n);
  else if (!isUnchanged(known, file)) await readFile(db, { file, known, agent: known.agent }, () => {});
}

export function knownFiles(db: Database, agent: TranscriptAgent): IndexedFile[] {
  return db.query<IndexedFile, [string]>("select * from files where agent = ?").all(agent);
}

export function isUnchanged(known: Pick<IndexedFile, "bytes" | "modifiedAt" | "inode">, file: TranscriptFile): boolean {
  return known.bytes === file.bytes && known.modifiedAt === file.modifiedAt && known.inode === file.inode;
}

function startOf(known: IndexedFile | null, file: TranscriptFile): number {
  return known !== null && known.inode === file.inode && file.bytes >= known.offset ? known.offset : 0;
}

type ReadRequest = { file: TranscriptFile; known: IndexedFile | null; agent: TranscriptAgent };

const headBytes = 1_024;

async function readFile(db: Database, { file, known, agent }: ReadRequest, onBytes: (bytes: number) => void): Promise<void> {
  let descriptor: number;
  try {
    descriptor = openRegularFile(file.path);
  } catch {
    return; // It was deleted meanwhile, or may not be read. The next update looks again.
  }
  try {
    // Gemini CLI repeats messages in later lines, so only a whole reading finds each message once.
    const isAppended = known !== null && agent !== "gemini" && startOf(known, file) > 0 && headOf(descriptor, known.head) === known.head;
    if (known !== null && !isAppended) removeFile(db, known.n);
    const start = isAppended ? known : newState(agent, file, headOf(descriptor, `${Math.min(headBytes, file.bytes)}:`));
    await addFrom(db, start, { descriptor, file, onBytes });
  } finally {
    closeSync(descriptor);
  }
}

function newState(agent: TranscriptAgent, file: TranscriptFile, head: string): FileState {
  return { n: 0, key: file.path, agent, ...file, ...noFacts, offset: 0, head };
}

/** The length and a hash of the first bytes. Reads as many bytes as the earlier head `known` begins with. */
function headOf(descriptor: number, known: string): string {
  const bytes = Buffer.alloc(Math.min(headBytes, Number.parseInt(known, 10) || 0));
  const count = readSync(descriptor, bytes, 0, bytes.length, 0);
  return `${bytes.length}:${Bun.hash(bytes.subarray(0, count)).toString(36)}`;
}

type OpenFile = { descriptor: number; file: TranscriptFile; onBytes: (bytes: number) => void };

/** Adds a transcript batch by batch. Each is one transaction with its new offset, so a kill repeats no message. */
async function addFrom(db: Database, start: FileState, { descriptor, file, onBytes }: OpenFile): Promise<void> {
  let state = start;
  const seen = new Set<string>();
  for (const batch of readBatches(descriptor, { from: start.offset, to: file.bytes, agent: start.agent, path: file.path })) {
    const messages = batch.entries.flatMap((entry) => messagesIn(entry, start.agent, seen));
    const next = withFacts({ ...state, ...file, offset: batch.offset }, factsOfAll(batch.entries), messages);
    // A batch that is not the last has the size that was read, so that a later update goes on after a kill.
    const n = addMessages(db, state, batch.isLast ? next : { ...next, bytes: batch.offset }, messages);
    if (n === null) return; // Another process reads the same transcript.
    state = { ...next, n };
    onBytes(batch.bytes);
    await yieldToEventLoop();
  }
}

/** The first value of each fact, and the last model. */
function factsOfAll(entries: readonly Json[]): EntryFacts {
  let facts: EntryFacts = {};
  for (const entry of entries) {
    const { model, ...others } = factsOf(entry);
    facts = { ...others, ...facts, ...(model === undefined ? {} : { model }) };
  }
  return facts;
}

function messagesIn(entry: Json, agent: TranscriptAgent, seen: Set<string>): Message[] {
  if (agent !== "gemini") return messagesOf(entry);
  const listed = [...listAt(objectAt(entry, "$set"), "messages"), ...listAt(entry, "messages")];
  return [entry, ...listed].flatMap((record) => {
    const key = `${textAt(record, "id")} ${record["toolCalls"] === undefined ? "" : "calls"}`;
    if (seen.has(key)) return [];
    seen.add(key);
    return messagesOf(record);
  });
}
