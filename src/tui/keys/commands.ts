// Every command of the screen, in one table: the keys, the colon commands, the leader, the help overlay and
// docs/KEYS.md are read from it. A row does what it says to the state and asks for effects; it touches nothing else.
import { editActions, emptyEditLine } from "../../kit/text/line-edit.ts";
import { oneLine } from "../../kit/text/cut-text.ts";
import { quit } from "../model/quit.ts";
import { goBack, openAgents, watchFocused } from "../overlays/agents.ts";
import { openSessions } from "../overlays/sessions.ts";
import { openTree } from "../overlays/tree.ts";
import { planCommands } from "./plan-commands.ts";
import {
  focusedBlock,
  moveFocus,
  scrollBy,
  scrollPage,
  scrollToBeginning,
  scrollToEnd,
  toggleAll,
  toggleFocused,
} from "../model/scroll.ts";
import { beginSearch, searchNext } from "../search/search.ts";
import { step, withNotice, type State, type UpdateResult } from "../model/state.ts";

export type ScreenCommand = {
  /** What bindings and the colon call it. */
  name: string;
  summary: string;
  /** In Normal mode. Two characters are pressed one after the other. */
  keys?: readonly string[];
  /** Whether these keys also work while a message is being typed. */
  everywhere?: boolean;
  /** What may follow its name after the colon; without it, it can't be typed. */
  typed?: string;
  /** After Space. */
  leader?: string;
  run: (state: State, argument: string) => UpdateResult;
};

export const costsTitle = "costs of this session";

