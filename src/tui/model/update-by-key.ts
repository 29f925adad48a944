// Updates the state by a key. In order: Ctrl+C, the overlay, a question, the leader, Esc, then the mode. Pure.
import { emptyEditLine, insertText } from "../../kit/text/line-edit.ts";
import { oneLine } from "../../kit/text/cut-text.ts";
import { focusedAsk, handleAskKey, showAsks } from "./asks.ts";
import { isMenuKey } from "../composer/menu.ts";
import { setUnsent, typeKey } from "../composer/type.ts";
import { continueTurn, enterBlock, quit } from "../keys/command-actions.ts";
import { applyEditKey, isEditKey } from "../keys/edit-keys.ts";
import { startsPair, commandEverywhere, commandOfKey, commandOfWord, completeCommandName } from "../keys/keymap.ts";
import { hintFor } from "../keys/hint.ts";
import { leaveVisit } from "../overlays/agents.ts";
import { goBack, hasEarlierMessages } from "../overlays/back.ts";
import { handleOverlayKey } from "../overlays/index.ts";
import { searchKey } from "../search/search.ts";
import { step, withNotice, type Key, type State, type UpdateResult } from "./state.ts";

const leaderMenuAfterMs = 200;
const leaderCancelled = "Space cancelled";
const quitWithinMs = 2000;

export function pressKey(before: State, key: Key, now: number): UpdateResult {
  const keyAfterEsc = splitAltKey(before, key);
  if (keyAfterEsc !== null) {
    const escaped = pressKey(before, { name: "escape", text: "" }, now);
    const next = pressKey(escaped.state, keyAfterEsc, now);
    return step(next.state, ...escaped.effects, ...next.effects);
  }
  const state = { ...before, notice: null, hasEscaped: false };
  if (key.name === "ctrl+c") return stopOrQuit(state, now);
  const command = commandOfKey(state.bindings, key.name);
  if (command?.name === "redraw") return command.run(state, "");
  if (state.overlay !== null) return handleOverlayKey(state, state.overlay, key);
  const ask = focusedAsk(state);
  if (ask !== null) return handleAskKey(state, ask, key);
  if (state.leader !== null) return afterLeader(state, key, now);
  if (isMenuKey(state, key)) return typeKey(state, key);
  if (state.mode === "search" && state.search !== null) return searchKey(state, state.search, key);
  if (key.name === "escape") return leaveOrStop(state, before.hasEscaped);
  if (isLeaderKey(state, key))
    return step({ ...state, leader: { since: now, isShown: false } }, { type: "wake", afterMs: leaderMenuAfterMs });
  if (state.mode === "normal") return normalKey(state, key);
  if (state.mode === "insert" && state.unsent.text === "") {
    if (key.name === "ctrl+d") return quit(state);
    if (state.bindings.preset === "plain" && key.name === "enter" && state.focus !== null) return enterBlock(state);
    if (state.bindings.preset === "plain" && key.name === "tab" && state.asks.length > 0) return showAsks(state);
  }
  const globalCommand = commandEverywhere(state.bindings, key.name);
  if (globalCommand !== undefined) return globalCommand.run(state, "");
  if (state.mode === "command") return commandKey(state, key);
  return typeKey(key.text === "" ? state : { ...state, focus: null }, key);
}

function isLeaderKey({ bindings, mode, unsent }: State, { name }: Key): boolean {
  return bindings.preset === "vi" && name === "space" && (mode === "normal" || (mode === "insert" && unsent.text === ""));
}

/**
 * The key after Esc, if an Alt key may be Esc and a key pressed fast. A terminal sends both in the same way.
 * Null in Normal mode, where Esc would stop the turn, unless both keys are Esc.
 */
function splitAltKey({ mode, overlay, bindings }: State, { name }: Key): Key | null {
  if (name === "alt+escape") return { name: "escape", text: "" };
  if (!name.startsWith("alt+") || isEditKey(name) || (mode === "normal" && overlay === null)) return null;
  if (overlay === null && commandEverywhere(bindings, name) !== undefined) return null;
  const plainName = name.slice("alt+".length);
  return { name: plainName, text: plainName === "space" ? " " : Array.from(plainName).length === 1 ? plainName : "" };
}

/** Ctrl+C clears the message, then stops the turn, then quits. */
function stopOrQuit(state: State, now: number): UpdateResult {
  const isTyping = state.mode === "insert" && state.overlay === null && focusedAsk(state) === null;
  if (isTyping && state.unsent.text.trim() !== "")
    return setUnsent(withNotice(state, "cleared the message; Ctrl+_ brings it back"), emptyEditLine);
  if (state.stoppedAt !== null && now - state.stoppedAt <= quitWithinMs) return quit({ ...state, stoppedAt: now });
  const stopped = { ...state, stoppedAt: now, leader: null };
  if (state.activity === null || state.session === null) return step(withNotice(stopped, "press Ctrl+C again to quit"));
  return stopTurn(stopped, state.session.id, "; Ctrl+C again quits");
}

