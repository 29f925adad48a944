// Draws a question of an agent above the transcript: who asks, the question, its options and the typed answer.
import { stripAnsi } from "../../kit/text/ansi.ts";
import { visiblePart, layOutText } from "../../kit/text/text-layout.ts";
import type { Ask } from "../../protocol/api/control.ts";
import { shortId } from "../../protocol/tree/node.ts";
import { cellsOf, styled, plainLine, wrapRuns, type Row } from "../layout/wrap.ts";
import { isTypingAnswer } from "../model/asks.ts";
import { drawBox, selectedStyle, firstInView, type OverlayView } from "../overlays/box.ts";
import { faint } from "../layout/styles.ts";
import type { State } from "../model/state.ts";

const borderRows = 2;
const hintRows = 1;
const maxTypedRows = 3;
const minQuestionRows = 4;

export function askView(state: State, ask: Ask, height: number): OverlayView {
  const { columns } = state.size;
  const innerWidth = Math.max(2, columns - 4);
  const selectedIndex = state.askFocus.option;
  const isTyping = isTypingAnswer(state, ask);
  const input = visiblePart(layOutText("answer > ", state.askFocus.line, innerWidth), maxTypedRows);
  const options = ask.options.flatMap((option, index) => {
    const style = index === selectedIndex ? selectedStyle : {};
    const label = `${index + 1}. `;
    const hang = styled(" ".repeat(label.length), style);
    return wrapRuns([styled(label + stripAnsi(option), style)], innerWidth, hang).map((row) => ({ index, row }));
  });
  const bodyRows = Math.max(1, height - borderRows - hintRows - input.rows.length);
  // The question gets at least `minQuestionRows`, the options the remaining rows, but at least one.
  const minOptionRows = Math.min(options.length, Math.max(1, bodyRows - Math.min(minQuestionRows, bodyRows - 1)));
  const question = cutRows(wrapRuns([styled(stripAnsi(ask.question).trimEnd(), { bold: true })], innerWidth), bodyRows - minOptionRows);
  const optionHeight = Math.max(1, bodyRows - question.length);
  const selectedRow = options.findIndex(({ index }) => index === selectedIndex);
  const first = firstInView(options.length, selectedRow, optionHeight);
  const visible = options.slice(Math.max(0, first), Math.max(0, first) + optionHeight).map(({ row }) => row);
  const typed = input.rows.map((text): Row => [styled(text, isTyping ? {} : faint)]);
  const hint: Row = [styled(hintText(state, ask, innerWidth), faint)];
  const body = [...question, ...visible];
  const cursor = isTyping ? { row: 1 + body.length + input.cursor.row, column: 2 + input.cursor.column } : null;
  const title = `${askerText(state, ask)} asks${state.asks.length > 1 ? ` (1 of ${state.asks.length})` : ""}`;
  return { rows: drawBox(title, [...body, ...typed, hint], columns), cursor };
}

/** Cuts a long question. The transcript shows the full text. */
function cutRows(rows: Row[], maxRows: number): Row[] {
  if (rows.length <= Math.max(1, maxRows)) return rows;
  return [...rows.slice(0, Math.max(0, maxRows - 1)), [styled("… the rest is in the transcript, at ask_user", faint)]];
}

export function askerText({ session, transcript }: State, ask: Ask): string {
  if (ask.session === session?.id) return "the agent";
  const block = transcript.settled.findLast(({ id }) => id === ask.session);
  return block?.kind === "session" ? `${block.agent}, asked to ${plainLine(block.task, 40)},` : `session ${shortId(ask.session)}`;
}

function hintText({ asks }: State, { options, expiresAt }: Ask, columns: number): string {
  const textOf = (answering: string, next: string) =>
    [
      answering,
      ...(asks.length > 1 ? [next] : []),
      "Esc: later",
      ...(expiresAt === null ? [] : [`waits until ${new Date(expiresAt).toTimeString().slice(0, 5)}`]),
    ].join(" · ");
  const full = textOf(options.length > 0 ? "choose or type an answer, Enter sends it" : "Enter answers", "Tab: next question");
  return cellsOf(full) <= columns ? full : textOf("Enter answers", "Tab: next");
}
