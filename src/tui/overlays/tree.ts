// The tree of the session that is shown: walked by keys, with what is done to the chosen branch. Only data and what a key
// makes of it; `tree-view.ts` draws it, `effects/tree.ts` asks the Api.
import { emptyEditLine, type EditLine } from "../../kit/text/line-edit.ts";
import type { TreeView } from "../../protocol/api/api.ts";
import type { TurnInfo } from "../../protocol/api/control.ts";
import { shortId } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { applyEditKey } from "../keys/edit-keys.ts";
import { step, withNotice, type Key, type State, type UpdateResult } from "../model/state.ts";
import { listMoves, moveIndex, handleKeyByTable, slowAfterMs, type PanelKey } from "./panel.ts";
import { rowKey, buildOutline, sessionAt, visibleRows, type Outline, type TreeRow } from "./tree-outline.ts";

export type TreePanel = {
  kind: "tree";
  /** The session one is in. */
  here: string | null;
  /** Null until the tree was read. */
  outline: Outline | null;
  /** What is running in it, by session. */
  states: Readonly<Record<string, TurnInfo["state"]>>;
  /** By it a reading finds out that nothing has changed. */
  known: string;
  /** Which reading is waited for: an answer to another one is of no use. */
  reading: number;
  now: number;
  /** The first nodes of folded branches. */
  folded: ReadonlySet<string>;
  filter: string;
  /** Which rows of the outline are to be seen, and which of these is chosen. */
  shown: readonly number[];
  at: number;
  /** What the next one is compared with: a session or a node, and the row it was chosen in. */
  compared: { what: string; key: string } | null;
  prompt: { wants: "fork" | "rename" | "filter"; of: string; line: EditLine } | null;
  /** The session that the next press archives. */
  archiving: string | null;
  isSlow: boolean;
};

export type TreeMessage =
  | { what: "read"; reading: number; view: TreeView; states: TreePanel["states"]; known: string; now: number }
  | { what: "unchanged"; reading: number; now: number }
  /** Why is told by itself; it is tried again. */
  | { what: "failed"; reading: number }
  /** Something was done to it here: it is read again at once. */
  | { what: "changed" };

export type TreeEffect =
  /** After so long, and whole only if it is not as it is known. */
  | { type: "read tree"; reading: number; known: string; afterMs: number }
  /** To the session, or with ours to the node. */
  | { type: "go"; session: string | null; node: string | null }
  | { type: "compare"; a: string; b: string }
  | { type: "graft"; from: string }
  | { type: "archive"; session: string };

const readAgainMs = 1000;

export function openTree(state: State): UpdateResult {
  const nothing = { states: {}, known: "", reading: 0, now: 0, folded: new Set<string>(), filter: "", shown: [], at: 0 };
  const rest = { compared: null, prompt: null, archiving: null, isSlow: false };
  const here = state.session?.id ?? null;
  const outline = here === null ? { rows: [], branches: [], turns: new Map() } : null;
  const opened: State = { ...state, overlay: { kind: "tree", here, outline, ...nothing, ...rest } };
  if (here === null) return step(opened);
  return step(opened, { type: "read tree", reading: 0, known: "", afterMs: 0 }, { type: "wake", afterMs: slowAfterMs });
}

export function updateTree(state: State, panel: TreePanel, told: TreeMessage): UpdateResult {
  const next = { ...panel, here: state.session?.id ?? null };
  if (told.what === "changed") return readAgain(state, { ...next, known: "" }, 0);
  if (told.reading !== panel.reading) return step(state);
  if (told.what === "failed") return readAgain(state, next, readAgainMs);
  if (told.what === "unchanged") return readAgain(state, { ...next, now: told.now }, readAgainMs);
  const { view, states, known, now } = told;
  const outline = buildOutline(view);
  const shown = visibleRows(outline, panel.folded, panel.filter);
  const keep = panel.outline === null ? tipOf(view, next.here) : rowKey(chosenRow(panel) ?? { node: null });
  const at = shown.findLastIndex((row) => rowKey(outline.rows[row]!) === keep);
  return readAgain(
    state,
    { ...next, outline, shown, states, known, now, at: at < 0 ? moveIndex(panel.at, 0, shown.length) : at },
    readAgainMs,
  );
}

function readAgain(state: State, panel: TreePanel, afterMs: number): UpdateResult {
  const reading = panel.reading + 1;
  return step({ ...state, overlay: { ...panel, reading } }, { type: "read tree", reading, known: panel.known, afterMs });
}