export const screenCommands: readonly ScreenCommand[] = [
  { name: "insert", summary: "type a message", keys: ["i", "a"], run: (state) => step(insertMode(state)) },
  {
    name: "insert-at-start",
    summary: "type at the start of the message",
    keys: ["I"],
    run: (state) => step(insertMode({ ...state, draft: { ...state.draft, cursor: 0 } })),
  },
  { name: "insert-at-end", summary: "type at the end of the message", keys: ["A"], run: (state) => step(insertMode(atEnd(state))) },
  { name: "row-down", summary: "one row down", keys: ["j", "down"], run: (state) => step(scrollBy(state, 1)) },
  { name: "row-up", summary: "one row up", keys: ["k", "up"], run: (state) => step(scrollBy(state, -1)) },
  { name: "half-page-down", summary: "half a page down", keys: ["ctrl+d"], run: (state) => step(scrollPage(state, 0.5)) },
  { name: "half-page-up", summary: "half a page up", keys: ["ctrl+u"], run: (state) => step(scrollPage(state, -0.5)) },
  { name: "page-down", summary: "a page down", keys: ["pagedown"], everywhere: true, run: (state) => step(scrollPage(state, 1)) },
  { name: "page-up", summary: "a page up", keys: ["pageup"], everywhere: true, run: (state) => step(scrollPage(state, -1)) },
  { name: "to-beginning", summary: "to the beginning", keys: ["gg"], run: (state) => step(scrollToBeginning(state)) },
  { name: "to-end", summary: "to the end, and follow what is added", keys: ["G"], run: (state) => step(scrollToEnd(state)) },
  { name: "block-before", summary: "to the block before", keys: ["["], run: (state) => step(moveFocus(state, -1)) },
  { name: "block-next", summary: "to the next block", keys: ["]"], run: (state) => step(moveFocus(state, 1)) },
  { name: "open-block", summary: "open or fold the block; without one, type", keys: ["o"], run: openBlock },
  { name: "enter-block", summary: "the same; a sub-session is watched", keys: ["enter"], run: enterBlock },
  { name: "open-all", summary: "open or fold all blocks", keys: ["ctrl+o"], everywhere: true, run: (state) => step(toggleAll(state)) },
  { name: "search", summary: "find words in the transcript; Esc goes back", keys: ["/"], run: (state) => step(beginSearch(state)) },
  { name: "search-next", summary: "to the next place that was found", keys: ["n"], run: (state) => step(searchNext(state, 1)) },
  { name: "search-before", summary: "to the place found before", keys: ["N"], run: (state) => step(searchNext(state, -1)) },
  {
    name: "command",
    summary: "type a command",
    keys: [":"],
    run: (state) => step({ ...state, mode: "command", commandLine: emptyEditLine }),
  },
  {
    name: "net",
    summary: "network for the tools, from the next turn on",
    leader: "n",
    typed: "[on|off]",
    run: switchNet,
  },
  {
    name: "clear",
    summary: "a new branch from the beginning; this one stays",
    leader: "c",
    typed: "",
    run: clear,
  },
  {
    name: "fork",
    summary: "a new session from here; this one stays",
    leader: "f",
    typed: "[name]",
    run: (state, name) => step(state, { type: "fork", name: name === "" ? null : name }),
  },
  { name: "tree", summary: "the tree: walk, fork, compare, graft", leader: "t", typed: "", run: openTree },
  { name: "agents", summary: "what runs: open, steer, pause, stop", leader: "a", typed: "", run: openAgents },
  { name: "watch", summary: "watch the sub-session of the block", keys: ["O"], typed: "", run: watchFocused },
  { name: "back", summary: "back from a session that is watched", keys: ["q"], typed: "", run: goBack },
  { name: "sessions", summary: "find a session and go to it", leader: "s", typed: "", run: openSessions },
  {
    name: "switch",
    summary: "to a session, or this one to a node; files stay",
    typed: "<session|node>",
    run: (state, wanted) =>
      wanted === "" ? step(withNotice(state, ":switch takes a session or a node", "error")) : step(state, { type: "switch", wanted }),
  },
  {
    name: "rename",
    summary: "another name for this session",
    typed: "<name>",
    run: (state, name) => (name === "" ? step(withNotice(state, ":rename takes a name", "error")) : step(state, { type: "rename", name })),
  },
  {
    name: "model",
    summary: "which model answers; another one from now on",
    leader: "m",
    typed: "[vendor/id]",
    run: (state, name) => (name === "" ? choose(state, "models") : step(state, { type: "model", name })),
  },
  {
    name: "agent",
    summary: "who takes the turns; another one from now on",
    typed: "[name]",
    run: (state, name) => (name === "" ? choose(state, "agents") : step(state, { type: "agent", name })),
  },
  {
    name: "budget",
    summary: "costs and cache of this session; a limit",
    leader: "b",
    typed: "[usd|off]",
    run: setBudget,
  },
  ...planCommands,
  {
    name: "help",
    summary: "all keys and commands, until Esc",
    keys: ["?"],
    leader: "?",
    typed: "",
    run: (state) => step({ ...state, overlay: { kind: "reader", title: "help", lines: null, top: 0 } }),
  },
  {
    name: "palette",
    summary: "find a command by what it does",
    keys: ["ctrl+p"],
    everywhere: true,
    typed: "",
    run: (state) => step({ ...state, overlay: { kind: "picker", purpose: "palette", items: null, filter: emptyEditLine, at: 0 } }),
  },
  {
    name: "history",
    summary: "find what was sent before in this project",
    keys: ["ctrl+r"],
    everywhere: true,
    typed: "",
    run: openHistory,
  },
  { name: "cancel", summary: "stop the turn, whichever process runs it", typed: "", run: cancel },
  { name: "continue", summary: "go on with what an interrupted turn left", typed: "", run: continueTurn },
  { name: "hub", summary: "start the hub that this screen has lost", typed: "", run: (state) => step(state, { type: "hub" }) },
  {
    name: "redraw",
    summary: "paint everything anew",
    keys: ["ctrl+l"],
    everywhere: true,
    run: (state) => step(state, { type: "redraw" }),
  },
  { name: "quit", summary: "leave; the session stays", typed: "", run: quit },
];

