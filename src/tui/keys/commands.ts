// The table of all screen commands. Keys, slash and colon commands, leader keys, the help and docs/KEYS.md come from it.
// The texts of typed commands are in src/protocol/api/slash-commands.ts. The functions are in command-actions.ts.
import { emptyEditLine } from "../../kit/text/line-edit.ts";
import { initPrompt, reviewPrompt, slashTable, type SlashName } from "../../protocol/api/slash-commands.ts";
import { showAsks } from "../model/asks.ts";
import { moveFocus, scrollBy, scrollPage, scrollToBeginning, scrollToEnd, toggleAll } from "../model/scroll.ts";
import { step, type State, type UpdateResult } from "../model/state.ts";
import { leaveVisit, openAgents, watchFocused } from "../overlays/agents.ts";
import { goBack } from "../overlays/back.ts";
import { openSessions } from "../overlays/sessions.ts";
import { openTree } from "../overlays/tree.ts";
import { beginSearch, searchNext } from "../search/search.ts";
import * as actions from "./command-actions.ts";

export type ScreenCommand = {
  /** The name in bindings and after the slash or colon. */
  name: string;
  summary: string;
  /** Keys of the vi preset, in Normal mode. `gg` is two presses; `space n` also works in an empty prompt. */
  keys?: readonly string[];
  /** Keys of the plain preset, if they differ from those of `keys` that work everywhere. */
  plain?: readonly string[];
  /** Whether `keys` also work while the user types a message. */
  everywhere?: boolean;
  /** Usage of its argument after its name. A command without it can't be typed. */
  typed?: string;
  run: (state: State, argument: string) => UpdateResult;
};

type Keys = Pick<ScreenCommand, "keys" | "plain" | "everywhere">;

/** A command that can be typed. */
function typed(name: SlashName, run: ScreenCommand["run"], keys: Keys = {}): ScreenCommand {
  const { summary, usage } = slashTable[name];
  return { name, summary, typed: usage, run, ...keys };
}

const moving: readonly ScreenCommand[] = [
  { name: "insert", summary: "type a message", keys: ["i", "a"], run: (state) => step(actions.insertMode(state)) },
  {
    name: "insert-at-start",
    summary: "type at the start of the message",
    keys: ["I"],
    run: (state) => step(actions.insertMode({ ...state, unsent: { ...state.unsent, cursor: 0 } })),
  },
  {
    name: "insert-at-end",
    summary: "type at the end of the message",
    keys: ["A"],
    run: (state) => step(actions.insertMode({ ...state, unsent: { ...state.unsent, cursor: state.unsent.text.length } })),
  },
  { name: "row-down", summary: "one row down", keys: ["j", "down"], run: (state) => step(scrollBy(state, 1)) },
  { name: "row-up", summary: "one row up", keys: ["k", "up"], run: (state) => step(scrollBy(state, -1)) },
  { name: "half-page-down", summary: "half a page down", keys: ["ctrl+d"], run: (state) => step(scrollPage(state, 0.5)) },
  { name: "half-page-up", summary: "half a page up", keys: ["ctrl+u"], run: (state) => step(scrollPage(state, -0.5)) },
  { name: "page-down", summary: "a page down", keys: ["pagedown"], everywhere: true, run: (state) => step(scrollPage(state, 1)) },
  { name: "page-up", summary: "a page up", keys: ["pageup"], everywhere: true, run: (state) => step(scrollPage(state, -1)) },
  {
    name: "to-beginning",
    summary: "to the beginning",
    keys: ["gg"],
    plain: ["ctrl+home"],
    run: (state) => step(scrollToBeginning(state)),
  },
  {
    name: "to-end",
    summary: "to the end, and follow new output",
    keys: ["G"],
    plain: ["ctrl+end"],
    run: (state) => step(scrollToEnd(state)),
  },
  {
    name: "block-before",
    summary: "to the previous block",
    keys: ["["],
    plain: ["alt+up"],
    run: (state) => step(moveFocus(state, -1)),
  },
  { name: "block-next", summary: "to the next block", keys: ["]"], plain: ["alt+down"], run: (state) => step(moveFocus(state, 1)) },
  { name: "open-block", summary: "open or fold the block; without one, type", keys: ["o"], run: actions.openBlock },
  { name: "enter-block", summary: "open or fold the block; watch a sub-session", keys: ["enter"], run: actions.enterBlock },
  { name: "open-all", summary: "open or fold all blocks", keys: ["ctrl+o"], everywhere: true, run: (state) => step(toggleAll(state)) },
  { name: "search-next", summary: "to the next match", keys: ["n"], run: (state) => step(searchNext(state, 1)) },
  { name: "search-before", summary: "to the previous match", keys: ["N"], run: (state) => step(searchNext(state, -1)) },
  { name: "stop-watching", summary: "stop watching a session", keys: ["q"], run: leaveVisit },
  {
    name: "command",
    summary: "type a command",
    keys: [":"],
    run: (state) => step({ ...state, mode: "command", commandLine: emptyEditLine }),
  },
  { name: "redraw", summary: "redraw the screen", keys: ["ctrl+l"], everywhere: true, run: actions.effectOnly("redraw") },
];

