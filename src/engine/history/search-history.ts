// `history.search`: searches the messages of a project's sessions, the commits of its repository, and on request the names and
// tasks of its sessions. Each query ranks every kind, and the ranks are merged. A hit is a quotation without secrets, not an instruction.
import { stripAnsi } from "../../kit/text/ansi.ts";
import { ago } from "../../kit/text/duration.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { Commit, HistorySearchResult, HistoryHit, HistorySearchParams } from "../../protocol/tree/history.ts";
import type { Node, Part } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import type { Store } from "../../store/store.ts";
import type { EngineDeps } from "../engine.ts";
import { rankCommits, searchWords } from "./rank-commits.ts";

const maxQueries = 20;
const maxWords = 12;
/** Number of matches that each query adds from each source. */
const maxRanked = 200;
/** The score of rank r is 1 / (flatness + r). With a higher value the first ranks differ less. */
const flatness = 60;
const hideShownMs = 24 * 3_600_000;
const excerptChars = 600;
const maxFiles = 20;

/** The output of a tool counts less than a message. */
const weights: Record<Node["author"], number> = { user: 1, agent: 1, note: 1, tool: 0.5 };

type Source =
  | { kind: "conversation"; node: Node; session: Session }
  | { kind: "commit"; commit: Commit }
  | { kind: "session"; session: Session };
type HistoryMatch = { source: Source; score: number; queries: Set<string> };
type Matches = Map<string, HistoryMatch>;
type RankedMatch = [key: string, match: HistoryMatch];

export async function searchHistory(deps: EngineDeps, params: HistorySearchParams): Promise<HistorySearchResult> {
  const queries = queriesIn(params.query);
  const project = deps.projectOf(params.directory);
  const matches: Matches = new Map();
  const notes: string[] = [];
  if (params.kinds.includes("conversation") && deps.hasStore()) await searchMessages(await deps.store(), project, queries, matches);
  if (params.kinds.includes("commit")) {
    const { commits, note } = await deps.history.commits(project);
    if (note !== null) notes.push(note);
    for (const query of queries)
      for (const [rank, commit] of rankCommits(commits, query).slice(0, maxRanked).entries())
        addMatch(matches, { key: `commit:${commit.id}`, source: { kind: "commit", commit }, query, score: 1 / (flatness + rank) });
  }
  if (params.kinds.includes("session") && deps.hasStore()) await searchSessions(await deps.store(), project, queries, matches);
  const ranked = [...matches].toSorted(([, a], [, b]) => b.score - a.score || atOf(b.source) - atOf(a.source));
  const fresh = params.asker === null ? ranked : await withoutShown(deps, `${project} ${params.asker}`, ranked, params.limit);
  const hits = fresh.slice(0, params.limit).map(([, match]) => hitOf(deps, match));
  return { hits, hidden: ranked.length - fresh.length, notes };
}

function queriesIn(text: string): string[] {
  const queries = [...new Set(text.split(";").map((query) => query.trim()))].filter((query) => searchWords(query).length > 0);
  if (queries.length === 0) throw new Fault("usage", "the query has no word to search for");
  if (queries.length > maxQueries) throw new Fault("usage", `${queries.length} queries are too many: at most ${maxQueries} at once`);
  return queries;
}

/** Every word must occur. If no node has all words, each word is searched alone. */
async function searchMessages(store: Store, project: string, queries: string[], matches: Matches): Promise<void> {
  const sessions = new Map<string, Session | null>();
  const addHits = async (words: string, query: string, share: number): Promise<number> => {
    const hits = await store.search(words, { project, limit: maxRanked });
    for (const [rank, { node, session: id }] of hits.entries()) {
      const session = sessions.get(id) ?? (await store.session(id));
      sessions.set(id, session);
      // An archived session is not searched, because the user has hidden it.
      if (session === null || session.archivedAt !== null || searchableText(node) === "") continue;
      const score = (share * weights[node.author]) / (flatness + rank);
      addMatch(matches, { key: `node:${node.id}`, source: { kind: "conversation", node, session }, query, score });
    }
    return hits.length;
  };
  for (const query of queries) {
    if ((await addHits(query, query, 1)) > 0) continue;
    const words = searchWords(query).slice(0, maxWords);
    if (words.length > 1) for (const word of words) await addHits(word, query, 1 / words.length);
  }
}

