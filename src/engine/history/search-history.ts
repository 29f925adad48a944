// `history.search`: what was said in a project's sessions and committed to its repository. Each query ranks both; the
// ranks are merged. What comes out is quoted from other times: secrets are taken out, and nobody is to obey it.
import { stripAnsi } from "../../kit/text/ansi.ts";
import { ago } from "../../kit/text/duration.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { Commit, HistorySearchResult, HistoryHit, HistorySearchParams } from "../../protocol/tree/history.ts";
import type { Node, Part } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import type { Store } from "../../store/store.ts";
import type { EngineDeps } from "../engine.ts";
import { rankCommits, searchWords } from "./rank-commits.ts";

const mostQueries = 20;
const mostWords = 12;
/** How many of each list are weighed, and how little the first place counts more than the second. */
const mostWeighed = 200;
const flatness = 60;
const hiddenForMs = 24 * 3_600_000;
const excerptChars = 600;
const mostFiles = 20;

/** `tool`: what a program printed says less than what somebody said. */
const weights: Record<Node["author"], number> = { user: 1, agent: 1, note: 1, tool: 0.5 };

type Source = { kind: "conversation"; node: Node; session: Session } | { kind: "commit"; commit: Commit };
type HistoryMatch = { source: Source; score: number; queries: Set<string> };

export async function searchHistory(deps: EngineDeps, params: HistorySearchParams): Promise<HistorySearchResult> {
  const queries = queriesIn(params.query);
  const project = deps.projectOf(params.directory);
  const found = new Map<string, HistoryMatch>();
  const notes: string[] = [];
  if (params.kinds.includes("conversation") && deps.hasStore()) await searchMessages(await deps.store(), project, queries, found);
  if (params.kinds.includes("commit")) {
    const { commits, note } = await deps.history.commits(project);
    if (note !== null) notes.push(note);
    for (const query of queries)
      for (const [place, commit] of rankCommits(commits, query).slice(0, mostWeighed).entries())
        add(found, `commit:${commit.id}`, { kind: "commit", commit }, query, 1 / (flatness + place));
  }
  const ranked = [...found].toSorted(([, a], [, b]) => b.score - a.score || atOf(b.source) - atOf(a.source));
  const asker = params.asker === null ? null : `${project} ${params.asker}`;
  const { shown, hidden } = await notShownBefore(deps, asker, params.limit, ranked);
  return { hits: shown.map((each) => hitOf(deps, each)), hidden, notes };
}

function queriesIn(text: string): string[] {
  const queries = [...new Set(text.split(";").map((query) => query.trim()))].filter((query) => searchWords(query).length > 0);
  if (queries.length === 0) throw new Fault("usage", "the query has no word to search for");
  if (queries.length > mostQueries) throw new Fault("usage", `${queries.length} queries are too many: at most ${mostQueries} at once`);
  return queries;
}

/** Every word must occur; where no node has them all, those that have most of them are found by word. */
async function searchMessages(store: Store, project: string, queries: string[], found: Map<string, HistoryMatch>): Promise<void> {
  const sessions = new Map<string, Session | null>();
  const rank = async (words: string, query: string, share: number): Promise<number> => {
    const hits = await store.search(words, { project, limit: mostWeighed });
    for (const [place, { node, session: id }] of hits.entries()) {
      const session = sessions.get(id) ?? (await store.session(id));
      sessions.set(id, session);
      // What was put away is not history that anyone wants back.
      if (session === null || session.archivedAt !== null || saidIn(node) === "") continue;
      const score = (share * weights[node.author]) / (flatness + place);
      add(found, `node:${node.id}`, { kind: "conversation", node, session }, query, score);
    }
    return hits.length;
  };
  for (const query of queries) {
    if ((await rank(query, query, 1)) > 0) continue;
    const words = searchWords(query).slice(0, mostWords);
    if (words.length > 1) for (const word of words) await rank(word, query, 1 / words.length);
  }
}

function add(found: Map<string, HistoryMatch>, key: string, source: Source, query: string, score: number): void {
  const known = found.get(key) ?? { source, score: 0, queries: new Set() };
  known.score += score;
  known.queries.add(query);
  found.set(key, known);
}

async function notShownBefore(
  deps: EngineDeps,
  asker: string | null,
  limit: number,
  ranked: [string, HistoryMatch][],
): Promise<{ shown: HistoryMatch[]; hidden: number }> {
  const since = Date.now() - hiddenForMs;
  const told = asker === null || !deps.hasStore() ? new Set<string>() : await (await deps.store()).shownHits(asker, since);
  const fresh = ranked.filter(([key]) => !told.has(key));
  const shown = fresh.slice(0, limit);
  if (asker !== null && shown.length > 0) {
    const store = await deps.store();
    await store.recordShownHits(
      asker,
      shown.map(([key]) => key),
      since,
    );
  }
  return { shown: shown.map(([, each]) => each), hidden: ranked.length - fresh.length };
}

function hitOf({ history: { redact } }: EngineDeps, { source, queries }: HistoryMatch): HistoryHit {
  const words = [...queries].flatMap(searchWords);
  // A cut could leave half a key that nothing recognises: it comes last.
  const clean = (text: string) => redact(stripAnsi(text).replace(unseen, ""));
  const quote = (text: string) => excerpt(clean(text), words);
  const at = atOf(source);
  const shared = { at, when: ago(Date.now() - at), queries: [...queries] };
  if (source.kind === "commit") {
    const { id, author, subject, body, files } = source.commit;
    const named = files.slice(0, mostFiles).map(clean);
    return { kind: "commit", id, session: null, by: clean(author), ...shared, text: quote(`${subject}\n\n${body}`), files: named };
  }
  const { node, session } = source;
  const place = { id: session.id, name: session.name };
  return { kind: "conversation", id: node.id, session: place, by: node.author, ...shared, text: quote(saidIn(node)) };
}

/** What a person would not see must not reach a model either. */
const unseen = /[\u00AD\u200B-\u200F\u2060-\u2064\uFEFF]|[\u{E0000}-\u{E007F}]/gu;

function atOf(source: Source): number {
  return source.kind === "commit" ? source.commit.at : source.node.at;
}

/** Thinking stays with whoever thought it. */
function saidIn(node: Node): string {
  return node.parts
    .map(wordsOf)
    .filter((text) => text !== "")
    .join("\n\n");
}

function wordsOf(part: Part): string {
  if (part.kind === "text" || part.kind === "result") return part.text;
  if (part.kind === "handle") return part.excerpt;
  return part.kind === "call" ? `${part.name} ${part.malformed ?? JSON.stringify(part.input)}` : "";
}

/** Around the first of the words that it has, the longest before the others. */
function excerpt(text: string, words: string[]): string {
  const whole = text.trim();
  if (whole.length <= excerptChars) return whole;
  const lower = whole.toLowerCase();
  const places = words.toSorted((a, b) => b.length - a.length).map((word) => lower.indexOf(word));
  const first = places.find((place) => place >= 0) ?? 0;
  const from = Math.max(0, Math.min(first - excerptChars / 3, whole.length - excerptChars));
  const cut = whole.slice(from, from + excerptChars).toWellFormed();
  return `${from > 0 ? "…" : ""}${cut}${from + excerptChars < whole.length ? "…" : ""}`;
}
