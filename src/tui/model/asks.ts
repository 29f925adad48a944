// Questions of agents: which one gets the keys, how a key changes the answer, and postponing. Pure.
// A postponed question stays open, and the status bar shows it.
import { emptyEditLine, insertText } from "../../kit/text/line-edit.ts";
import type { Ask } from "../../protocol/api/control.ts";
import { applyEditKey } from "../keys/edit-keys.ts";
import { scrollPage } from "./scroll.ts";
import { noAskFocus, step, withNotice, type Key, type State, type UpdateResult } from "./state.ts";

/** The question that gets the keys. Until the user selects it, it gets them only while the prompt is empty. */
export function focusedAsk(state: State): Ask | null {
  return state.askFocus.isPostponed ? null : isPromptFree(state) || state.askFocus.isSelected ? (state.asks[0] ?? null) : null;
}

/** The question that waits while keys go to a message, a command or the transcript. */
export function waitingAsk(state: State): Ask | null {
  return state.askFocus.isPostponed || focusedAsk(state) !== null ? null : (state.asks[0] ?? null);
}

function isPromptFree({ mode, draft, leader }: State): boolean {
  return mode === "insert" && draft.text === "" && leader === null;
}

export function isTypingAnswer({ askFocus }: State, { options }: Ask): boolean {
  return options.length === 0 || askFocus.option === options.length;
}

const moves: Record<string, number> = { down: 1, "ctrl+n": 1, up: -1, "ctrl+p": -1 };
const movesInList: Record<string, number> = { ...moves, j: 1, k: -1 };
const pages: Record<string, number> = { pagedown: 1, pageup: -1 };

export function handleAskKey(state: State, ask: Ask, key: Key): UpdateResult {
  const typedOption = ask.options.length;
  const { option } = state.askFocus;
  const isTyping = isTypingAnswer(state, ask);
  const delta = (isTyping ? moves : movesInList)[key.name];
  const page = pages[key.name];
  if (key.name === "enter") return answer(state, ask);
  if (key.name === "escape") return step(postpone(state));
  if (key.name === "tab") return step(nextAsk(state));
  if (page !== undefined) return step(scrollPage(state, page));
  if (delta !== undefined) return step(withOption(state, Math.max(0, Math.min(typedOption, option + delta))));
  const number = !isTyping && typedOption < 10 && /^[1-9]$/.test(key.name) ? Number(key.name) : null;
  if (number !== null && number <= typedOption) return step(withOption(state, number - 1));
  const edited = applyEditKey(state.answer, key);
  return step(edited.text === state.answer.text && !isTyping ? state : { ...withOption(state, typedOption), answer: edited });
}

export function handleAskPaste(state: State, ask: Ask, text: string): State {
  return { ...withOption(state, ask.options.length), answer: insertText(state.answer, text) };
}

function answer(state: State, ask: Ask): UpdateResult {
  const { option } = state.askFocus;
  if (option < 0 && ask.options.length > 0) return step(withNotice(state, "choose an answer with j, k or its number, or type one"));
  const text = isTypingAnswer(state, ask) ? state.answer.text.trim() : String(option + 1);
  return text === "" ? step(state) : step(state, { type: "answer", ask: ask.id, text });
}

function withOption(state: State, option: number): State {
  return { ...state, askFocus: { ...state.askFocus, option } };
}

function postpone(state: State): State {
  return withNotice(
    { ...state, askFocus: { ...state.askFocus, isPostponed: true } },
    "the question stays open; press Space q to show it again",
  );
}

function nextAsk(state: State): State {
  const [first, ...others] = state.asks;
  if (first === undefined || others.length === 0) return state;
  return { ...state, asks: [...others, first], answer: emptyEditLine, askFocus: selectedFocus };
}

const selectedFocus = { ...noAskFocus, isSelected: true };

/** Adds a question behind the current one. Postponed questions are shown again with it. */
export function withAsk(state: State, ask: Ask): State {
  const others = state.asks.filter(({ id }) => id !== ask.id);
  if (others.length === 0) return { ...state, asks: [ask], answer: emptyEditLine, askFocus: noAskFocus };
  const { askFocus } = state;
  return {
    ...state,
    asks: [...others, ask],
    askFocus: askFocus.isPostponed ? { ...askFocus, isPostponed: false, isSelected: false } : askFocus,
  };
}

/** Puts a question first, to be answered now. */
export function withFocusedAsk(state: State, ask: Ask): State {
  return { ...state, asks: [ask, ...state.asks.filter(({ id }) => id !== ask.id)], answer: emptyEditLine, askFocus: selectedFocus };
}

export function withoutAsk(state: State, id: string): State {
  const asks = state.asks.filter((ask) => ask.id !== id);
  return { ...state, ...withAsks(state, asks) };
}

/** Replaces all questions. The typed answer is dropped if its question is gone. */
export function withAsks(state: State, asks: readonly Ask[]): Pick<State, "asks" | "answer" | "askFocus"> {
  if (asks[0]?.id === state.asks[0]?.id) return { asks, answer: state.answer, askFocus: state.askFocus };
  return {
    asks,
    answer: emptyEditLine,
    askFocus: asks.length === 0 ? noAskFocus : { ...noAskFocus, isPostponed: state.askFocus.isPostponed },
  };
}

export function showAsks(state: State): UpdateResult {
  if (state.asks.length === 0) return step(state, { type: "list asks" });
  return step({ ...state, overlay: null, askFocus: { ...state.askFocus, isPostponed: false, isSelected: true } });
}
