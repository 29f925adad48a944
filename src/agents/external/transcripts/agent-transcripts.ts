// The port to the transcripts of other agents: lists, searches and opens them by an index that is updated on each use.
import type { Database } from "bun:sqlite";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import type {
  AgentTranscripts,
  IndexedMessage,
  IndexedTranscript,
  TranscriptFilter,
} from "../../../protocol/transcripts/agent-transcript.ts";
import { matchEnd, matchesOf, matchStart, toMarks } from "../../../kit/sqlite/word-match.ts";
import { type IndexedFile, isDamage, openIndex, removeIndex } from "./index-db.ts";
import type { TranscriptHome } from "./locations.ts";
import { openOpencodeSession } from "./opencode-sessions.ts";
import { updateFile, updateIndex } from "./update-index.ts";

/** `path` is the file of the index. It is created with the first use. */
export function createAgentTranscripts(path: string, home: TranscriptHome): AgentTranscripts {
  let opened: Database | null = null;
  const db = () => (opened ??= openIndex(path));
  const hasIndex = () => opened !== null || existsSync(path);
  /** A page of the index can be damaged, and only a statement that reads it fails. The index is then made again. */
  async function withIndex<Result>(act: () => Result | Promise<Result>): Promise<Result> {
    try {
      return await act();
    } catch (error) {
      if (!isDamage(error)) throw error;
      opened?.close();
      opened = null;
      removeIndex(path);
      await updateIndex({ db: db(), home, agents: null });
      return act();
    }
  }
  return {
    update: (agents, onProgress) => withIndex(() => updateIndex({ db: db(), home, agents, onProgress })),
    list: (filter) => withIndex(() => list(db(), filter)),
    search: (query, filter) => withIndex(() => search(db(), query, filter)),
    find: async (id) => {
      const end = id.replaceAll(/[^0-9a-f]/g, "").slice(-12);
      if (end.length < 8 || !hasIndex()) return null;
      const row = db()
        .query<IndexedFile, [string, string]>(
          "select * from files where (idEnd like ? or nativeId = ?) and messages > 0 order by updatedAt desc",
        )
        .get(`%${end}`, id);
      return row === null ? null : transcriptOf(await updateRow(db(), row));
    },
    changed: async (agent, nativeId) => {
      if (!hasIndex()) return null;
      const row = db().query<IndexedFile, [string, string]>("select * from files where agent = ? and nativeId = ?").get(agent, nativeId);
      if (row === null) return null;
      const file = await updateRow(db(), row);
      const isSame = file.importedBytes === file.bytes && file.importedAt === file.modifiedAt;
      return isSame ? null : transcriptOf(file);
    },
    open: async (transcript) =>
      transcript.agent === "opencode" ? { text: openOpencodeSession(transcript.path, transcript.nativeId) } : { path: transcript.path },
    noteImported: async ({ agent, nativeId }) => {
      db().query("update files set importedBytes = bytes, importedAt = modifiedAt where agent = ? and nativeId = ?").run(agent, nativeId);
    },
  };
}

/** Updates the row of one transcript. Returns the old row if the file was deleted, so that the import reports the missing file. */
async function updateRow(db: Database, row: IndexedFile): Promise<IndexedFile> {
  if (row.agent !== "opencode") await updateFile(db, row);
  return db.query<IndexedFile, [string]>("select * from files where key = ?").get(row.key) ?? row;
}

function conditionOf({ agents, project }: TranscriptFilter): { where: string; params: string[] } {
  const params: string[] = [];
  const conditions = ["messages > 0"];
  if (agents !== null) {
    conditions.push(`agent in (${agents.map(() => "?").join(", ")})`);
    params.push(...agents);
  }
  if (project !== null) {
    // Gemini CLI stores only a hash of the project's path.
    conditions.push("(directory = ? or substr(directory, 1, length(?)) = ? or projectHash = ?)");
    const below = `${project}/`;
    params.push(project, below, below, createHash("sha256").update(project).digest("hex"));
  }
  return { where: conditions.join(" and "), params };
}

function transcriptOf(row: IndexedFile): IndexedTranscript {
  const { agent, nativeId, path, directory, task, latestPrompt, model, messages, bytes } = row;
  const updatedAt = row.updatedAt || Math.round(row.modifiedAt);
  const facts = { agent, nativeId, path, directory, task, latestPrompt, model, messages, bytes };
  return { id: row.idEnd, ...facts, startedAt: row.startedAt || updatedAt, updatedAt };
}

function list(db: Database, filter: TranscriptFilter): IndexedTranscript[] {
  const { where, params } = conditionOf(filter);
  return db
    .query<IndexedFile, (string | number)[]>(`select * from files where ${where} order by updatedAt desc limit ?`)
    .all(...params, filter.limit)
    .map(transcriptOf);
}

type MatchRow = IndexedFile & { author: IndexedMessage["author"]; at: number; marked: string };

/** A query with more matches than this gets the latest messages instead of the best ones, because ranking reads every match. */
const maxRanked = 5_000;

function search(db: Database, query: string, filter: TranscriptFilter): IndexedMessage[] {
  const { wholeWords, prefix } = matchesOf(query);
  const match = prefix ?? wholeWords;
  if (match === null) return [];
  const { where, params } = conditionOf(filter);
  const { count } = db
    .query<{ count: number }, [string, number]>("select count(*) as count from (select 1 from words where words match ? limit ?)")
    .get(match, maxRanked + 1)!;
  const order = count > maxRanked ? "words.rowid desc" : "words.rank";
  const rows = db
    .query<MatchRow, (string | number)[]>(
      `select f.*, m.author as author, m.at as at, snippet(words, 0, '${matchStart}', '${matchEnd}', '…', 24) as marked
       from words cross join messages m on m.n = words.rowid cross join files f on f.n = m.file
       where words match ? and ${where.replaceAll("messages > 0", "f.messages > 0")} order by ${order} limit ?`,
    )
    .all(match, ...params, filter.limit);
  return rows.map((row) => ({
    transcript: transcriptOf({ ...row }),
    author: row.author,
    at: row.at || row.updatedAt,
    ...toMarks(row.marked),
  }));
}
