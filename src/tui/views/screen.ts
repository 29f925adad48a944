// Renders the state as the rows of the whole screen: visible transcript, queue, a rule with a notice, composer and status
// bar. An overlay covers the end of the transcript. Pure.
import { oneLine } from "../../kit/text/cut-text.ts";
import type { Ask } from "../../protocol/api/control.ts";
import { sessionLabel } from "../../protocol/tree/turn.ts";
import { focusedAsk, waitingAsk } from "../model/asks.ts";
import { visiblePart } from "../../kit/text/text-layout.ts";
import type { EditLine } from "../../kit/text/line-edit.ts";
import { highlightRow, patternOf } from "../search/find.ts";
import { styled, cellsOf, plainLine, fit, type Row } from "../layout/wrap.ts";
import { accent, bad, faint, marker, waiting } from "../layout/styles.ts";
import { progressText } from "../model/plan-steps.ts";
import type { State } from "../model/state.ts";
import { hintFor } from "../keys/hint.ts";
import { blockCount } from "../model/transcript.ts";
import { askerText } from "./ask.ts";
import { composerPrompt, composerRows, layOutPrompt, visibleQueue, transcriptHeight } from "../layout/screen-layout.ts";
import { overlayOf } from "./overlays.ts";
import { fitSentence } from "./sentence.ts";
import { infoRow, runningText } from "./info.ts";
import { statusRow } from "./status.ts";
import { welcomeRows } from "./welcome.ts";
import { rowsInView, visibleImages, type VisibleImage, type VisibleRow } from "./window.ts";

export type ScreenFrame = { rows: Row[]; cursor: { row: number; column: number } | null };
export type ScreenFrameWithImages = ScreenFrame & { images: readonly VisibleImage[] };

export function renderFrame(state: State): ScreenFrameWithImages {
  const height = transcriptHeight(state);
  const overlay = overlayOf(state, height);
  const coveredRows = Math.min(height, overlay?.rows.length ?? 0);
  const visibleRows = aboveOverlay(state, transcriptRows(state), height - coveredRows);
  const images = visibleImages(visibleRows);
  const textRows = visibleRows.map(({ row }) => row);
  const transcript = [...padRows(textRows, height - coveredRows), ...(overlay?.rows ?? []).slice(0, coveredRows)];
  const queue = visibleQueue(state).map((text): Row => [styled(fit(plainLine(text, 500), state.size.columns), marker)]);
  const composer = composerOf(state);
  const rowsAbove = [...transcript, ...queue, ruleRow(state)];
  const rows = [...rowsAbove, ...composer.rows.map((text): Row => [styled(text)]), ...statusRows(state)];
  if (overlay !== null && overlay.keepsPromptCursor !== true)
    return { rows, images, cursor: overlay.cursor && { ...overlay.cursor, row: overlay.cursor.row + height - coveredRows } };
  const { row, column } = composer.cursor;
  return { rows, images, cursor: state.mode === "normal" ? null : { row: row + rowsAbove.length, column } };
}

type TranscriptRow = Pick<VisibleRow, "row"> & Partial<VisibleRow>;

/** Above a question the end of the transcript is visible. Other overlays cover the end. */
function aboveOverlay<T>(state: State, rows: readonly T[], height: number): readonly T[] {
  const isQuestion = state.overlay === null && state.top === "end" && focusedAsk(state) !== null;
  const first = isQuestion ? Math.max(0, rows.length - height) : 0;
  return rows.slice(first, first + height);
}

function transcriptRows(state: State): TranscriptRow[] {
  if (blockCount(state.transcript) === 0) return welcomeRows(state, transcriptHeight(state)).map((row) => ({ row }));
  const pattern = state.search?.isShown === true ? patternOf(state.search.line.text) : null;
  return rowsInView(state).map((visible) => {
    const { block, row: plain, imageRow } = visible;
    if (plain.length === 0 && imageRow === null) return visible;
    const row = pattern === null ? plain : highlightRow(plain, pattern);
    return { ...visible, row: block.id === state.focus ? [styled("┃ ", waiting), ...row] : indent(row) };
  });
}

const indented = new WeakMap<Row, Row>();

/** The same row is returned for the same row, so that unchanged rows are recognised at once. */
function indent(row: Row): Row {
  const known = indented.get(row);
  if (known !== undefined) return known;
  const result = [styled("  "), ...row];
  indented.set(row, result);
  return result;
}

function padRows(rows: Row[], height: number): Row[] {
  return [...rows, ...Array.from({ length: Math.max(0, height - rows.length) }, (): Row => [])];
}

