// The table of all screen commands. Keys, colon commands, leader keys, the help and docs/KEYS.md come from it.
// A command returns the next state and effects. It does nothing else.
import { emptyEditLine } from "../../kit/text/line-edit.ts";
import { oneLine } from "../../kit/text/cut-text.ts";
import { showAsks } from "../model/asks.ts";
import { goBack, openAgents, watchFocused } from "../overlays/agents.ts";
import { openSessions } from "../overlays/sessions.ts";
import { openTree } from "../overlays/tree.ts";
import type { Picker } from "../overlays/picker.ts";
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
  /** The name in bindings and after the colon. */
  name: string;
  summary: string;
  /** Keys in Normal mode. `gg` is two presses; `space n` also works in an empty prompt. */
  keys?: readonly string[];
  /** Whether these keys also work while the user types a message. */
  everywhere?: boolean;
  /** Usage of its argument after the colon. A command without it can't be typed. */
  typed?: string;
  run: (state: State, argument: string) => UpdateResult;
};

export const screenCommands: readonly ScreenCommand[] = [
  { name: "insert", summary: "type a message", keys: ["i", "a"], run: (state) => step(insertMode(state)) },
  {
    name: "insert-at-start",
    summary: "type at the start of the message",
    keys: ["I"],
    run: (state) => step(insertMode({ ...state, unsent: { ...state.unsent, cursor: 0 } })),
  },
  {
    name: "insert-at-end",
    summary: "type at the end of the message",
    keys: ["A"],
    run: (state) => step(insertMode({ ...state, unsent: { ...state.unsent, cursor: state.unsent.text.length } })),
  },
  { name: "row-down", summary: "one row down", keys: ["j", "down"], run: (state) => step(scrollBy(state, 1)) },
  { name: "row-up", summary: "one row up", keys: ["k", "up"], run: (state) => step(scrollBy(state, -1)) },
  { name: "half-page-down", summary: "half a page down", keys: ["ctrl+d"], run: (state) => step(scrollPage(state, 0.5)) },
  { name: "half-page-up", summary: "half a page up", keys: ["ctrl+u"], run: (state) => step(scrollPage(state, -0.5)) },
  { name: "page-down", summary: "a page down", keys: ["pagedown"], everywhere: true, run: (state) => step(scrollPage(state, 1)) },
  { name: "page-up", summary: "a page up", keys: ["pageup"], everywhere: true, run: (state) => step(scrollPage(state, -1)) },
  { name: "to-beginning", summary: "to the beginning", keys: ["gg"], run: (state) => step(scrollToBeginning(state)) },
  { name: "to-end", summary: "to the end, and follow new output", keys: ["G"], run: (state) => step(scrollToEnd(state)) },
  { name: "block-before", summary: "to the previous block", keys: ["["], run: (state) => step(moveFocus(state, -1)) },
  { name: "block-next", summary: "to the next block", keys: ["]"], run: (state) => step(moveFocus(state, 1)) },
  { name: "open-block", summary: "open or fold the block; without a block, type", keys: ["o"], run: openBlock },
  { name: "enter-block", summary: "open or fold the block; watch a sub-session", keys: ["enter"], run: enterBlock },
  { name: "open-all", summary: "open or fold all blocks", keys: ["ctrl+o"], everywhere: true, run: (state) => step(toggleAll(state)) },
  { name: "search", summary: "search the transcript; Esc goes back", keys: ["/"], run: (state) => step(beginSearch(state)) },
  { name: "search-next", summary: "to the next match", keys: ["n"], run: (state) => step(searchNext(state, 1)) },
  { name: "search-before", summary: "to the previous match", keys: ["N"], run: (state) => step(searchNext(state, -1)) },
  {
    name: "command",
    summary: "type a command",
    keys: [":"],
    run: (state) => step({ ...state, mode: "command", commandLine: emptyEditLine }),
  },
  { name: "net", summary: "turn the network for tools on or off", keys: ["space n"], typed: "[on|off]", run: setNet },
  { name: "clear", summary: "start a new branch from the beginning", keys: ["space c"], typed: "", run: clear },
  {
    name: "fork",
    summary: "fork: a new session from here",
    keys: ["space f"],
    typed: "[name]",
    run: (state, name) => step(state, { type: "fork", name: name === "" ? null : name }),
  },
  { name: "tree", summary: "the tree: go to, fork, compare, graft branches", keys: ["space t"], typed: "", run: openTree },
  { name: "agents", summary: "running turns: watch, steer, pause, stop", keys: ["space a"], typed: "", run: openAgents },
  { name: "watch", summary: "watch the sub-session of the block", keys: ["O"], typed: "", run: watchFocused },
  { name: "back", summary: "stop watching a session", keys: ["q"], typed: "", run: goBack },
  { name: "sessions", summary: "find a session and go to it", keys: ["space s"], typed: "", run: openSessions },
  {
    name: "switch",
    summary: "go to a session, or move this one to a node",
    typed: "<session|node>",
    run: (state, query) =>
      query === "" ? step(withNotice(state, ":switch takes a session or a node", "error")) : step(state, { type: "switch", query }),
  },
  {
    name: "rename",
    summary: "rename this session",
    typed: "<name>",
    run: (state, name) => (name === "" ? step(withNotice(state, ":rename takes a name", "error")) : step(state, { type: "rename", name })),
  },
  {
    name: "model",
    summary: "choose the model of the next turns",
    keys: ["space m"],
    typed: "[vendor/id]",
    run: (state, name) => (name === "" ? openChoices(state, "models") : step(state, { type: "model", name })),
  },
  {
    name: "agent",
    summary: "choose the agent of the next turns",
    typed: "[name]",
    run: (state, name) => (name === "" ? openChoices(state, "agents") : step(state, { type: "agent", name })),
  },
  { name: "budget", summary: "show the costs, or limit the cost of a turn", keys: ["space b"], typed: "[usd|off]", run: setBudget },
  { name: "plan", summary: "plan in a new session; again: go back", keys: ["space p"], typed: "", run: togglePlanning },
  { name: "exec", summary: "execute the plan in a new session", keys: ["space x"], typed: "", run: executePlan },
  {
    name: "edit-plan",
    summary: "edit the plan in $VISUAL or $EDITOR",
    keys: ["ctrl+g", "space e"],
    everywhere: true,
    typed: "",
    run: effectOnly("edit plan"),
  },
  { name: "steps", summary: "show the plan and its progress", keys: ["space P"], typed: "", run: effectOnly("show plan") },
  { name: "asks", summary: "show the questions that wait for an answer", keys: ["tab", "space q"], typed: "", run: showAsks },
  {
    name: "suspend",
    summary: "back to the shell; fg returns",
    keys: ["ctrl+z"],
    everywhere: true,
    typed: "",
    run: effectOnly("suspend"),
  },
  {
    name: "help",
    summary: "show all keys and commands",
    keys: ["?", "space ?"],
    typed: "",
    run: (state) => step({ ...state, overlay: { kind: "text", topic: "help", lines: [], top: 0 } }),
  },
  {
    name: "palette",
    summary: "find a command",
    keys: ["ctrl+p"],
    everywhere: true,
    typed: "",
    run: (state) => step(openPicker(state, "palette", null)),
  },
  {
    name: "history",
    summary: "find a message sent in this project",
    keys: ["ctrl+r"],
    everywhere: true,
    typed: "",
    run: openHistory,
  },
  { name: "cancel", summary: "stop the turn, in any process", typed: "", run: cancel },
  { name: "continue", summary: "continue an interrupted turn", typed: "", run: continueTurn },
  { name: "hub", summary: "start the hub after a lost connection", typed: "", run: effectOnly("hub") },
  { name: "redraw", summary: "redraw the screen", keys: ["ctrl+l"], everywhere: true, run: effectOnly("redraw") },
  { name: "quit", summary: "quit; the session is saved", typed: "", run: quit },
];