function tipOf({ sessions }: TreeView, here: string | null): string {
  return sessions.find((session) => session.id === here)?.tip ?? "";
}

export function chosenRow({ outline, shown, at }: TreePanel): TreeRow | undefined {
  return outline?.rows[shown[at] ?? -1];
}

export const treeKeys: readonly PanelKey<TreePanel>[] = [
  { keys: ["j", "down"], summary: "to the next line", run: moves(1) },
  { keys: ["k", "up"], summary: "to the line before", run: moves(-1) },
  { keys: ["ctrl+d", "pagedown"], summary: "ten lines down", run: moves(listMoves["pagedown"]!) },
  { keys: ["ctrl+u", "pageup"], summary: "ten lines up", run: moves(listMoves["pageup"]!) },
  { keys: ["gg"], summary: "to the beginning", run: moves(-Infinity) },
  { keys: ["G"], summary: "to the end", run: moves(Infinity) },
  { keys: ["h", "left"], summary: "fold the branch; again the one above it", run: fold },
  { keys: ["l", "right"], summary: "unfold the branch", run: unfold },
  { keys: ["/"], summary: "only lines with these words", run: (state, panel) => typing(state, panel, "filter", "", panel.filter) },
  { keys: ["enter", "s"], summary: "go there: into its session, or with this one; files stay", run: go },
  { keys: ["f"], summary: "fork there, and go there", run: fork },
  { keys: ["d"], summary: "compare it with the line on which d is pressed next", run: compare },
  { keys: ["p"], summary: "graft: what came of the branch goes into this session", run: graft },
  { keys: ["r"], summary: "rename the session", run: rename },
  { keys: ["x", "D"], summary: "archive the session; twice", run: archive },
  { keys: ["y"], summary: "copy the short id", run: copy },
  { keys: ["escape", "q"], summary: "end the filter, close the tree", run: leave },
];

export function handleTreeKey(state: State, panel: TreePanel, key: Key): UpdateResult {
  if (panel.prompt !== null) return prompting(state, panel, panel.prompt, key);
  const { archiving } = panel;
  const calm = archiving === null || key.name === "x" || key.name === "D" ? panel : { ...panel, archiving: null };
  return handleKeyByTable(treeKeys, { ...state, overlay: calm }, calm, key);
}

function prompting(state: State, panel: TreePanel, prompt: NonNullable<TreePanel["prompt"]>, key: Key): UpdateResult {
  const { wants, of, line } = prompt;
  const closed: TreePanel = { ...panel, prompt: null };
  if (key.name === "escape") return step({ ...state, overlay: wants === "filter" ? filtered(closed, "") : closed });
  if (key.name !== "enter") {
    const next = applyEditKey(line, key);
    const open = wants === "filter" ? filtered(panel, next.text) : panel;
    return step({ ...state, overlay: { ...open, prompt: { ...prompt, line: next } } });
  }
  const text = line.text.trim();
  const done: State = { ...state, overlay: closed };
  if (wants === "filter") return step(done);
  if (wants === "fork") return step(done, { type: "fork", at: of, name: text === "" ? null : text });
  return text === "" ? step(done) : step(done, { type: "rename", session: of, name: text });
}

function filtered(panel: TreePanel, filter: string): TreePanel {
  if (panel.outline === null) return { ...panel, filter };
  const shown = visibleRows(panel.outline, panel.folded, filter);
  const kept = shown.indexOf(panel.shown[panel.at] ?? -1);
  return { ...panel, filter, shown, at: Math.max(0, kept) };
}

function typing(state: State, panel: TreePanel, wants: "fork" | "rename" | "filter", of: string, text: string): UpdateResult {
  const line: EditLine = text === "" ? emptyEditLine : { text, cursor: text.length };
  return step({ ...state, overlay: { ...panel, prompt: { wants, of, line } } });
}

function moves(by: number): PanelKey<TreePanel>["run"] {
  return (state, panel) => step({ ...state, overlay: { ...panel, at: Math.max(0, moveIndex(panel.at, by, panel.shown.length)) } });
}