/** The vi preset also has the status bar, above the row with the facts. */
function statusRows(state: State): Row[] {
  return state.bindings.preset === "vi" ? [statusRow(state), infoRow(state)] : [infoRow(state)];
}

function ruleRow(state: State): Row {
  const { columns } = state.size;
  const notice = state.notice ?? conditionNotice(state);
  const sentence = `── ${notice?.text ?? searchText(state) ?? sessionText(state)} `;
  const running = runningBeside(state, notice === null ? 0 : cellsOf(sentence));
  const more = state.top === "end" ? "" : " more below ──";
  const width = running === "" ? columns : columns - cellsOf(running) - 5;
  // On a narrow screen the running work is more important than the name of the session.
  if (running !== "" && width < minRuleCells) return [styled(fit(`── ${running}`, columns), accent)];
  const text = fitSentence(sentence, width, state.pathPrefixes);
  const lineWidth = Math.max(0, width - cellsOf(text) - more.length);
  const rule: Row = [
    styled(text, notice?.isError === true ? bad : notice === null ? faint : {}),
    styled(`${"─".repeat(lineWidth)}${lineWidth > 0 ? more : ""}`, faint),
  ];
  return running === "" ? rule : [...rule, styled(` ${running} `, accent), styled("───", faint)];
}

/** The running work, unless a notice of `noticeCells` needs its place. */
function runningBeside(state: State, noticeCells: number): string {
  const running = runningText(state);
  const isBesideNotice = noticeCells === 0 || noticeCells + cellsOf(running) + 5 <= state.size.columns;
  return isBesideNotice ? running : "";
}

const minRuleCells = 16;

/** The session's name, and the progress of the plan that it executes. */
function sessionText({ session, steps, visit, isPlanning, activity, transcript, bindings }: State): string {
  const name = session === null ? "new session" : oneLine(sessionLabel(session), 40);
  if (visit !== null) return `${name} (watched; ${bindings.preset === "vi" ? "q" : "Esc"} goes back)`;
  if (isPlanning && activity === null && blockCount(transcript) > 0)
    return `${name} · ${hintFor(bindings, "exec", "Space x")} executes the plan, ${hintFor(bindings, "edit-plan", "Space e")} edits it`;
  const progress = progressText(steps);
  return progress === null ? name : `${name} · ${oneLine(progress, 300)}`;
}

/** The number of the matching block, among all matching blocks. */
function searchText({ search, mode, bindings }: State): string | null {
  if (search === null || !search.isShown || search.line.text === "") return null;
  const { match, line } = search;
  const viKeys = mode === "normal" ? "; n: next, N: previous, Esc: end" : "";
  const keys = bindings.preset === "vi" ? viKeys : "; Enter: next, Up: previous, Esc: end";
  return match === null ? `no match for "${line.text}"` : `"${line.text}" in block ${match.block} of ${match.total}${keys}`;
}

/** The notice of a condition that still holds, such as a lost connection. */
function conditionNotice(state: State): State["notice"] {
  const { isHubLost, isInterrupted, activity, mode, unsent, bindings } = state;
  if (isHubLost) return { text: `connection to the hub lost, reconnecting; ${hintFor(bindings, "hub")} starts it`, isError: true };
  const ask = state.overlay === null ? waitingAsk(state) : null;
  if (ask !== null) return { text: waitingText(state, ask), isError: false };
  if (!isInterrupted || activity !== null) return null;
  const isTyping = mode === "insert" && unsent.text.trim() !== "";
  return {
    text: isTyping
      ? `interrupted: Enter sends the message, ${hintFor(bindings, "continue")} continues the turn`
      : "interrupted: Enter continues the turn, Esc does not",
    isError: false,
  };
}

function waitingText(state: State, ask: Ask): string {
  const asks = `${askerText(state, ask)} asks`;
  if (state.bindings.preset === "plain") return `${asks}: send or clear the message to answer, or type /asks`;
  if (state.mode === "insert") return `${asks}: send the message first, or Esc and Tab, to answer`;
  return `${asks} (${state.mode === "normal" ? "" : "Esc, then "}Tab answers): ${plainLine(ask.question, 300)}`;
}

function composerOf(state: State) {
  const [prompt, line] = activeInput(state);
  const height = composerRows(state, state.unsent);
  const visible = visiblePart(layOutPrompt(prompt, line, state.size.columns), height);
  const rows = [...visible.rows, ...Array.from({ length: height - visible.rows.length }, () => "")];
  return { rows, cursor: visible.cursor };
}

function activeInput({ mode, commandLine, search, unsent }: State): [prompt: string, line: EditLine] {
  if (mode === "command") return [":", commandLine];
  return mode === "search" && search !== null ? ["/", search.line] : [composerPrompt, unsent];
}
