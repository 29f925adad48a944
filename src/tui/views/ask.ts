// A question of an agent's over the transcript: who asks, what, the answers to choose from, and one being typed.
import { stripAnsi, type TextStyle } from "../../kit/text/ansi.ts";
import { visiblePart, layOutText } from "../../kit/text/text-layout.ts";
import { oneLine } from "../../kit/text/cut-text.ts";
import type { Ask } from "../../protocol/api/control.ts";
import { shortId } from "../../protocol/tree/node.ts";
import { wrapRuns, type Row } from "../layout/wrap.ts";
import { isTypingAnswer } from "../model/asks.ts";
import { drawBox, selectedStyle, firstInView, type OverlayView } from "../overlays/box.ts";
import { faint } from "../layout/styles.ts";
import type { State } from "../model/state.ts";

const edges = 2;
const hintRows = 1;
const mostTyped = 3;

export function askView(state: State, ask: Ask, height: number): OverlayView {
  const { columns } = state.size;
  const inner = Math.max(2, columns - 4);
  const { at } = state.asking;
  const isTyping = isTypingAnswer(state, ask);
  const input = visiblePart(layOutText("answer > ", state.answer, inner), mostTyped);
  const options = ask.options.flatMap((option, index) => optionRows(option, index, at, inner));
  const room = Math.max(1, height - edges - hintRows - input.rows.length);
  const forOptions = Math.min(options.length, Math.max(1, room - Math.min(4, room - 1)));
  const question = cut(wrapRuns([{ text: stripAnsi(ask.question).trimEnd(), style: { bold: true } }], inner), room - forOptions);
  const left = Math.max(1, room - question.length);
  const first = firstInView(
    options.length,
    options.findIndex(({ index }) => index === at),
    left,
  );
  const shown = options.slice(Math.max(0, first), Math.max(0, first) + left).map(({ row }) => row);
  const typed = input.rows.map((text): Row => [{ text, style: isTyping ? {} : faint }]);
  const hint: Row = [{ text: hintOf(state, ask), style: faint }];
  const above = [...question, ...shown];
  const cursor = isTyping ? { row: 1 + above.length + input.cursor.row, column: 2 + input.cursor.column } : null;
  return { rows: drawBox(titleOf(state, ask), [...above, ...typed, hint], columns), cursor };
}

function optionRows(option: string, index: number, at: number, columns: number): { index: number; row: Row }[] {
  const style: TextStyle = index === at ? selectedStyle : {};
  const mark = `${index + 1}. `;
  const hang = { text: " ".repeat(mark.length), style };
  return wrapRuns([{ text: mark + stripAnsi(option), style: style }], columns, hang).map((row) => ({ index, row }));
}

/** What does not fit is in the transcript. */
function cut(rows: Row[], room: number): Row[] {
  if (rows.length <= Math.max(1, room)) return rows;
  return [...rows.slice(0, Math.max(0, room - 1)), [{ text: "… the rest is in the transcript, at ask_user", style: faint }]];
}

function titleOf(state: State, ask: Ask): string {
  const count = state.asks.length;
  return `${askerOf(state, ask)} asks${count > 1 ? ` (1 of ${count})` : ""}`;
}

export function askerOf({ session, transcript }: State, ask: Ask): string {
  if (ask.session === session?.id) return "the agent";
  const block = transcript.settled.findLast(({ id }) => id === ask.session);
  return block?.kind === "session" ? `${block.agent}, asked to ${oneLine(stripAnsi(block.task), 40)},` : `session ${shortId(ask.session)}`;
}

function hintOf({ asks }: State, { options, expiresAt }: Ask): string {
  return [
    options.length > 0 ? "j k or a number choose, Enter answers" : "Enter answers",
    ...(asks.length > 1 ? ["Tab: the next question"] : []),
    "Esc: later",
    ...(expiresAt === null ? [] : [`it waits until ${new Date(expiresAt).toTimeString().slice(0, 5)}`]),
  ].join(" · ");
}