/** To the first line of the branch, which folds it; from there to the branch above. */
function fold(state: State, panel: TreePanel): UpdateResult {
  const { outline, shown, at } = panel;
  const row = chosenRow(panel);
  const branch = outline?.branches[row?.branch ?? -1];
  if (outline === null || row === undefined || branch === undefined || panel.filter !== "") return step(state);
  const isFolded = shown[at] === branch.head && (panel.folded.has(rowKey(row)) || branch.end === branch.head + 1);
  const target = isFolded ? (outline.branches[branch.above ?? -1]?.head ?? branch.head) : branch.head;
  const folded = isFolded ? panel.folded : new Set([...panel.folded, rowKey(outline.rows[target]!)]);
  return step({ ...state, overlay: refolded(panel, outline, folded, target) });
}

function unfold(state: State, panel: TreePanel): UpdateResult {
  const row = chosenRow(panel);
  if (panel.outline === null || row === undefined || !panel.folded.has(rowKey(row))) return step(state);
  const folded = new Set(panel.folded);
  folded.delete(rowKey(row));
  return step({ ...state, overlay: refolded(panel, panel.outline, folded, panel.shown[panel.at] ?? 0) });
}

function refolded(panel: TreePanel, outline: Outline, folded: ReadonlySet<string>, target: number): TreePanel {
  const shown = visibleRows(outline, folded, panel.filter);
  return { ...panel, folded, shown, at: Math.max(0, shown.indexOf(target)) };
}

function go(state: State, panel: TreePanel): UpdateResult {
  const row = chosenRow(panel);
  if (row === undefined) return step(state);
  if (row.sessions.some((session) => session.id === panel.here)) return step(withNotice(state, "you are here already"));
  return step(state, { type: "go", session: row.sessions[0]?.id ?? null, node: row.node?.id ?? null });
}

function fork(state: State, panel: TreePanel): UpdateResult {
  const node = chosenRow(panel)?.node ?? null;
  return node === null ? step(withNotice(state, "a fork needs a message to begin at")) : typing(state, panel, "fork", node.id, "");
}

function compare(state: State, panel: TreePanel): UpdateResult {
  const row = chosenRow(panel);
  if (row === undefined) return step(state);
  const what = row.sessions[0]?.id ?? row.node?.id ?? null;
  if (what === null) return step(withNotice(state, "before the first message there is nothing to compare"));
  const { compared } = panel;
  if (compared === null) {
    const marked: State = { ...state, overlay: { ...panel, compared: { what, key: rowKey(row) } } };
    return step(withNotice(marked, `d on another line compares it with ${shortId(what)}; d here again does not`));
  }
  const calm: State = { ...state, overlay: { ...panel, compared: null } };
  return compared.key === rowKey(row) ? step(calm) : step(calm, { type: "compare", a: compared.what, b: what });
}

function graft(state: State, panel: TreePanel): UpdateResult {
  const session = chosenSession(panel, (candidate) => candidate.id !== panel.here);
  if (session === null) return step(withNotice(state, "no session rests on this branch; f forks one"));
  if (session.id === panel.here) return step(withNotice(state, "this is the branch you are in; choose another one to graft"));
  return step(state, { type: "graft", from: session.id });
}

function rename(state: State, panel: TreePanel): UpdateResult {
  const session = chosenSession(panel, (candidate) => candidate.id === panel.here);
  if (session === null) return step(withNotice(state, "no session rests on this branch; f forks one"));
  return typing(state, panel, "rename", session.id, session.name ?? "");
}

function archive(state: State, panel: TreePanel): UpdateResult {
  const session = chosenSession(panel, (candidate) => candidate.id !== panel.here);
  if (session === null) return step(withNotice(state, "no session rests on this branch"));
  if (session.id === panel.here) return step(withNotice(state, "you are in this session; go to another one first"));
  if (panel.archiving === session.id)
    return step({ ...state, overlay: { ...panel, archiving: null } }, { type: "archive", session: session.id });
  const name = session.name ?? shortId(session.id);
  return step(
    withNotice({ ...state, overlay: { ...panel, archiving: session.id } }, `x again archives ${name}; its messages stay in the tree`),
  );
}

function copy(state: State, panel: TreePanel): UpdateResult {
  const row = chosenRow(panel);
  const id = row?.node?.id ?? row?.sessions[0]?.id;
  return id === undefined ? step(state) : step(state, { type: "copy", text: shortId(id) });
}

function leave(state: State, panel: TreePanel): UpdateResult {
  return step({ ...state, overlay: panel.filter === "" ? null : filtered(panel, "") });
}

function chosenSession(panel: TreePanel, prefers: (session: Session) => boolean): Session | null {
  return panel.outline === null ? null : sessionAt(panel.outline, panel.shown[panel.at] ?? -1, prefers);
}
