// The index of other agents' transcripts: one row per transcript, and the words of its messages. The file is a cache of
// skein's own: it is made again if it is missing, damaged or of another version.
import { Database, SQLiteError } from "bun:sqlite";
import { closeSync, mkdirSync, openSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import type { TranscriptAgent } from "../../../protocol/transcripts/agent-transcript.ts";
import type { EntryFacts, Message } from "./read-messages.ts";

export type IndexedFile = {
  n: number;
  key: string;
  agent: TranscriptAgent;
  path: string;
  nativeId: string;
  idEnd: string;
  directory: string | null;
  projectHash: string | null;
  task: string | null;
  latestPrompt: string | null;
  model: string | null;
  messages: number;
  startedAt: number;
  updatedAt: number;
  bytes: number;
  modifiedAt: number;
  inode: number;
  /** The bytes that were read, up to the end of a line. */
  offset: number;
  /** A hash of the first bytes. Another one means that the file was written anew. */
  head: string;
  /** Size of the file when it was last imported; -1 if it was not. */
  importedBytes: number;
  importedAt: number;
};

/** `n` is 0 for a transcript without a row. */
export type FileState = Omit<IndexedFile, "importedBytes" | "importedAt" | "idEnd" | "messages">;

/** The facts of a transcript of which nothing was read yet. */
export const noFacts = {
  nativeId: "",
  directory: null,
  projectHash: null,
  task: null,
  latestPrompt: null,
  model: null,
  startedAt: 0,
  updatedAt: 0,
};

const version = 1;

const schema = `
  create table files (
    n integer primary key, key text not null unique, agent text not null, path text not null,
    nativeId text not null, idEnd text not null, directory text, projectHash text, task text, latestPrompt text, model text,
    messages integer not null, startedAt integer not null, updatedAt integer not null,
    bytes integer not null, modifiedAt real not null, inode integer not null, offset integer not null, head text not null,
    importedBytes integer not null default -1, importedAt real not null default 0
  );
  create index filesByTime on files (updatedAt desc);
  create index filesById on files (idEnd);
  create table messages (n integer primary key, file integer not null, at integer not null, author text not null, text text not null);
  create index messagesByFile on messages (file);
  create virtual table words using fts5(text, content='messages', content_rowid='n', tokenize='unicode61', columnsize=0);
  pragma user_version = ${version};
`;

export function openIndex(path: string): Database {
  try {
    return open(path);
  } catch (error) {
    if (!isDamage(error)) throw error;
    removeIndex(path);
    return open(path);
  }
}

export function isDamage(error: unknown): boolean {
  return error instanceof SQLiteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code ?? "");
}

function open(path: string): Database {
  createPrivateFile(path);
  const db = new Database(path);
  try {
    db.run("pragma busy_timeout = 10000");
    db.run("pragma journal_mode = wal");
    // A lost write is read again from the transcript.
    db.run("pragma synchronous = off");
    db.transaction(() => {
      const found = db.query<{ user_version: number }, []>("pragma user_version").get()!.user_version;
      if (found === version) return;
      if (found !== 0) for (const table of ["words", "messages", "files"]) db.run(`drop table if exists ${table}`);
      db.run(schema);
    }).immediate();
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function createPrivateFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, "a", 0o600));
}

export function removeIndex(path: string): void {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
}

/** Adds messages to a transcript, and stores how far it was read. Returns the number of its row; null if another process has read further. */
export function addMessages(db: Database, before: FileState, after: FileState, messages: readonly Message[]): number | null {
  return db
    .transaction(() => {
      const stored =
        before.n === 0
          ? null
          : db.query<{ offset: number; head: string }, [number]>("select offset, head from files where n = ?").get(before.n);
      const isStale = before.n === 0 ? hasKey(db, after.key) : stored?.offset !== before.offset || stored.head !== before.head;
      if (isStale) return null;
      const n = before.n === 0 ? insertFile(db, after) : before.n;
      const addMessage = db.query("insert into messages (file, at, author, text) values (?, ?, ?, ?) returning n");
      const addWords = db.query("insert into words (rowid, text) values (?, ?)");
      for (const { at, author, text } of messages) {
        const row = addMessage.get(n, at, author, text) as { n: number };
        addWords.run(row.n, text);
      }
      updateFile(db, { ...after, n }, messages);
      return n;
    })
    .immediate();
}

function hasKey(db: Database, key: string): boolean {
  return db.query("select 1 from files where key = ?").get(key) !== null;
}

function insertFile(db: Database, file: FileState): number {
  const row = db
    .query(
      `insert into files (key, agent, path, nativeId, idEnd, messages, startedAt, updatedAt, bytes, modifiedAt, inode, offset, head)
       values (?, ?, ?, '', '', 0, 0, 0, 0, 0, 0, 0, '') returning n`,
    )
    .get(file.key, file.agent, file.path) as { n: number };
  return row.n;
}

function updateFile(db: Database, file: FileState, messages: readonly Message[]): void {
  db.query(
    `update files set nativeId = ?, idEnd = ?, directory = ?, projectHash = ?, task = ?, latestPrompt = ?, model = ?,
       messages = messages + ?, startedAt = ?, updatedAt = ?, bytes = ?, modifiedAt = ?, inode = ?, offset = ?, head = ? where n = ?`,
  ).run(
    file.nativeId,
    idEndOf(file.agent, file.nativeId),
    file.directory,
    file.projectHash,
    file.task,
    file.latestPrompt,
    file.model,
    messages.length,
    file.startedAt,
    file.updatedAt,
    file.bytes,
    file.modifiedAt,
    file.inode,
    file.offset,
    file.head,
    file.n,
  );
}

/** The last 12 digits of the id that import/assign-ids.ts gives the session. */
function idEndOf(agent: TranscriptAgent, nativeId: string): string {
  return new Bun.CryptoHasher("sha256").update(`${agent} ${nativeId}`).digest("hex").slice(7, 19);
}

export function removeFile(db: Database, n: number): void {
  db.transaction(() => {
    db.query("insert into words (words, rowid, text) select 'delete', n, text from messages where file = ?").run(n);
    db.query("delete from messages where file = ?").run(n);
    db.query("delete from files where n = ?").run(n);
  }).immediate();
}

/** Adds the facts of entries and messages that were read after this state. */
export function withFacts(state: FileState, facts: EntryFacts, messages: readonly Message[]): FileState {
  const prompts = messages.filter(({ author }) => author === "user");
  const times = messages.map(({ at }) => at).filter((at) => at > 0);
  const short = (text: string | undefined) => text?.slice(0, 400) ?? null;
  return {
    ...state,
    nativeId: state.nativeId || (facts.nativeId ?? ""),
    directory: state.directory ?? facts.directory ?? null,
    projectHash: state.projectHash ?? facts.projectHash ?? null,
    model: facts.model ?? state.model,
    task: state.task ?? short(prompts[0]?.text),
    latestPrompt: short(prompts.at(-1)?.text) ?? state.latestPrompt,
    startedAt: state.startedAt || (times[0] ?? 0),
    updatedAt: times.reduce((latest, at) => Math.max(latest, at), state.updatedAt),
  };
}
