// The whole screen as rows, from the state alone: the transcript's window, the queue, a rule with what there is to say,
// the composer and the status bar, and an overlay over the transcript.
import { stripAnsi } from "../../kit/text/ansi.ts";
import { oneLine } from "../../kit/text/cut-text.ts";
import type { Ask } from "../../protocol/api/control.ts";
import { focusedAsk, waitingAsk } from "../model/asks.ts";
import { visiblePart, layOutText } from "../../kit/text/text-layout.ts";
import type { EditLine } from "../../kit/text/line-edit.ts";
import { highlightRow, patternOf } from "../search/find.ts";
import { fit, type Row } from "../layout/wrap.ts";
import { bad, faint, marker, waiting } from "../layout/styles.ts";
import { progressText } from "../model/plan-steps.ts";
import type { State } from "../model/state.ts";
import { blockCount } from "../model/transcript.ts";
import { askerOf } from "./ask.ts";
import { visibleImages, type VisibleImage } from "./images.ts";
import { composerPrompt, composerRows, visibleQueue, transcriptHeight } from "../layout/screen-layout.ts";
import { overlayOf } from "./overlays.ts";
import { fitSentence } from "./sentence.ts";
import { statusRow } from "./status.ts";
import { rowsInView, type VisibleRow } from "./window.ts";

export type ScreenFrame = { rows: Row[]; cursor: { row: number; column: number } | null };
export type ScreenFrameWithImages = ScreenFrame & { images: readonly VisibleImage[] };

export function renderFrame(state: State): ScreenFrameWithImages {
  const height = transcriptHeight(state);
  const overlay = overlayOf(state, height);
  const covered = Math.min(height, overlay?.rows.length ?? 0);
  const inSight = aboveOverlay(state, transcriptRows(state), height - covered);
  const images = visibleImages(inSight);
  const behind = inSight.map(({ row }) => row);
  const transcript = [...padded(behind, height - covered), ...(overlay?.rows ?? []).slice(0, covered)];
  const queue = visibleQueue(state).map(({ text }): Row => [
    { text: fit(`queued: ${oneLine(text, 300)}`, state.size.columns), style: marker },
  ]);
  const composer = composerOf(state);
  const above = [...transcript, ...queue, ruleRow(state)];
  const rows = [...above, ...composer.rows.map((text): Row => [{ text, style: {} }]), statusRow(state)];
  if (overlay !== null && overlay.isBeside !== true)
    return { rows, images, cursor: overlay.cursor === null ? null : shifted(overlay.cursor, height - covered) };
  return { rows, images, cursor: state.mode === "normal" ? null : shifted(composer.cursor, above.length) };
}

type TranscriptRow = Pick<VisibleRow, "row"> & Partial<VisibleRow>;

/** What was said before a question stays in view with it; other overlays leave what is above them where it is. */
function aboveOverlay<T>(state: State, rows: readonly T[], height: number): readonly T[] {
  const isAsked = state.overlay === null && state.top === "end" && focusedAsk(state) !== null;
  const first = isAsked ? Math.max(0, rows.length - height) : 0;
  return rows.slice(first, first + height);
}

function transcriptRows(state: State): TranscriptRow[] {
  if (blockCount(state.transcript) === 0) return [{ row: [{ text: fit(`  ${hintOf(state)}`, state.size.columns), style: faint }] }];
  const pattern = state.search?.isShown === true ? patternOf(state.search.line.text) : null;
  return rowsInView(state).map((shown) => {
    const { block, row: plain, drawn } = shown;
    if (plain.length === 0 && drawn === null) return shown;
    const row = pattern === null ? plain : highlightRow(plain, pattern);
    return { ...shown, row: [block.id === state.focus ? { text: "┃ ", style: waiting } : { text: "  ", style: {} }, ...row] };
  });
}

function hintOf({ isPlanning, mode }: State): string {
  if (isPlanning) return "Say what to plan. Only .skein/plan.md is written; Space x carries it out.";
  return mode === "normal"
    ? "i types a message; Space shows what can be done, ? all keys."
    : "Type a message. Space shows what can be done; Esc, then ?, all keys.";
}

function padded(rows: Row[], height: number): Row[] {
  return [...rows, ...Array.from({ length: Math.max(0, height - rows.length) }, (): Row => [])];
}

function ruleRow(state: State): Row {
  const { columns } = state.size;
  const notice = state.notice ?? standing(state);
  const text = fitSentence(`── ${notice?.text ?? searchText(state) ?? sessionText(state)} `, columns, state.places);
  const more = state.top === "end" ? "" : " more below ──";
  const rest = Math.max(0, columns - Bun.stringWidth(text) - more.length);
  return [
    { text, style: notice?.isError === true ? bad : notice === null ? faint : {} },
    { text: `${"─".repeat(rest)}${rest > 0 ? more : ""}`, style: faint },
  ];
}

/** With what is done of the plan that it executes. */
function sessionText({ session, steps, visit, isPlanning, activity, transcript }: State): string {
  const name = session === null ? "new session" : oneLine(session.name ?? session.id.slice(-8), 40);
  if (visit !== null) return `${name} (watched; q goes back)`;
  if (isPlanning && activity === null && blockCount(transcript) > 0) return `${name} · Space x carries the plan out, Space e edits it`;
  const progress = progressText(steps);
  return progress === null ? name : `${name} · ${oneLine(progress, 300)}`;
}

/** Which of the blocks with the words one is at. */
function searchText({ search, mode }: State): string | null {
  if (search === null || !search.isShown || search.line.text === "") return null;
  const { found } = search;
  const keys = mode === "normal" ? "; n and N go on, Esc ends it" : "";
  return found === null ? `nothing has "${search.line.text}"` : `"${search.line.text}" in block ${found.block} of ${found.of}${keys}`;
}

/** What is to be said for as long as it is so. */
function standing(state: State): State["notice"] {
  const { isLost, isInterrupted, activity, mode, draft } = state;
  if (isLost) return { text: "the hub is gone and looked for; :hub tries to start it", isError: true };
  const ask = state.overlay === null ? waitingAsk(state) : null;
  if (ask !== null) return { text: waitingText(state, ask), isError: false };
  if (!isInterrupted || activity !== null) return null;
  const isTyping = mode === "insert" && draft.text.trim() !== "";
  return {
    text: isTyping ? "interrupted: Enter sends the message, :continue goes on without" : "interrupted: Enter goes on with it, Esc does not",
    isError: false,
  };
}

function waitingText(state: State, ask: Ask): string {
  const asks = `${askerOf(state, ask)} asks`;
  if (state.mode === "insert") return `${asks}: send the message first, or Esc and Tab, to answer`;
  return `${asks} (${state.mode === "normal" ? "" : "Esc, then "}Tab answers): ${oneLine(stripAnsi(ask.question), 300)}`;
}

function composerOf(state: State) {
  const [prompt, line] = typedIn(state);
  const height = composerRows(state, state.draft);
  const shown = visiblePart(layOutText(prompt, line, state.size.columns), height);
  const rows = [...shown.rows, ...Array.from({ length: height - shown.rows.length }, () => "")];
  return { rows, cursor: shown.cursor };
}

function typedIn({ mode, commandLine, search, draft }: State): [prompt: string, line: EditLine] {
  if (mode === "command") return [":", commandLine];
  return mode === "search" && search !== null ? ["/", search.line] : [composerPrompt, draft];
}

function shifted({ row, column }: { row: number; column: number }, by: number) {
  return { row: row + by, column };
}