/** Keys that no command can use. For the help only. */
export const fixedKeys: readonly { keys: string; summary: string }[] = [
  { keys: "Esc", summary: "leave mode, overlay, block; then stop the turn" },
  { keys: "Ctrl+C", summary: "stop the turn; again within 2 seconds: quit" },
  { keys: "Space", summary: "in Normal mode or an empty prompt: see below" },
  { keys: "Enter", summary: "while typing: send, also to a running turn" },
  { keys: "Alt+Enter, Ctrl+J", summary: "while typing: insert a line break" },
  { keys: "Up, Down", summary: "while typing: move by rows, then in history" },
  { keys: "Alt+B, Alt+F", summary: "while typing: one word back or forward" },
  { keys: "Ctrl+W, Ctrl+U, Ctrl+K", summary: "while typing: delete word, to start, to end" },
  { keys: "Ctrl+_", summary: "while typing: undo" },
  { keys: "Tab", summary: "while typing: complete a path or a command" },
  { keys: "@", summary: "while typing: complete the path of a file" },
  { keys: "/", summary: "at the start of a message: a command" },
  { keys: "!", summary: "at the start of a message: run it in a shell" },
];

type PlainEffect = "edit plan" | "show plan" | "suspend" | "hub" | "redraw";

/** The action of a command that changes no state. */
function effectOnly(type: PlainEffect): ScreenCommand["run"] {
  return (state) => step(state, { type });
}

