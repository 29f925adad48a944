// The tree panel: the tree of the visible session, moving in it, and actions on the chosen branch. Pure.
// `tree-view.ts` draws it, `effects/tree.ts` calls the Api.
import type { EditLine } from "../../kit/text/line-edit.ts";
import type { TreeView } from "../../protocol/api/api.ts";
import type { TurnInfo } from "../../protocol/api/control.ts";
import { shortId } from "../../protocol/tree/node.ts";
import { sessionLabel, type Session } from "../../protocol/tree/turn.ts";
import { applyEditKey } from "../keys/edit-keys.ts";
import { step, withNotice, type Key, type State, type UpdateResult } from "../model/state.ts";
import { confirm, handleKeyByTable, listKeys, moveIndex, openPanel, type PanelKey, type PanelState } from "./panel.ts";
import { rowKey, buildOutline, sessionAt, visibleRows, type Outline, type TreeRow } from "./tree-outline.ts";

export type TreePanel = PanelState & {
  kind: "tree";
  /** Null until the tree is read. */
  outline: Outline | null;
  /** States of its running turns, by session. */
  states: Readonly<Record<string, TurnInfo["state"]>>;
  /** Identifies the tree that was read. A later reading with the same signature changes nothing. */
  signature: string;
  /** The first nodes of folded branches. */
  folded: ReadonlySet<string>;
  filter: string;
  /** Visible rows of the outline; `index` is the chosen one of them. */
  visible: readonly number[];
  /** The first side of a comparison: a session or a node, and the key of its row. */
  compared: { target: string; key: string } | null;
  prompt: Prompt | null;
  /** The session that another press of x archives. */
  confirming: string | null;
};

/** An open prompt. `id` is the node to fork or the session to rename. */
type Prompt = { kind: "fork" | "rename" | "filter"; id: string; line: EditLine };

export type TreeMessage =
  | { type: "read"; reading: number; view: TreeView; states: TreePanel["states"]; signature: string; now: number }
  | { type: "unchanged"; reading: number; now: number }
  /** The reason is shown by another message. The tree is read again. */
  | { type: "failed"; reading: number }
  /** An action here changed the tree. It is read again at once. */
  | { type: "changed" };

export type TreeEffect =
  /** Waits `afterMs`, then reads the whole tree only if its signature differs. */
  | { type: "read tree"; reading: number; signature: string; afterMs: number }
  /** Shows the session, or moves the visible session to the node. */
  | { type: "go"; session: string | null; node: string | null }
  | { type: "compare"; a: string; b: string }
  | { type: "graft"; from: string }
  | { type: "archive"; session: string };

const readAgainMs = 1000;

export function openTree(state: State): UpdateResult {
  const outline = state.session === null ? { rows: [], branches: [], turns: new Map() } : null;
  const empty = { states: {}, signature: "", folded: new Set<string>(), filter: "", visible: [] };
  const closed = { compared: null, prompt: null, confirming: null };
  return openPanel<TreePanel>(state, { kind: "tree", outline, ...empty, ...closed }, ({ currentSession }) =>
    currentSession === null ? null : { type: "read tree", reading: 0, signature: "", afterMs: 0 },
  );
}

export function updateTree(state: State, panel: TreePanel, message: TreeMessage): UpdateResult {
  const next = { ...panel, currentSession: state.session?.id ?? null };
  if (message.type === "changed") return readAgain(state, { ...next, signature: "" }, 0);
  if (message.reading !== panel.reading) return step(state);
  if (message.type === "failed") return readAgain(state, next, readAgainMs);
  if (message.type === "unchanged") return readAgain(state, { ...next, now: message.now }, readAgainMs);
  const { view, states, signature, now } = message;
  const outline = buildOutline(view);
  const tip = view.sessions.find(({ id }) => id === next.currentSession)?.tip ?? "";
  const visible = visibleRows(outline, panel.folded, panel.filter);
  const chosenKey = panel.outline === null ? tip : rowKey(chosenRow(panel) ?? { node: null });
  const index = visible.findLastIndex((row) => rowKey(outline.rows[row]!) === chosenKey);
  const read = { ...next, outline, visible, states, signature, now };
  return readAgain(state, { ...read, index: index < 0 ? moveIndex(panel.index, 0, visible.length) : index }, readAgainMs);
}