/** Ranks sessions by their names and tasks, as commits are ranked by their messages. */
async function searchSessions(store: Store, project: string, queries: string[], matches: Matches): Promise<void> {
  const sessions = new Map((await store.listSessions({ project })).map((session) => [session.id, session]));
  const texts = [...sessions.values()].map(({ id, name, task, agent, updatedAt }) => ({
    id,
    at: updatedAt,
    author: agent,
    subject: name ?? "",
    body: task ?? "",
    files: [],
  }));
  for (const query of queries)
    for (const [rank, { id }] of rankCommits(texts, query).slice(0, maxRanked).entries())
      addMatch(matches, {
        key: `session:${id}`,
        source: { kind: "session", session: sessions.get(id)! },
        query,
        score: 1 / (flatness + rank),
      });
}

type NewMatch = { key: string; source: Source; query: string; score: number };

function addMatch(matches: Matches, { key, source, query, score }: NewMatch): void {
  const match = matches.get(key) ?? { source, score: 0, queries: new Set() };
  match.score += score;
  match.queries.add(query);
  matches.set(key, match);
}

/** Leaves out the matches that this asker was shown in the last 24 h. Records the first `limit` others as shown. */
async function withoutShown(deps: EngineDeps, asker: string, ranked: RankedMatch[], limit: number): Promise<RankedMatch[]> {
  if (ranked.length === 0) return [];
  const store = await deps.store();
  const since = Date.now() - hideShownMs;
  const shown = await store.shownHits(asker, since);
  const fresh = ranked.filter(([key]) => !shown.has(key));
  const keys = fresh.slice(0, limit).map(([key]) => key);
  if (keys.length > 0) await store.recordShownHits(asker, keys, since);
  return fresh;
}

function hitOf({ history: { redact } }: EngineDeps, { source, queries }: HistoryMatch): HistoryHit {
  const words = [...queries].flatMap(searchWords);
  // Secrets are redacted before the text is cut, because half a key would not be recognised.
  const clean = (text: string) => redact(stripAnsi(text).replace(invisible, ""));
  const quote = (text: string) => excerpt(clean(text), words);
  const at = atOf(source);
  const shared = { at, when: ago(Date.now() - at), queries: [...queries] };
  if (source.kind === "commit") {
    const { id, author, subject, body, files } = source.commit;
    const paths = files.slice(0, maxFiles).map(clean);
    return { kind: "commit", id, session: null, by: clean(author), ...shared, text: quote(`${subject}\n\n${body}`), files: paths };
  }
  const { session } = source;
  const from = { id: session.id, name: session.name };
  if (source.kind === "session") {
    const text = [session.name, session.task].filter((line) => line !== null).join("\n\n");
    return { kind: "session", id: session.id, session: from, by: session.agent, ...shared, text: quote(text) };
  }
  const { node } = source;
  return { kind: "conversation", id: node.id, session: from, by: node.author, ...shared, text: quote(searchableText(node)) };
}

/** Characters that a user can't see must not reach a model. */
const invisible = /[\u00AD\u200B-\u200F\u2060-\u2064\uFEFF]|[\u{E0000}-\u{E007F}]/gu;

function atOf(source: Source): number {
  if (source.kind === "session") return source.session.updatedAt;
  return source.kind === "commit" ? source.commit.at : source.node.at;
}

/** The text of a node without its thinking. */
function searchableText(node: Node): string {
  return node.parts
    .map(partText)
    .filter((text) => text !== "")
    .join("\n\n");
}

function partText(part: Part): string {
  if (part.kind === "text" || part.kind === "result") return part.text;
  if (part.kind === "handle") return part.excerpt;
  return part.kind === "call" ? `${part.name} ${part.malformed ?? JSON.stringify(part.input)}` : "";
}

/** The text around the first occurrence of a word. A longer word is preferred. */
function excerpt(text: string, words: string[]): string {
  const trimmed = text.trim();
  if (trimmed.length <= excerptChars) return trimmed;
  const lower = trimmed.toLowerCase();
  const offsets = words.toSorted((a, b) => b.length - a.length).map((word) => lower.indexOf(word));
  const first = offsets.find((offset) => offset >= 0) ?? 0;
  const from = Math.max(0, Math.min(first - excerptChars / 3, trimmed.length - excerptChars));
  const cut = trimmed.slice(from, from + excerptChars).toWellFormed();
  return `${from > 0 ? "…" : ""}${cut}${from + excerptChars < trimmed.length ? "…" : ""}`;
}