/** Stops the turn, unless another process runs it. */
function stopTurn(state: State, session: string, hint: string): UpdateResult {
  const { runner, bindings } = state;
  if (runner !== null)
    return step(withNotice(state, `runs in another process (${runner}): ${hintFor(bindings, "cancel")} stops it${hint}`));
  return step(withNotice({ ...state, activity: "stopping" }, `stopping the turn${hint}`), { type: "cancel", session });
}

/** Esc leaves a mode, a search, a focus or a visit. Without these it stops the turn. Without a turn, a second Esc goes back. */
function leaveOrStop(state: State, hasEscaped: boolean): UpdateResult {
  const { session, activity, search } = state;
  const baseMode = baseModeOf(state);
  const isRunning = activity !== null && activity !== "stopping";
  if (state.mode === baseMode && search?.isShown === true) return step({ ...leaveMode(state), search: { ...search, isShown: false } });
  if (state.mode !== baseMode)
    return step(isRunning ? withNotice(leaveMode(state), "Normal mode: Esc again stops the turn, i types") : leaveMode(state));
  if (state.focus !== null || state.pending !== null || (state.isInterrupted && !isRunning)) return step(leaveMode(state));
  if (state.visit !== null) return leaveVisit(state);
  if (isRunning)
    return session === null ? step(withNotice(state, "the turn is starting; press Esc again to stop it")) : stopTurn(state, session.id, "");
  if (activity !== null) return step(withNotice(state, "stopping the turn"));
  if (hasEscaped) return goBack(state);
  return hasEarlierMessages(state)
    ? step(withNotice({ ...state, hasEscaped: true }, "press Esc again to go back to an earlier message"))
    : step(leaveMode(state));
}

/** The mode without a name of its own: Normal mode with the vi preset, typing with the plain one. */
export function baseModeOf({ bindings }: Pick<State, "bindings">): State["mode"] {
  return bindings.preset === "vi" ? "normal" : "insert";
}

function leaveMode(state: State): State {
  const baseMode = baseModeOf(state);
  return {
    ...state,
    mode: baseMode,
    isInterrupted: false,
    focus: state.mode === baseMode ? null : state.focus,
    pending: null,
    commandLine: emptyEditLine,
  };
}

/**
 * Handles the key after Space. Before the menu is drawn, a key without a command is typed, and the space before it too.
 * Once the menu is drawn, it stays until a key, and types nothing.
 */
function afterLeader(state: State, key: Key, now: number): UpdateResult {
  const isShown = state.leader?.isShown === true;
  const command = commandOfKey(state.bindings, `space ${key.name}`);
  if (command !== undefined) return command.run({ ...state, leader: null }, "");
  const ended = endLeader(state);
  if (key.name === "escape") return step(withNotice({ ...state, leader: null }, leaderCancelled));
  if (state.mode !== "normal" && !isShown) return pressKey(ended, key, now);
  return step(withNotice(ended, `${leaderCancelled}: no command for Space ${key.name}`));
}

export function endLeader(state: State): State {
  const { leader, mode, unsent } = state;
  if (leader === null) return state;
  return { ...state, leader: null, unsent: mode === "insert" && !leader.isShown ? insertText(unsent, " ") : unsent };
}

export function leaderTick(state: State, now: number): State {
  if (state.leader === null || now - state.leader.since < leaderMenuAfterMs) return state;
  return { ...state, leader: { ...state.leader, isShown: true } };
}

function normalKey(state: State, key: Key): UpdateResult {
  if (key.name === "enter" && state.focus === null && state.isInterrupted) return continueTurn(state);
  const name = state.pending === null ? key.name : state.pending + key.name;
  const next = { ...state, pending: null };
  const command = commandOfKey(state.bindings, name);
  if (command !== undefined) return command.run(next, "");
  return step(state.pending === null && startsPair(state.bindings, key.name) ? { ...state, pending: key.name } : next);
}

function commandKey(state: State, key: Key): UpdateResult {
  if (key.name === "backspace" && state.commandLine.text === "") return step(leaveMode(state));
  if (key.name === "tab") return step(completeCommand(state));
  if (key.name !== "enter") return step({ ...state, commandLine: applyEditKey(state.commandLine, key) });
  const [word = "", ...args] = state.commandLine.text.trim().split(/\s+/);
  const next = leaveMode(state);
  if (word === "") return step(next);
  const command = commandOfWord(word);
  if ("run" in command) return command.run(next, args.join(" "));
  const hint = command.nearest === null ? ":help lists all commands" : `did you mean :${command.nearest}?`;
  return step(withNotice(next, `no command :${word}; ${hint}`, "error"));
}

function completeCommand(state: State): State {
  const { text: word } = state.commandLine;
  if (/\s/.test(word)) return state;
  const { text, matches } = completeCommandName(word);
  const completed = { ...state, commandLine: { text, cursor: text.length } };
  if (matches.length === 0) return withNotice(state, `no command begins with :${word}`);
  return matches.length === 1 || text !== word ? completed : withNotice(completed, oneLine(matches.join(", "), 300));
}
