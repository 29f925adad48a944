// The state of the composer besides its text: undo steps, history, chips and the completion menu. Pure.
import type { EditLine, RecallableLine } from "../../kit/text/line-edit.ts";
import type { Choice } from "../overlays/box.ts";
import type { Chip } from "./chips.ts";

export type Composer = {
  /** The unsent message before each change, the latest last. */
  undo: readonly EditLine[];
  /** Messages sent in this project, the latest last. */
  history: readonly string[];
  /** The history entry in the unsent message, and the text typed before it. */
  recalled: RecallableLine["recalled"];
  chips: readonly Chip[];
  menu: Menu | null;
  /** The latest message as it was typed. It is restored if the message is refused. */
  sent: { message: EditLine; chips: readonly Chip[] } | null;
};

export type Menu = {
  kind: "file" | "command";
  /** Offset of the word to complete, and the typed part of it. */
  start: number;
  query: string;
  /** The label replaces the word. Null during the first search. */
  choices: readonly Choice[] | null;
  /** The reason for an empty list. */
  problem: string | null;
  index: number;
  /** Closed by Esc until another word starts. */
  isClosed: boolean;
};

export const emptyComposer: Composer = { undo: [], history: [], recalled: null, chips: [], menu: null, sent: null };

const maxUndo = 200;

/** Adds an undo step. The letters of one word are one step. */
export function withUndo(composer: Composer, before: EditLine, after: EditLine): Composer {
  if (after.text === before.text) return composer;
  const added = after.text.length - before.text.length;
  const letter = added === 1 ? after.text[before.cursor] : undefined;
  const isSameWord = letter !== undefined && /\S/.test(letter) && /\S/.test(before.text[before.cursor - 1] ?? " ");
  return isSameWord && composer.undo.length > 0 ? composer : { ...composer, undo: [...composer.undo, before].slice(-maxUndo) };
}