/** Keys that mean something before any command does; for the help only. */
export const fixedKeys: readonly { keys: string; summary: string }[] = [
  { keys: "Esc", summary: "leave mode, overlay, block; then stop the turn" },
  { keys: "Ctrl+C", summary: "stop the turn; again within 2 seconds leave" },
  { keys: "Space", summary: "in Normal or on an empty prompt: see below" },
  { keys: "Enter", summary: "while typing: send, also to a running turn" },
  { keys: "Alt+Enter, Ctrl+J", summary: "while typing: a line break" },
  { keys: "Up, Down", summary: "while typing: by rows; at the edge, sent before" },
  { keys: "Alt+B, Alt+F", summary: "while typing: a word back, a word on" },
  { keys: "Ctrl+W, Ctrl+U, Ctrl+K", summary: "while typing: delete word, to start, to end" },
  { keys: "Ctrl+_", summary: "while typing: take the last change back" },
  { keys: "Tab", summary: "while typing: complete a path or a command" },
  { keys: "@", summary: "while typing: the path of a file" },
  { keys: "/", summary: "at the start of a message: a command" },
  { keys: "!", summary: "at the start of a message: run it in a shell" },
];

/** The list is looked up meanwhile. */
function choose(state: State, purpose: "models" | "agents"): UpdateResult {
  const overlay = { kind: "picker", purpose, items: null, filter: emptyEditLine, at: 0 } as const;
  return step({ ...state, overlay }, { type: "list", purpose });
}

function setBudget(state: State, wanted: string): UpdateResult {
  if (wanted === "")
    return step({ ...state, overlay: { kind: "reader", title: costsTitle, lines: ["looking…"], top: 0 } }, { type: "read costs" });
  if (wanted === "off") return step(state, { type: "budget", usd: null });
  const usd = Number(wanted.replace(/^\$/, ""));
  if (Number.isFinite(usd) && usd > 0) return step(state, { type: "budget", usd });
  return step(withNotice(state, `:budget takes dollars, as in 0.50, or off; not "${wanted}"`, "error"));
}

function openHistory(state: State): UpdateResult {
  const { history } = state.composer;
  const items = history
    .map((text, at) => ({ id: String(at), label: oneLine(text, 200), detail: "", preview: text }))
    .filter(({ preview }, at) => history.lastIndexOf(preview) === at)
    .toReversed();
  if (items.length === 0) return step(withNotice(state, "nothing was sent yet in this project"));
  return step({ ...state, overlay: { kind: "picker", purpose: "history", items, filter: emptyEditLine, at: 0 } });
}

function insertMode(state: State): State {
  return { ...state, mode: "insert", focus: null };
}

function atEnd(state: State): State {
  return { ...state, draft: editActions.end({ ...state.draft, cursor: state.draft.text.length }) };
}

function clear(state: State): UpdateResult {
  const isEmpty = state.session?.tip === null && state.activity === null;
  return isEmpty ? step(withNotice(state, "this branch is empty already")) : step(state, { type: "clear" });
}

function cancel(state: State): UpdateResult {
  const { session, activity } = state;
  if (session === null || activity === null) return step(withNotice(state, "nothing runs here"));
  return step({ ...state, activity: "stopping" }, { type: "cancel", session: session.id });
}

export function continueTurn(state: State): UpdateResult {
  if (state.session === null || state.activity !== null)
    return step(withNotice(state, state.session === null ? "nothing was said yet" : "a turn runs already"));
  const started: State = { ...state, isInterrupted: false, activity: "starting", top: "end" };
  return step(started, { type: "start", prompt: null, images: [] });
}

function openBlock(state: State): UpdateResult {
  return step(state.focus === null ? insertMode(state) : toggleFocused(state));
}

function enterBlock(state: State): UpdateResult {
  return focusedBlock(state)?.kind === "session" ? watchFocused(state) : openBlock(state);
}

function switchNet(state: State, wanted: string): UpdateResult {
  if (wanted !== "" && wanted !== "on" && wanted !== "off")
    return step(withNotice(state, `:net takes on or off, not "${wanted}"`, "error"));
  const net = wanted === "" ? (state.net === "on" ? "off" : "on") : wanted;
  const told = `network ${net}: the next turn's tools start in a sandbox of their own`;
  const text = state.activity === null ? told : `${told}; this turn's stay as they are`;
  return step(withNotice({ ...state, net }, text), { type: "net", net });
}
