// What a key does, by mode. Overlays come first, then Ctrl+C and Esc, then the leader, then the mode.
import { emptyEditLine, insertText } from "../../kit/text/line-edit.ts";
import { oneLine } from "../../kit/text/cut-text.ts";
import { focusedAsk, handleAskKey } from "./asks.ts";
import { isMenuKey } from "../composer/menu.ts";
import { typeKey } from "../composer/type.ts";
import { continueTurn } from "../keys/commands.ts";
import { applyEditKey, isEditKey } from "../keys/edit-keys.ts";
import { quit } from "./quit.ts";
import { beginsPair, commandEverywhere, commandOfKey, commandOfLeader, commandOfWord, completedWord } from "../keys/keymap.ts";
import { goBack } from "../overlays/agents.ts";
import { handleOverlayKey } from "../overlays/index.ts";
import { searchKey } from "../search/search.ts";
import { step, withNotice, type Key, type State, type UpdateResult } from "./state.ts";

export const whichKeyAfterMs = 200;
export const leaderEndsAfterMs = 1000;
const quitWithinMs = 2000;

export function pressKey(before: State, key: Key, at: number): UpdateResult {
  const behindEsc = keyBehindEsc(before, key);
  if (behindEsc !== null) {
    const left = pressKey(before, { name: "escape", text: "" }, at);
    const next = pressKey(left.state, behindEsc, at);
    return step(next.state, ...left.effects, ...next.effects);
  }
  const state = { ...before, notice: null };
  if (key.name === "ctrl+c") return stopOrQuit(state, at);
  const command = commandOfKey(state.bindings, key.name);
  if (command?.name === "redraw") return command.run(state, "");
  if (state.overlay !== null) return handleOverlayKey(state, state.overlay, key);
  const ask = focusedAsk(state);
  if (ask !== null) return handleAskKey(state, ask, key);
  if (state.leader !== null) return afterLeader(state, key, at);
  if (isMenuKey(state, key)) return typeKey(state, key);
  if (state.mode === "search" && state.search !== null) return searchKey(state, state.search, key);
  if (key.name === "escape") return leaveOrStop(state);
  if (key.name === "space" && (state.mode === "normal" || (state.mode === "insert" && state.draft.text === "")))
    return step(
      { ...state, leader: { since: at, isShown: false } },
      { type: "wake", afterMs: whichKeyAfterMs },
      { type: "wake", afterMs: leaderEndsAfterMs },
    );
  if (state.mode === "normal") return normalKey(state, key);
  const everywhere = commandEverywhere(state.bindings, key.name);
  if (everywhere !== undefined) return everywhere.run(state, "");
  return state.mode === "command" ? commandKey(state, key) : typeKey(state, key);
}

/** A terminal sends Alt and a key as Esc and that key: where Alt means nothing, they were pressed fast. In Normal mode Esc stops the turn. */
function keyBehindEsc({ mode, overlay }: State, { name }: Key): Key | null {
  if (!name.startsWith("alt+") || isEditKey(name) || (mode === "normal" && overlay === null)) return null;
  const behind = name.slice("alt+".length);
  return { name: behind, text: behind === "space" ? " " : Array.from(behind).length === 1 ? behind : "" };
}

function stopOrQuit(state: State, at: number): UpdateResult {
  if (state.stoppedAt !== null && at - state.stoppedAt <= quitWithinMs) return quit({ ...state, stoppedAt: at });
  const stopped = { ...state, stoppedAt: at, leader: null };
  const { session } = state;
  if (state.activity === null || session === null) return step(withNotice(stopped, "Ctrl+C again leaves"));
  if (state.runner !== null)
    return step(withNotice(stopped, `another process runs it (${state.runner}): Ctrl+C again leaves, :cancel stops it`));
  return step(withNotice({ ...stopped, activity: "stopping" }, "stopping the turn; Ctrl+C again leaves"), {
    type: "cancel",
    session: session.id,
  });
}

/** In Normal mode, with nothing left to leave, Esc goes back from a visit, or stops the turn. */
function leaveOrStop(state: State): UpdateResult {
  const { session, activity, search } = state;
  if (state.mode === "normal" && search?.isShown === true) return step({ ...leaveMode(state), search: { ...search, isShown: false } });
  const isRunning = session !== null && activity !== null && activity !== "stopping";
  if (state.mode !== "normal" || state.focus !== null || state.pending !== null) return step(leaveMode(state));
  if (state.visit !== null) return goBack(state);
  if (!isRunning) return step(leaveMode(state));
  if (state.runner !== null) return step(withNotice(state, `another process runs it (${state.runner}): :cancel stops it`));
  return step(withNotice({ ...state, activity: "stopping" }, "stopping the turn"), { type: "cancel", session: session.id });
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

/** The leader's second key. On a prompt, what means nothing was typed: the space, too. */
function afterLeader(state: State, key: Key, at: number): UpdateResult {
  const { leader } = state;
  const isLate = leader !== null && at - leader.since >= leaderEndsAfterMs;
  const command = isLate ? undefined : commandOfLeader(state.bindings, key.name);
  if (command !== undefined) return command.run({ ...state, leader: null }, "");
  if (key.name === "escape") return step({ ...state, leader: null });
  const ended = endLeader(state);
  return state.mode === "normal" ? step(ended) : pressKey(ended, key, at);
}

export function endLeader(state: State): State {
  if (state.leader === null) return state;
  const draft = state.mode === "insert" ? insertText(state.draft, " ") : state.draft;
  return { ...state, leader: null, draft };
}

export function leaderTick(state: State, at: number): State {
  if (state.leader === null) return state;
  const passed = at - state.leader.since;
  if (passed >= leaderEndsAfterMs) return endLeader(state);
  return passed >= whichKeyAfterMs ? { ...state, leader: { ...state.leader, isShown: true } } : state;
}

function normalKey(state: State, key: Key): UpdateResult {
  if (key.name === "enter" && state.focus === null && state.isInterrupted) return continueTurn(state);
  const name = state.pending === null ? key.name : state.pending + key.name;
  const next = { ...state, pending: null };
  const command = commandOfKey(state.bindings, name);
  if (command !== undefined) return command.run(next, "");
  return step(state.pending === null && beginsPair(state.bindings, key.name) ? { ...state, pending: key.name } : next);
}

function commandKey(state: State, key: Key): UpdateResult {
  if (key.name === "backspace" && state.commandLine.text === "") return step(leaveMode(state));
  if (key.name === "tab") return step(completeCommand(state));
  if (key.name !== "enter") return step({ ...state, commandLine: applyEditKey(state.commandLine, key) });
  const [word = "", ...rest] = state.commandLine.text.trim().split(/\s+/);
  const left = leaveMode(state);
  if (word === "") return step(left);
  const command = commandOfWord(word);
  if ("run" in command) return command.run(left, rest.join(" "));
  return step(
    withNotice(left, `no command :${word}${command.near === null ? "; :help lists them" : `; did you mean :${command.near}?`}`, "error"),
  );
}

function completeCommand(state: State): State {
  const { text: word } = state.commandLine;
  if (/\s/.test(word)) return state;
  const { text, fitting } = completedWord(word);
  const completed = { ...state, commandLine: { text, cursor: text.length } };
  if (fitting.length === 0) return withNotice(state, `no command begins with :${word}`);
  return fitting.length === 1 || text !== word ? completed : withNotice(completed, oneLine(fitting.join(", "), 300));
}
