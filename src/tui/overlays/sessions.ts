// The sessions of this project to choose from: by name and task as one types, and by what was said in them. Only data and
// what a key makes of it; `sessions-view.ts` draws it, `effects/sessions.ts` asks the Api.
import { emptyEditLine, type EditLine } from "../../kit/text/line-edit.ts";
import { shortId, type Node } from "../../protocol/tree/node.ts";
import type { FoundNode } from "../../protocol/tree/views.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { applyEditKey } from "../keys/edit-keys.ts";
import { step, withNotice, type Effect, type Key, type State, type UpdateResult } from "../model/state.ts";
import { moveIndex, slowAfterMs, type PanelKey } from "./panel.ts";

export type SessionsPanel = {
  kind: "sessions";
  /** The session one is in, and its project. */
  here: string | null;
  project: string | null;
  filter: EditLine;
  /** Null until they were listed. */
  listed: readonly Session[] | null;
  /** What was found in their messages, and for which words. */
  found: { query: string; hits: readonly FoundNode[] };
  /** The words that are being looked for; others wait for them. */
  searching: string | null;
  withArchived: boolean;
  everywhere: boolean;
  /** Which listing is waited for. */
  reading: number;
  now: number;
  at: number;
  /** The last messages of those that were looked at, by session and tip. */
  previews: Readonly<Record<string, readonly Node[]>>;
  previewing: string | null;
  isSlow: boolean;
};

export type SessionsMessage =
  | { what: "listed"; reading: number; sessions: readonly Session[]; project: string; now: number }
  | { what: "found"; query: string; hits: readonly FoundNode[] }
  | { what: "previewed"; key: string; last: readonly Node[] };

export type SessionsEffect =
  | { type: "list sessions"; reading: number; withArchived: boolean; everywhere: boolean }
  | { type: "search sessions"; query: string; everywhere: boolean }
  | { type: "preview session"; key: string; tip: string };

/** A line of the list; what was found in a session stands beside it. */
export type SessionChoice = { session: Session; hit: FoundNode | null };

const fewestLetters = 3;

export function openSessions(state: State): UpdateResult {
  const nothing = { filter: emptyEditLine, listed: null, found: { query: "", hits: [] }, searching: null, previews: {}, previewing: null };
  const rest = { withArchived: false, everywhere: false, reading: 0, now: 0, at: 0, isSlow: false };
  const overlay: SessionsPanel = { kind: "sessions", here: state.session?.id ?? null, project: null, ...nothing, ...rest };
  return step({ ...state, overlay }, listing(overlay), { type: "wake", afterMs: slowAfterMs });
}

function listing({ reading, withArchived, everywhere }: SessionsPanel): Effect {
  return { type: "list sessions", reading, withArchived, everywhere };
}

export function updateSessions(state: State, panel: SessionsPanel, told: SessionsMessage): UpdateResult {
  switch (told.what) {
    case "listed":
      if (told.reading !== panel.reading) return step(state);
      return asking(state, { ...panel, listed: told.sessions, project: told.project, now: told.now });
    case "found":
      return asking(state, { ...panel, searching: null, found: { query: told.query, hits: told.hits } });
    case "previewed":
      return asking(state, { ...panel, previewing: null, previews: { ...panel.previews, [told.key]: told.last } });
  }
}

/** The panel, and what it lacks: one question of each kind at a time, whatever is typed meanwhile. */
function asking(state: State, changed: SessionsPanel): UpdateResult {
  const panel = { ...changed, at: Math.max(0, moveIndex(changed.at, 0, sessionChoices(changed).length)) };
  const query = panel.filter.text.trim();
  const session = sessionChoices(panel)[panel.at]?.session;
  const key = session === undefined ? null : previewKey(session);
  const effects: Effect[] = [];
  if (panel.searching === null && query.length >= fewestLetters && query !== panel.found.query) {
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

/** Those whose name, task or id has all the words; then those in which they were said. */
export function sessionChoices({ listed, filter, found, withArchived }: SessionsPanel): SessionChoice[] {
  const query = filter.text.trim();
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const has = ({ name, task, id }: Session) => {
    const text = `${name ?? ""} ${task ?? ""} ${id}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  const named = (listed ?? []).filter(has).map((session): SessionChoice => ({ session, hit: null }));
  const seen = new Set(named.map(({ session }) => session.id));
  const hits = query.length < fewestLetters ? [] : found.hits;
  for (const hit of hits) {
    if (seen.has(hit.session.id) || (hit.session.archivedAt !== null && !withArchived)) continue;
    seen.add(hit.session.id);
    named.push({ session: hit.session, hit });
  }
  return named;
}

export const sessionsKeys: readonly PanelKey<SessionsPanel>[] = [
  { keys: ["down", "ctrl+n"], summary: "to the next one", run: moves(1) },
  { keys: ["up", "ctrl+p"], summary: "to the one before", run: moves(-1) },
  { keys: ["pagedown"], summary: "ten down", run: moves(10) },
  { keys: ["pageup"], summary: "ten up", run: moves(-10) },
  { keys: ["enter"], summary: "go to it; one that was archived comes back", run: choose },
  {
    keys: ["tab"],
    summary: "with those that were archived, or without",
    run: (state, panel) => relisted(state, panel, { withArchived: !panel.withArchived }),
  },
  {
    keys: ["ctrl+t"],
    summary: "of all projects, or of this one",
    run: (state, panel) => relisted(state, panel, { everywhere: !panel.everywhere }),
  },
  { keys: ["escape"], summary: "close it", run: (state) => step({ ...state, overlay: null }) },
];

export function handleSessionsKey(state: State, panel: SessionsPanel, key: Key): UpdateResult {
  const row = sessionsKeys.find(({ keys }) => keys.includes(key.name));
  if (row !== undefined) return row.run(state, panel);
  const filter = applyEditKey(panel.filter, key);
  return asking(state, { ...panel, filter, at: filter.text === panel.filter.text ? panel.at : 0 });
}

function moves(by: number): PanelKey<SessionsPanel>["run"] {
  return (state, panel) => asking(state, { ...panel, at: moveIndex(panel.at, by, sessionChoices(panel).length) });
}

function relisted(state: State, panel: SessionsPanel, change: Partial<SessionsPanel>): UpdateResult {
  const next = { ...panel, ...change, reading: panel.reading + 1, found: { query: "", hits: [] } };
  return step({ ...state, overlay: next }, listing(next));
}

function choose(state: State, panel: SessionsPanel): UpdateResult {
  const session = sessionChoices(panel)[panel.at]?.session;
  if (session === undefined) return step(state);
  if (session.id === panel.here) return step({ ...state, overlay: null });
  if (session.project !== panel.project) {
    const text = `it is in another project: cd ${session.directory} && skein tui ${shortId(session.id)}`;
    return step(withNotice(state, text));
  }
  return step(state, { type: "go", session: session.id, node: null });
}
