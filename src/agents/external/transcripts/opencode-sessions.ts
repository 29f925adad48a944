// Reads the sessions of opencode, which are rows of one SQLite file. SQLite writes beside a database that it opens, even to
// read it, so the file and its log are copied first. The copy is deleted at once.
import { Database, SQLiteError } from "bun:sqlite";
import { constants, copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseJson, type Json } from "../../../kit/text/json.ts";
import { objectAt, textAt, timeAt } from "../../../models/wire/json.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { addMessages, type FileState, type IndexedFile, noFacts, removeFile, withFacts } from "./index-db.ts";
import { listTranscriptFiles, statFile, type TranscriptHome } from "./locations.ts";
import { messagesOf } from "./read-messages.ts";

type SessionRow = { id: string; directory: string; time_created: number; time_updated: number };
type DataRow = { id: string; data: string; time_created: number };
type OpencodeMessage = { info: Json; parts: Json[] };

/** The sessions of one database are read again if its file or its log has changed, and of those only changed ones. */
export async function updateOpencode(db: Database, home: TranscriptHome): Promise<void> {
  const known = new Map(
    db
      .query<IndexedFile, []>("select * from files where agent = 'opencode'")
      .all()
      .map((row) => [row.key, row]),
  );
  for (const file of listTranscriptFiles("opencode", home)) {
    const log = statFile(`${file.path}-wal`);
    const size = { bytes: file.bytes + (log?.bytes ?? 0), modifiedAt: Math.max(file.modifiedAt, log?.modifiedAt ?? 0) };
    const before = known.get(file.path);
    if (before !== undefined && before.bytes === size.bytes && before.modifiedAt === size.modifiedAt) return;
    const hasRead = withCopy(file.path, (copy) => updateSessions(db, { copy, path: file.path, known }));
    // A copy that was torn by a write is read again at the next update.
    if (hasRead === null) return;
    known.delete(file.path);
    if (before !== undefined) removeFile(db, before.n);
    addMessages(db, none, { ...none, key: file.path, path: file.path, ...size }, []);
  }
  for (const { n } of known.values()) removeFile(db, n);
}

const none: FileState = {
  n: 0,
  key: "",
  agent: "opencode",
  path: "",
  ...noFacts,
  bytes: 0,
  modifiedAt: 0,
  inode: 0,
  offset: 0,
  head: "",
};

type Source = { copy: Database; path: string; known: Map<string, IndexedFile> };

/** Removes sessions that exist from `known`. */
function updateSessions(db: Database, { copy, path, known }: Source): true {
  const sessions = copy
    .query<SessionRow, []>("select id, directory, time_created, time_updated from session where parent_id is null")
    .all();
  for (const session of sessions) {
    const key = `${path}#${session.id}`;
    const before = known.get(key);
    known.delete(key);
    if (before !== undefined && before.modifiedAt === session.time_updated) continue;
    if (before !== undefined) removeFile(db, before.n);
    const conversation = messagesIn(copy, session.id);
    const messages = conversation.flatMap(entriesOf).flatMap(messagesOf);
    const model = conversation.map(({ info }) => textAt(info, "modelID")).findLast((name) => name !== "");
    const state = withFacts({ ...none, key, path, directory: session.directory }, { nativeId: session.id, model }, messages);
    const bytes = conversation.reduce((sum, message) => sum + JSON.stringify(message).length, 0);
    addMessages(db, none, { ...state, bytes, modifiedAt: session.time_updated }, messages);
  }
  return true;
}

/** A message in the shape that the index reads: its texts, and one entry for each call with its result. */
function entriesOf({ info, parts }: OpencodeMessage): Json[] {
  const created = timeAt(objectAt(info, "time"), "created");
  const timestamp = created === undefined ? "" : new Date(created).toISOString();
  return parts.flatMap((part): Json[] => {
    if (part["type"] === "text") return [{ timestamp, message: { role: info["role"], content: [{ text: part["text"] }] } }];
    if (part["type"] !== "tool") return [];
    const state = objectAt(part, "state") ?? {};
    const call = { name: part["tool"], input: state["input"] ?? {}, content: [] };
    return [
      { timestamp, message: { role: "assistant", content: [call] } },
      { timestamp, message: { role: "tool", content: state["output"] ?? state["error"] } },
    ];
  });
}

/** The session in the shape of `opencode export`. */
export function openOpencodeSession(path: string, id: string): string {
  const text = withCopy(path, (copy) => {
    const session = copy.query<SessionRow, [string]>("select id, directory, time_created, time_updated from session where id = ?").get(id);
    return session === null ? null : JSON.stringify({ info: session, messages: messagesIn(copy, id) });
  });
  if (text !== null) return text;
  throw new Fault("file-unreadable", `opencode no longer has the session ${id}`, {
    hint: "skein list --agents opencode shows those it has",
  });
}

function messagesIn(copy: Database, session: string): OpencodeMessage[] {
  const rows = (table: "message" | "part") =>
    copy
      .query<DataRow & { message_id: string }, [string]>(`select *, data from ${table} where session_id = ? order by time_created, id`)
      .all(session);
  const parts = Map.groupBy(rows("part"), (row) => row.message_id);
  return rows("message").map((row) => ({
    info: { id: row.id, ...parseJson(row.data) },
    parts: (parts.get(row.id) ?? []).map((part) => ({ id: part.id, ...parseJson(part.data) })),
  }));
}

/** Null if the database can't be read, such as one of another version or one that was written during the copy. */
function withCopy<Result>(path: string, act: (copy: Database) => Result): Result | null {
  const directory = mkdtempSync(join(tmpdir(), "skein-opencode-"));
  try {
    const target = join(directory, "opencode.db");
    // The log first: a log that is older than the file has only rows that the file has too.
    for (const suffix of ["-wal", ""])
      if (existsSync(path + suffix)) copyFileSync(path + suffix, target + suffix, constants.COPYFILE_FICLONE);
    const copy = new Database(target);
    try {
      return act(copy);
    } finally {
      copy.close();
    }
  } catch (error) {
    if (error instanceof SQLiteError || (error as NodeJS.ErrnoException).code !== undefined) return null;
    throw error;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