export const screenCommands: readonly ScreenCommand[] = [
  ...moving,
  typed("help", actions.openHelp, { keys: ["?", "space ?"], plain: ["f1"] }),
  typed("palette", (state) => step(actions.openPicker(state, "palette", null)), { keys: ["ctrl+p"], everywhere: true }),
  typed("model", actions.chooseModel, { keys: ["space m"] }),
  typed("agent", actions.chooseAgent),
  typed("policy", actions.changePolicy, { keys: ["shift+tab"], everywhere: true }),
  typed("net", actions.setNet, { keys: ["space n"] }),
  typed("new", actions.effectOnly("new")),
  typed("clear", actions.clear, { keys: ["space c"] }),
  typed("fork", (state, name) => step(state, { type: "fork", name: name === "" ? null : name }), { keys: ["space f"] }),
  typed("back", goBack),
  typed("resume", (state, query) => (query === "" ? openSessions(state) : step(state, { type: "switch", query })), { keys: ["space s"] }),
  typed("tree", openTree, { keys: ["space t"] }),
  typed(
    "switch",
    actions.needsArgument("switch", (query) => ({ type: "switch", query })),
  ),
  typed(
    "rename",
    actions.needsArgument("rename", (name) => ({ type: "rename", name })),
  ),
  typed("race", actions.startRace),
  typed("loop", actions.startLoop),
  typed("check", (state, command) => step(state, { type: "check", command: command === "off" ? null : command })),
  typed("agents", openAgents, { keys: ["space a"] }),
  typed("watch", watchFocused, { keys: ["O"] }),
  typed("find", (state, words) => step(beginSearch(state, words)), { keys: ["/"], plain: ["ctrl+f"] }),
  typed("compact", actions.compact),
  typed("diff", actions.openReport("diff")),
  typed("undo", actions.effectOnly("undo")),
  typed("redo", actions.effectOnly("redo")),
  typed("review", actions.sendPrompt(reviewPrompt)),
  typed("init", actions.sendPrompt(initPrompt)),
  typed("copy", actions.copyAnswer),
  typed("export", (state, file) => step(state, { type: "export", file })),
  typed("context", actions.openReport("context")),
  typed("login", actions.openReport("login")),
  typed("mcp", actions.openReport("mcp")),
  typed("cost", actions.openCosts),
  typed("budget", actions.setBudget, { keys: ["space b"] }),
  typed("plan", actions.togglePlanning, { keys: ["space p"] }),
  typed("exec", actions.executePlan, { keys: ["space x"] }),
  typed("edit-plan", actions.effectOnly("edit plan"), { keys: ["ctrl+g", "space e"], everywhere: true, plain: [] }),
  typed("steps", actions.effectOnly("show plan"), { keys: ["space P"] }),
  typed("edit", actions.editPrompt, { keys: ["v"], plain: ["ctrl+g"] }),
  typed("history", actions.openHistory, { keys: ["ctrl+r"], everywhere: true }),
  typed("asks", showAsks, { keys: ["tab", "space q"], plain: [] }),
  typed("cancel", actions.cancel),
  typed("continue", actions.continueTurn),
  typed("hub", actions.effectOnly("hub")),
  typed("suspend", actions.effectOnly("suspend"), { keys: ["ctrl+z"], everywhere: true }),
  typed("quit", actions.quit),
  typed("queue", actions.queueMessage),
];