function openPicker(state: State, purpose: Picker["purpose"], items: Picker["items"]): State {
  return { ...state, overlay: { kind: "picker", purpose, items, filter: emptyEditLine, index: 0 } };
}

function openChoices(state: State, purpose: "models" | "agents"): UpdateResult {
  return step(openPicker(state, purpose, null), { type: "list", purpose });
}

function openHistory(state: State): UpdateResult {
  const { history } = state.composer;
  const items = history
    .map((text, index) => ({ id: String(index), label: oneLine(text, 200), detail: "", preview: text }))
    .filter(({ preview }, index) => history.lastIndexOf(preview) === index)
    .toReversed();
  if (items.length === 0) return step(withNotice(state, "no messages sent in this project yet"));
  return step(openPicker(state, "history", items));
}

function setBudget(state: State, amount: string): UpdateResult {
  if (amount === "")
    return step({ ...state, overlay: { kind: "text", topic: "costs", lines: ["loading…"], top: 0 } }, { type: "read costs" });
  if (amount === "off") return step(state, { type: "budget", usd: null });
  const usd = Number(amount.replace(/^\$/, ""));
  if (Number.isFinite(usd) && usd > 0) return step(state, { type: "budget", usd });
  return step(withNotice(state, `:budget takes dollars, for example 0.50, or off; not "${amount}"`, "error"));
}

function insertMode(state: State): State {
  return { ...state, mode: "insert", focus: null };
}

function clear(state: State): UpdateResult {
  const isEmpty = state.session?.tip === null && state.activity === null;
  return isEmpty ? step(withNotice(state, "this branch is already empty")) : step(state, { type: "clear" });
}

function cancel(state: State): UpdateResult {
  const { session, activity } = state;
  if (session === null || activity === null) return step(withNotice(state, "no turn is running"));
  return step({ ...state, activity: "stopping" }, { type: "cancel", session: session.id });
}

export function continueTurn(state: State): UpdateResult {
  if (state.session === null || state.activity !== null)
    return step(withNotice(state, state.session === null ? "there is no message yet" : "a turn is already running"));
  const started: State = { ...state, isInterrupted: false, activity: "starting", top: "end" };
  return step(started, { type: "start", prompt: null, images: [] });
}

function openBlock(state: State): UpdateResult {
  return step(state.focus === null ? insertMode(state) : toggleFocused(state));
}

function enterBlock(state: State): UpdateResult {
  return focusedBlock(state)?.kind === "session" ? watchFocused(state) : openBlock(state);
}

function setNet(state: State, value: string): UpdateResult {
  if (value !== "" && value !== "on" && value !== "off") return step(withNotice(state, `:net takes on or off, not "${value}"`, "error"));
  const net = value === "" ? (state.net === "on" ? "off" : "on") : value;
  const change = `network ${net} for the tools of the next turn`;
  const text = state.activity === null ? change : `${change}; this turn keeps its network`;
  return step(withNotice({ ...state, net }, text), { type: "net", net });
}

/** Starts planning in Insert mode, because the user types next what to plan. */
function togglePlanning(state: State): UpdateResult {
  const { isPlanning, mode } = state;
  return step({ ...state, mode: isPlanning ? mode : "insert" }, { type: "plan", isOn: !isPlanning });
}

function executePlan(state: State): UpdateResult {
  if (state.activity === null) return step(state, { type: "execute plan" });
  return step(withNotice(state, "a turn is running; Ctrl+C stops it", "error"));
}

/** Turns that this screen runs in other sessions end with it, so the user is warned of them first. */
export function quit(state: State): UpdateResult {
  const otherSessions = state.running.filter((id) => id !== state.session?.id);
  if (otherSessions.every((id) => state.warned.includes(id))) return step(state, { type: "quit" });
  const turns = otherSessions.length === 1 ? "a turn in another session" : `${otherSessions.length} turns in other sessions`;
  return step(withNotice({ ...state, warned: otherSessions }, `quitting stops ${turns}; quit again, or see :agents`, "error"));
}