function readAgain(state: State, panel: TreePanel, afterMs: number): UpdateResult {
  const reading = panel.reading + 1;
  return step({ ...state, overlay: { ...panel, reading } }, { type: "read tree", reading, signature: panel.signature, afterMs });
}

export function chosenRow({ outline, visible, index }: TreePanel): TreeRow | undefined {
  return outline?.rows[visible[index] ?? -1];
}

export const treeKeys: readonly PanelKey<TreePanel>[] = [
  ...listKeys<TreePanel>(({ visible }) => visible.length),
  { keys: ["h", "left"], summary: "fold the branch; again: its parent branch", run: fold },
  { keys: ["l", "right"], summary: "unfold the branch", run: unfold },
  {
    keys: ["/"],
    summary: "only lines with these words",
    run: (state, panel) => openPrompt(state, panel, { kind: "filter", id: "", text: panel.filter }),
  },
  { keys: ["enter", "s"], summary: "go there: to its session, or move this one; files stay", run: go },
  { keys: ["f"], summary: "fork there, and go there", run: fork },
  { keys: ["d"], summary: "compare it with the line where you press d next", run: compare },
  { keys: ["p"], summary: "graft: add the conclusion of the branch to this session", run: graft },
  { keys: ["r"], summary: "rename the session", run: rename },
  { keys: ["x", "D"], summary: "archive the session; press twice", run: archive, asksTwice: true },
  { keys: ["u"], summary: "take back the last graft, move or rename", run: (state) => step(state, { type: "take back change" }) },
  { keys: ["y"], summary: "copy the short id", run: copy },
  {
    keys: ["escape", "q"],
    summary: "clear the filter, then close the tree",
    run: (state, panel) => step({ ...state, overlay: panel.filter === "" ? null : withFilter(panel, "") }),
  },
];

export function handleTreeKey(state: State, panel: TreePanel, key: Key): UpdateResult {
  const { prompt } = panel;
  if (prompt === null) return handleKeyByTable(treeKeys, state, panel, key);
  const { kind, id, line } = prompt;
  const closed: TreePanel = { ...panel, prompt: null };
  if (key.name === "escape") return step({ ...state, overlay: kind === "filter" ? withFilter(closed, "") : closed });
  if (key.name !== "enter") {
    const next = applyEditKey(line, key);
    const open = kind === "filter" ? withFilter(panel, next.text) : panel;
    return step({ ...state, overlay: { ...open, prompt: { ...prompt, line: next } } });
  }
  const text = line.text.trim();
  const done: State = { ...state, overlay: closed };
  if (kind === "filter") return step(done);
  if (kind === "fork") return step(done, { type: "fork", at: id, name: text === "" ? null : text });
  return text === "" ? step(done) : step(done, { type: "rename", session: id, name: text });
}

function withFilter(panel: TreePanel, filter: string): TreePanel {
  if (panel.outline === null) return { ...panel, filter };
  const visible = visibleRows(panel.outline, panel.folded, filter);
  const chosen = visible.indexOf(panel.visible[panel.index] ?? -1);
  return { ...panel, filter, visible, index: Math.max(0, chosen) };
}

function openPrompt(state: State, panel: TreePanel, prompt: Omit<Prompt, "line"> & { text: string }): UpdateResult {
  const { kind, id, text } = prompt;
  return step({ ...state, overlay: { ...panel, prompt: { kind, id, line: { text, cursor: text.length } } } });
}

/** Folds the branch and moves to its first line. If it is folded, moves to its parent branch. */
function fold(state: State, panel: TreePanel): UpdateResult {
  const { outline, visible, index } = panel;
  const row = chosenRow(panel);
  const branch = outline?.branches[row?.branch ?? -1];
  if (outline === null || row === undefined || branch === undefined || panel.filter !== "") return step(state);
  const isFolded = visible[index] === branch.head && (panel.folded.has(rowKey(row)) || branch.end === branch.head + 1);
  const target = isFolded ? (outline.branches[branch.parent ?? -1]?.head ?? branch.head) : branch.head;
  const folded = isFolded ? panel.folded : new Set([...panel.folded, rowKey(outline.rows[target]!)]);
  return step({ ...state, overlay: withFolded(panel, outline, folded, target) });
}

