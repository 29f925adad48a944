// What belongs to the message being typed besides its text: what it was before, what was sent before it, what its
// labels stand for, and what could complete the word at the cursor.
import type { EditLine, RecallableLine } from "../../kit/text/line-edit.ts";
import type { Chip } from "./chips.ts";

export type Composer = {
  /** The draft before each change, the latest last. */
  undo: readonly EditLine[];
  /** What was sent in this project, the latest last. */
  history: readonly string[];
  /** Which of it stands in the draft, and what was typed before it was called up. */
  recalled: RecallableLine["recalled"];
  chips: readonly Chip[];
  menu: Menu | null;
  /** The latest message as it was typed: it comes back when it is not taken. */
  sent: { draft: EditLine; chips: readonly Chip[] } | null;
};

export type Menu = {
  kind: "file" | "command";
  /** Where the word begins that is completed, and what of it is typed. */
  start: number;
  query: string;
  /** Null while they are looked up for the first time. */
  choices: readonly Choice[] | null;
  /** Why there are none. */
  problem: string | null;
  at: number;
  /** Closed by Esc, until another word is begun. */
  isShut: boolean;
};

/** What takes the place of the word, and a word about it. */
export type Choice = { text: string; detail: string };

export const emptyComposer: Composer = { undo: [], history: [], recalled: null, chips: [], menu: null, sent: null };

const mostUndo = 200;

/** A change can be taken back; letters of one word go together. */
export function withUndo(composer: Composer, before: EditLine, after: EditLine): Composer {
  if (after.text === before.text) return composer;
  const added = after.text.length - before.text.length;
  const letter = added === 1 ? after.text[before.cursor] : undefined;
  const isSameWord = letter !== undefined && /\S/.test(letter) && /\S/.test(before.text[before.cursor - 1] ?? " ");
  return isSameWord && composer.undo.length > 0 ? composer : { ...composer, undo: [...composer.undo, before].slice(-mostUndo) };
}

export function undo(composer: Composer): { composer: Composer; draft: EditLine } | null {
  const draft = composer.undo.at(-1);
  return draft === undefined ? null : { composer: { ...composer, undo: composer.undo.slice(0, -1), recalled: null }, draft };
}

const mostHistory = 1000;

export function addToHistory(composer: Composer, text: string): Composer {
  const history = composer.history.at(-1) === text ? composer.history : [...composer.history, text].slice(-mostHistory);
  return { ...composer, history, recalled: null };
}
