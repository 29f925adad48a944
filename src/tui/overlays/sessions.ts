// The sessions panel: finds a session by name, task or id, and by the text of its messages. Pure.
// `sessions-view.ts` draws it, `effects/sessions.ts` calls the Api.
import { emptyEditLine, type EditLine } from "../../kit/text/line-edit.ts";
import { shortId, type Node } from "../../protocol/tree/node.ts";
import type { FoundNode } from "../../protocol/tree/views.ts";
import { homeProject, type Session } from "../../protocol/tree/turn.ts";
import { applyEditKey } from "../keys/edit-keys.ts";
import { step, withNotice, type Effect, type Key, type State, type UpdateResult } from "../model/state.ts";
import { moveIndex, openPanel, type PanelKey, type PanelState } from "./panel.ts";
import { wordFilter } from "./box.ts";

export type SessionsPanel = PanelState & {
  kind: "sessions";
  /** The project of the visible session. */
  project: string | null;
  filter: EditLine;
  /** Null until they are listed. */
  sessions: readonly Session[] | null;
  /** The latest search of messages. */
  searchResult: { query: string; hits: readonly FoundNode[] };
  /** The query of the running search. The next one waits for it. */
  searching: string | null;
  withArchived: boolean;
  everywhere: boolean;
  /** Last messages of the sessions that were chosen so far, by `previewKey`. */
  previews: Readonly<Record<string, readonly Node[]>>;
  previewing: string | null;
};

export type SessionsMessage =
  | { type: "listed"; reading: number; sessions: readonly Session[]; project: string; now: number }
  | { type: "found"; query: string; hits: readonly FoundNode[] }
  | { type: "previewed"; key: string; messages: readonly Node[] };

export type SessionsEffect =
  | { type: "list sessions"; reading: number; withArchived: boolean; everywhere: boolean }
  | { type: "search sessions"; query: string; everywhere: boolean }
  | { type: "preview session"; key: string; tip: string };

/** A line of the list. `hit` is set if only a message of the session matches. */
export type SessionChoice = { session: Session; hit: FoundNode | null };

const minQueryLength = 3;

export function openSessions(state: State): UpdateResult {
  const empty = { project: null, sessions: null, searching: null, previews: {}, previewing: null };
  const query = { filter: emptyEditLine, searchResult: { query: "", hits: [] }, withArchived: false, everywhere: false };
  return openPanel<SessionsPanel>(state, { kind: "sessions", ...empty, ...query }, listEffect);
}

function listEffect({ reading, withArchived, everywhere }: SessionsPanel): Effect {
  return { type: "list sessions", reading, withArchived, everywhere };
}

export function updateSessions(state: State, panel: SessionsPanel, message: SessionsMessage): UpdateResult {
  switch (message.type) {
    case "listed":
      if (message.reading !== panel.reading) return step(state);
      return withRequests(state, { ...panel, sessions: message.sessions, project: message.project, now: message.now });
    case "found":
      return withRequests(state, { ...panel, searching: null, searchResult: { query: message.query, hits: message.hits } });
    case "previewed":
      return withRequests(state, { ...panel, previewing: null, previews: { ...panel.previews, [message.key]: message.messages } });
  }
}

/** Requests missing data of the panel: at most one search and one preview at a time, however fast the user types. */
function withRequests(state: State, changed: SessionsPanel): UpdateResult {
  const panel = { ...changed, index: moveIndex(changed.index, 0, sessionChoices(changed).length) };
  const query = panel.filter.text.trim();
  const session = sessionChoices(panel)[panel.index]?.session;
  const key = session === undefined ? null : previewKey(session);
  const effects: Effect[] = [];
  if (panel.searching === null && query.length >= minQueryLength && query !== panel.searchResult.query) {
    panel.searching = query;
    effects.push({ type: "search sessions", query, everywhere: panel.everywhere });
  }
  if (panel.previewing === null && key !== null && session?.tip != null && panel.previews[key] === undefined) {
    panel.previewing = key;
    effects.push({ type: "preview session", key, tip: session.tip });
  }
  return step({ ...state, overlay: panel }, ...effects);
}

export function previewKey({ id, tip }: Session): string {
  return `${id} ${tip ?? ""}`;
}

/** Sessions whose name, task or id has all words, then sessions with a matching message. */
export function sessionChoices({ sessions, filter, searchResult, withArchived }: SessionsPanel): SessionChoice[] {
  const query = filter.text.trim();
  const matches = wordFilter(query);
  const listedSessions = (sessions ?? []).filter(({ name, task, latestPrompt, id }) =>
    matches(`${name ?? ""} ${task ?? ""} ${latestPrompt ?? ""} ${id}`),
  );
  const choices = listedSessions.map((session): SessionChoice => ({ session, hit: null }));
  const listed = new Set(choices.map(({ session }) => session.id));
  const hits = query.length < minQueryLength ? [] : searchResult.hits;
  for (const hit of hits) {
    if (listed.has(hit.session.id) || (hit.session.archivedAt !== null && !withArchived)) continue;
    listed.add(hit.session.id);
    choices.push({ session: hit.session, hit });
  }
  return choices;
}

export const sessionsKeys: readonly PanelKey<SessionsPanel>[] = [
  { keys: ["down", "ctrl+n"], summary: "to the next one", run: moveBy(1) },
  { keys: ["up", "ctrl+p"], summary: "to the previous one", run: moveBy(-1) },
  { keys: ["pagedown"], summary: "ten down", run: moveBy(10) },
  { keys: ["pageup"], summary: "ten up", run: moveBy(-10) },
  { keys: ["enter"], summary: "go to it; an archived one is restored", run: choose },
  {
    keys: ["tab"],
    summary: "with or without archived sessions",
    run: (state, panel) => listAgain(state, panel, { withArchived: !panel.withArchived }),
  },
  {
    keys: ["ctrl+t"],
    summary: "sessions of all projects, or of this one",
    run: (state, panel) => listAgain(state, panel, { everywhere: !panel.everywhere }),
  },
  { keys: ["escape"], summary: "close the panel", run: (state) => step({ ...state, overlay: null }) },
];

export function handleSessionsKey(state: State, panel: SessionsPanel, key: Key): UpdateResult {
  const binding = sessionsKeys.find(({ keys }) => keys.includes(key.name));
  if (binding !== undefined) return binding.run(state, panel);
  const filter = applyEditKey(panel.filter, key);
  return withRequests(state, { ...panel, filter, index: filter.text === panel.filter.text ? panel.index : 0 });
}

function moveBy(delta: number): PanelKey<SessionsPanel>["run"] {
  return (state, panel) => withRequests(state, { ...panel, index: moveIndex(panel.index, delta, sessionChoices(panel).length) });
}

function listAgain(state: State, panel: SessionsPanel, change: Partial<SessionsPanel>): UpdateResult {
  const next = { ...panel, ...change, reading: panel.reading + 1, searchResult: { query: "", hits: [] } };
  return step({ ...state, overlay: next }, listEffect(next));
}

function choose(state: State, panel: SessionsPanel): UpdateResult {
  const session = sessionChoices(panel)[panel.index]?.session;
  if (session === undefined) return step(state);
  if (session.id === panel.currentSession) return step({ ...state, overlay: null });
  if (homeProject(session) !== panel.project) {
    const text = `that session is in another project: cd ${session.directory} && skein -r ${shortId(session.id)}`;
    return step(withNotice(state, text));
  }
  return step(state, { type: "go", session: session.id, node: null });
}
