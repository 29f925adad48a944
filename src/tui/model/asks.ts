// Questions of agents on the screen: which one is answered, what a key makes of the answer, and how it is put off. A
// question that is put off stays open, and the status bar says so.
import { emptyEditLine, insertText } from "../../kit/text/line-edit.ts";
import type { Ask } from "../../protocol/api/control.ts";
import { applyEditKey } from "../keys/edit-keys.ts";
import { scrollPage } from "./scroll.ts";
import { noAskFocus, step, withNotice, type Key, type State, type UpdateResult } from "./state.ts";

/** The question that takes the keys. One that comes by itself only takes those of an empty prompt, and Enter once an answer is chosen. */
export function focusedAsk(state: State): Ask | null {
  return state.asking.isPutOff ? null : isPromptFree(state) || state.asking.isTakenUp ? (state.asks[0] ?? null) : null;
}

/** The question that waits while keys are for something else: a message, a command, the transcript. */
export function waitingAsk(state: State): Ask | null {
  return state.asking.isPutOff || focusedAsk(state) !== null ? null : (state.asks[0] ?? null);
}

function isPromptFree({ mode, draft, leader }: State): boolean {
  return mode === "insert" && draft.text === "" && leader === null;
}

export function isTypingAnswer({ asking }: State, { options }: Ask): boolean {
  return options.length === 0 || asking.at === options.length;
}

const moves: Record<string, number> = { down: 1, "ctrl+n": 1, up: -1, "ctrl+p": -1 };
const movesInList: Record<string, number> = { ...moves, j: 1, k: -1 };
const pages: Record<string, number> = { pagedown: 1, pageup: -1 };

export function handleAskKey(state: State, ask: Ask, key: Key): UpdateResult {
  const last = ask.options.length;
  const { at } = state.asking;
  const isTyping = isTypingAnswer(state, ask);
  const by = (isTyping ? moves : movesInList)[key.name];
  const page = pages[key.name];
  if (key.name === "enter") return answer(state, ask);
  if (key.name === "escape") return step(putOff(state));
  if (key.name === "tab") return step(nextAsk(state));
  if (page !== undefined) return step(scrollPage(state, page));
  if (by !== undefined) return step(choosing(state, Math.max(0, Math.min(last, at + by))));
  const number = !isTyping && last < 10 && /^[1-9]$/.test(key.name) ? Number(key.name) : null;
  if (number !== null && number <= last) return step(choosing(state, number - 1));
  const typed = applyEditKey(state.answer, key);
  return step(typed.text === state.answer.text && !isTyping ? state : { ...choosing(state, last), answer: typed });
}

export function handleAskPaste(state: State, ask: Ask, text: string): State {
  return { ...choosing(state, ask.options.length), answer: insertText(state.answer, text) };
}

function answer(state: State, ask: Ask): UpdateResult {
  const { at } = state.asking;
  if (at < 0 && ask.options.length > 0) return step(withNotice(state, "choose first: j, k or its number, or type an answer"));
  const text = isTypingAnswer(state, ask) ? state.answer.text.trim() : String(at + 1);
  return text === "" ? step(state) : step(state, { type: "answer", ask: ask.id, text });
}

function choosing(state: State, at: number): State {
  return { ...state, asking: { ...state.asking, at } };
}

function putOff(state: State): State {
  return withNotice({ ...state, asking: { ...state.asking, isPutOff: true } }, "the question stays open; Space q shows it again");
}

function nextAsk(state: State): State {
  const [first, ...others] = state.asks;
  if (first === undefined || others.length === 0) return state;
  return { ...state, asks: [...others, first], answer: emptyEditLine, asking: takenUp };
}

const takenUp = { ...noAskFocus, isTakenUp: true };

/** One more; what is being answered stays in front. What was put off comes back with it. */
export function withAsk(state: State, ask: Ask): State {
  const others = state.asks.filter(({ id }) => id !== ask.id);
  if (others.length === 0) return { ...state, asks: [ask], answer: emptyEditLine, asking: noAskFocus };
  const { asking } = state;
  return { ...state, asks: [...others, ask], asking: asking.isPutOff ? { ...asking, isPutOff: false, isTakenUp: false } : asking };
}

/** To be answered now. */
export function withFocusedAsk(state: State, ask: Ask): State {
  return { ...state, asks: [ask, ...state.asks.filter(({ id }) => id !== ask.id)], answer: emptyEditLine, asking: takenUp };
}

export function withoutAsk(state: State, id: string): State {
  const asks = state.asks.filter((ask) => ask.id !== id);
  return { ...state, ...withAsks(state, asks) };
}

/** These and no others; what is typed goes with its question. */
export function withAsks(state: State, asks: readonly Ask[]): Pick<State, "asks" | "answer" | "asking"> {
  if (asks[0]?.id === state.asks[0]?.id) return { asks, answer: state.answer, asking: state.asking };
  return { asks, answer: emptyEditLine, asking: asks.length === 0 ? noAskFocus : { ...noAskFocus, isPutOff: state.asking.isPutOff } };
}

export function showAsks(state: State): UpdateResult {
  if (state.asks.length === 0) return step(state, { type: "list asks" });
  return step({ ...state, overlay: null, asking: { ...state.asking, isPutOff: false, isTakenUp: true } });
}
