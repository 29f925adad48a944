// Questions of agents: which one gets the keys, how a key changes the answer, and postponing. Pure.
// A postponed question stays open, and the status bar shows it.
import { emptyEditLine, insertText } from "../../kit/text/line-edit.ts";
import type { Ask } from "../../protocol/api/control.ts";
import { applyEditKey } from "../keys/edit-keys.ts";
import { scrollPage } from "./scroll.ts";
import { noAskFocus, step, withNotice, type AskFocus, type Key, type State, type UpdateResult } from "./state.ts";

/** The question that gets the keys. Until the user selects it, it gets them only while the prompt is empty. */
export function focusedAsk({ asks, askFocus, mode, unsent, leader }: State): Ask | null {
  const isPromptFree = mode === "insert" && unsent.text === "" && leader === null;
  return !askFocus.isPostponed && (isPromptFree || askFocus.isSelected) ? (asks[0] ?? null) : null;
}

/** The question that waits while keys go to a message, a command or the transcript. */
export function waitingAsk(state: State): Ask | null {
  return state.askFocus.isPostponed || focusedAsk(state) !== null ? null : (state.asks[0] ?? null);
}

export function isTypingAnswer({ askFocus }: State, { options }: Ask): boolean {
  return options.length === 0 || askFocus.option === options.length;
}

const moves: Record<string, number> = { down: 1, "ctrl+n": 1, up: -1, "ctrl+p": -1 };
const pages: Record<string, number> = { pagedown: 1, pageup: -1 };

export function handleAskKey(state: State, ask: Ask, key: Key): UpdateResult {
  const typedOption = ask.options.length;
  const { option, line } = state.askFocus;
  const isTyping = isTypingAnswer(state, ask);
  const delta = moves[key.name];
  const page = pages[key.name];
  if (key.name === "enter") return answer(state, ask);
  if (key.name === "escape")
    return step(withNotice(withFocus(state, { isPostponed: true }), `the question stays open; ${againText(state)} shows it again`));
  if (key.name === "tab") return step(nextAsk(state));
  if (page !== undefined) return step(scrollPage(state, page));
  if (delta !== undefined) {
    const moved = Math.max(0, Math.min(typedOption, option + delta));
    // A number that chose an option is no typed answer.
    return step(withFocus(state, { option: moved, line: isTyping ? line : emptyEditLine }));
  }
  const edited = applyEditKey(line, key);
  if (edited.text === line.text && !isTyping) return step(state);
  const number = typedOption < 10 && /^[1-9]$/.test(edited.text) ? Number(edited.text) : null;
  if (number !== null && number <= typedOption && !isTyping) return step(withFocus(state, { option: number - 1, line: edited }));
  return step(withFocus(state, { option: edited.text === "" && !isTyping ? option : typedOption, line: edited }));
}

function againText({ bindings }: State): string {
  return bindings.preset === "vi" ? "Space q" : "Tab";
}

export function handleAskPaste(state: State, ask: Ask, text: string): State {
  return withFocus(state, { option: ask.options.length, line: insertText(state.askFocus.line, text) });
}

function answer(state: State, ask: Ask): UpdateResult {
  const { option, line } = state.askFocus;
  const text = isTypingAnswer(state, ask) ? line.text.trim() : String(option + 1);
  return text === "" ? step(state) : step(state, { type: "answer", ask: ask.id, text });
}

function withFocus(state: State, change: Partial<AskFocus>): State {
  return { ...state, askFocus: { ...state.askFocus, ...change } };
}

function nextAsk(state: State): State {
  const [first, ...others] = state.asks;
  if (first === undefined || others.length === 0) return state;
  return { ...state, asks: [...others, first], askFocus: selectedFocus };
}

const selectedFocus = { ...noAskFocus, isSelected: true };

/** Adds a question behind the current one. Postponed questions are shown again with it. */
export function withAsk(state: State, ask: Ask): State {
  const others = state.asks.filter(({ id }) => id !== ask.id);
  if (others.length === 0) return { ...state, asks: [ask], askFocus: noAskFocus };
  const next = { ...state, asks: [...others, ask] };
  return state.askFocus.isPostponed ? withFocus(next, { isPostponed: false, isSelected: false }) : next;
}

/** Puts a question first, to be answered now. */
export function withFocusedAsk(state: State, ask: Ask): State {
  return { ...state, asks: [ask, ...state.asks.filter(({ id }) => id !== ask.id)], askFocus: selectedFocus };
}

export function withoutAsk(state: State, id: string): State {
  const others = state.asks.filter((ask) => ask.id !== id);
  return withAsks(state, others);
}

/** Replaces all questions. The typed answer is dropped if its question is gone. */
export function withAsks(state: State, asks: readonly Ask[]): State {
  if (asks[0]?.id === state.asks[0]?.id) return { ...state, asks };
  return { ...state, asks, askFocus: { ...noAskFocus, isPostponed: asks.length > 0 && state.askFocus.isPostponed } };
}

export function showAsks(state: State): UpdateResult {
  if (state.asks.length === 0) return step(state, { type: "list asks" });
  return step(withFocus({ ...state, overlay: null }, { isPostponed: false, isSelected: true }));
}