function unfold(state: State, panel: TreePanel): UpdateResult {
  const row = chosenRow(panel);
  if (panel.outline === null || row === undefined || !panel.folded.has(rowKey(row))) return step(state);
  const folded = new Set(panel.folded);
  folded.delete(rowKey(row));
  return step({ ...state, overlay: withFolded(panel, panel.outline, folded, panel.visible[panel.index] ?? 0) });
}

function withFolded(panel: TreePanel, outline: Outline, folded: ReadonlySet<string>, target: number): TreePanel {
  const visible = visibleRows(outline, folded, panel.filter);
  return { ...panel, folded, visible, index: Math.max(0, visible.indexOf(target)) };
}

function go(state: State, panel: TreePanel): UpdateResult {
  const row = chosenRow(panel);
  if (row === undefined) return step(state);
  if (row.sessions.some((session) => session.id === panel.currentSession)) return step(withNotice(state, "you are already here"));
  return step(state, { type: "go", session: row.sessions[0]?.id ?? null, node: row.node?.id ?? null });
}

function fork(state: State, panel: TreePanel): UpdateResult {
  const node = chosenRow(panel)?.node ?? null;
  return node === null
    ? step(withNotice(state, "a fork needs a message to start from"))
    : openPrompt(state, panel, { kind: "fork", id: node.id, text: "" });
}

function compare(state: State, panel: TreePanel): UpdateResult {
  const row = chosenRow(panel);
  if (row === undefined) return step(state);
  const target = row.sessions[0]?.id ?? row.node?.id ?? null;
  if (target === null) return step(withNotice(state, "there is nothing to compare before the first message"));
  const { compared } = panel;
  if (compared === null) {
    const marked: State = { ...state, overlay: { ...panel, compared: { target, key: rowKey(row) } } };
    return step(withNotice(marked, `press d on another line to compare it with ${shortId(target)}; d here cancels`));
  }
  const cleared: State = { ...state, overlay: { ...panel, compared: null } };
  return compared.key === rowKey(row) ? step(cleared) : step(cleared, { type: "compare", a: compared.target, b: target });
}

function graft(state: State, panel: TreePanel): UpdateResult {
  const session = chosenSession(panel, (candidate) => candidate.id !== panel.currentSession);
  if (session === null) return step(withNotice(state, "no session on this branch; press f to fork one"));
  if (session.id === panel.currentSession) return step(withNotice(state, "this is the branch you are in; choose another one to graft"));
  return step(state, { type: "graft", from: session.id });
}

function rename(state: State, panel: TreePanel): UpdateResult {
  const session = chosenSession(panel, (candidate) => candidate.id === panel.currentSession);
  if (session === null) return step(withNotice(state, "no session on this branch; press f to fork one"));
  return openPrompt(state, panel, { kind: "rename", id: session.id, text: session.name ?? "" });
}

function archive(state: State, panel: TreePanel): UpdateResult {
  const session = chosenSession(panel, (candidate) => candidate.id !== panel.currentSession);
  if (session === null) return step(withNotice(state, "no session on this branch"));
  if (session.id === panel.currentSession) return step(withNotice(state, "you are in this session; go to another one first"));
  const question = `press x again to archive ${sessionLabel(session)}; its messages stay in the tree`;
  return confirm(state, panel, question, { type: "archive", session: session.id });
}

function copy(state: State, panel: TreePanel): UpdateResult {
  const row = chosenRow(panel);
  const id = row?.node?.id ?? row?.sessions[0]?.id;
  return id === undefined ? step(state) : step(state, { type: "copy", text: shortId(id) });
}

function chosenSession(panel: TreePanel, prefers: (session: Session) => boolean): Session | null {
  return panel.outline === null ? null : sessionAt(panel.outline, panel.visible[panel.index] ?? -1, prefers);
}
