// Updates the state by a key. In order: Ctrl+C, the overlay, a question, the leader, Esc, then the mode. Pure.
import { emptyEditLine, insertText } from "../../kit/text/line-edit.ts";
import { oneLine } from "../../kit/text/cut-text.ts";
import { focusedAsk, handleAskKey } from "./asks.ts";
import { isMenuKey } from "../composer/menu.ts";
import { typeKey } from "../composer/type.ts";
import { continueTurn, quit } from "../keys/commands.ts";
import { applyEditKey, isEditKey } from "../keys/edit-keys.ts";
import { startsPair, commandEverywhere, commandOfKey, commandOfWord, completeCommandName } from "../keys/keymap.ts";
import { goBack } from "../overlays/agents.ts";
import { handleOverlayKey } from "../overlays/index.ts";
import { searchKey } from "../search/search.ts";
import { step, withNotice, type Key, type State, type UpdateResult } from "./state.ts";

const leaderMenuAfterMs = 200;
const leaderEndsAfterMs = 1000;
const leaderCancelled = "Space cancelled";
const quitWithinMs = 2000;

export function pressKey(before: State, key: Key, now: number): UpdateResult {
  const keyAfterEsc = splitAltKey(before, key);
  if (keyAfterEsc !== null) {
    const escaped = pressKey(before, { name: "escape", text: "" }, now);
    const next = pressKey(escaped.state, keyAfterEsc, now);
    return step(next.state, ...escaped.effects, ...next.effects);
  }
  const state = { ...before, notice: null };
  if (key.name === "ctrl+c") return stopOrQuit(state, now);
  const command = commandOfKey(state.bindings, key.name);
  if (command?.name === "redraw") return command.run(state, "");
  if (state.overlay !== null) return handleOverlayKey(state, state.overlay, key);
  const ask = focusedAsk(state);
  if (ask !== null) return handleAskKey(state, ask, key);
  if (state.leader !== null) return afterLeader(state, key, now);
  if (isMenuKey(state, key)) return typeKey(state, key);
  if (state.mode === "search" && state.search !== null) return searchKey(state, state.search, key);
  if (key.name === "escape") return leaveOrStop(state);
  if (key.name === "space" && (state.mode === "normal" || (state.mode === "insert" && state.unsent.text === "")))
    return step(
      { ...state, leader: { since: now, isShown: false } },
      { type: "wake", afterMs: leaderMenuAfterMs },
      { type: "wake", afterMs: leaderEndsAfterMs },
    );
  if (state.mode === "normal") return normalKey(state, key);
  const globalCommand = commandEverywhere(state.bindings, key.name);
  if (globalCommand !== undefined) return globalCommand.run(state, "");
  return state.mode === "command" ? commandKey(state, key) : typeKey(state, key);
}

/**
 * The key after Esc, if an Alt key may be Esc and a key pressed fast. A terminal sends both in the same way.
 * Null in Normal mode, where Esc would stop the turn.
 */
function splitAltKey({ mode, overlay }: State, { name }: Key): Key | null {
  if (!name.startsWith("alt+") || isEditKey(name) || (mode === "normal" && overlay === null)) return null;
  const plainName = name.slice("alt+".length);
  return { name: plainName, text: plainName === "space" ? " " : Array.from(plainName).length === 1 ? plainName : "" };
}

function stopOrQuit(state: State, now: number): UpdateResult {
  if (state.stoppedAt !== null && now - state.stoppedAt <= quitWithinMs) return quit({ ...state, stoppedAt: now });
  const stopped = { ...state, stoppedAt: now, leader: null };
  if (state.activity === null || state.session === null) return step(withNotice(stopped, "press Ctrl+C again to quit"));
  return stopTurn(stopped, state.session.id, "; Ctrl+C again quits");
}

/** Stops the turn, unless another process runs it. */
function stopTurn(state: State, session: string, hint: string): UpdateResult {
  if (state.runner !== null) return step(withNotice(state, `runs in another process (${state.runner}): :cancel stops it${hint}`));
  return step(withNotice({ ...state, activity: "stopping" }, `stopping the turn${hint}`), { type: "cancel", session });
}

/** Esc leaves a mode, a search or a focus. In Normal mode without these it ends a visit, or stops the turn. */
function leaveOrStop(state: State): UpdateResult {
  const { session, activity, search } = state;
  if (state.mode === "normal" && search?.isShown === true) return step({ ...leaveMode(state), search: { ...search, isShown: false } });
  if (state.mode !== "normal" || state.focus !== null || state.pending !== null) return step(leaveMode(state));
  if (state.visit !== null) return goBack(state);
  const isRunning = activity !== null && activity !== "stopping";
  return session !== null && isRunning ? stopTurn(state, session.id, "") : step(leaveMode(state));
}

function leaveMode(state: State): State {
  return {
    ...state,
    mode: "normal",
    isInterrupted: false,
    focus: state.mode === "normal" ? null : state.focus,
    pending: null,
    commandLine: emptyEditLine,
  };
}

/** Handles the key after Space. In a prompt, a key without a command is typed, and the space before it too. */
function afterLeader(state: State, key: Key, now: number): UpdateResult {
  const { leader } = state;
  const isLate = leader !== null && now - leader.since >= leaderEndsAfterMs;
  const command = isLate ? undefined : commandOfKey(state.bindings, `space ${key.name}`);
  if (command !== undefined) return command.run({ ...state, leader: null }, "");
  if (key.name === "escape") return step(withNotice({ ...state, leader: null }, leaderCancelled));
  const ended = endLeader(state);
  if (state.mode !== "normal") return pressKey(ended, key, now);
  return step(withNotice(ended, isLate ? leaderCancelled : `${leaderCancelled}: no command for Space ${key.name}`));
}

export function endLeader(state: State): State {
  if (state.leader === null) return state;
  const unsent = state.mode === "insert" ? insertText(state.unsent, " ") : state.unsent;
  return { ...state, leader: null, unsent };
}

export function leaderTick(state: State, now: number): State {
  if (state.leader === null) return state;
  const elapsedMs = now - state.leader.since;
  if (elapsedMs >= leaderEndsAfterMs) return withNotice(endLeader(state), leaderCancelled);
  return elapsedMs >= leaderMenuAfterMs ? { ...state, leader: { ...state.leader, isShown: true } } : state;
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
