// Lays out a block as strips of rows, folded to a line or two, or open. Caches the strips of recently visible blocks, so
// that a frame lays out only changed blocks. Memory does not grow with the transcript.
import type { TextStyle, TextRun } from "../../kit/text/ansi.ts";
import { oneLine, pluralize } from "../../kit/text/cut-text.ts";
import type { Block, DiffBlock } from "../model/blocks.ts";
import { addSpent } from "../../protocol/tree/usage.ts";
import { costText, tokensText } from "../../protocol/tree/usage-text.ts";
import { unifiedDiff, diffCounts, diffLineCount } from "./diff-card.ts";
import { imageSize } from "../layout/image-size.ts";
import { accent, bad, busy, faint, good, heading, proseColumns } from "../layout/styles.ts";
import { markdown } from "./markdown.ts";
import { prefixedText, strip, stripsOf, type Strip } from "./strips.ts";
import { callRow, durationFacts, howToOpen, markOf, toolStrips } from "./tool.ts";
import { cellsOf, styled, oneRow, shortText, type Row } from "../layout/wrap.ts";

type Card = { block: Block; columns: number; isOpen: boolean; strips: readonly Strip[] };

const maxCached = 500;
const cache = new Map<string, Card>();

export function cardStrips(block: Block, columns: number, isOpen: boolean): readonly Strip[] {
  const cached = cache.get(block.id);
  if (cached?.block === block && cached.columns === columns && cached.isOpen === isOpen) return cached.strips;
  const strips = layOut(block, columns, isOpen);
  cache.delete(block.id);
  cache.set(block.id, { block, columns, isOpen, strips });
  if (cache.size > maxCached) for (const oldest of cache.keys().take(cache.size - maxCached)) cache.delete(oldest);
  return strips;
}

/** A longer message of the user, such as a paste, and a longer change, such as a new file, are folded. */
const maxMessageLines = 20;
const maxDiffLines = 40;
/** Lines of them that are shown while they are folded. */
const foldedMessageLines = 5;
const foldedDiffLines = 10;

export function opensByDefault(block: Block): boolean {
  return !["tool", "thinking", "session"].includes(block.kind) && !isLong(block);
}

const longBlocks = new WeakMap<Block, boolean>();

function isLong(block: Block): boolean {
  if (block.kind !== "user" && block.kind !== "diff") return false;
  const cached = longBlocks.get(block);
  if (cached !== undefined) return cached;
  const isDiff = block.kind === "diff";
  const lines = isDiff ? diffLineCount(block.text) : block.text.trimEnd().split("\n").length;
  const result = lines > (isDiff ? maxDiffLines : maxMessageLines);
  longBlocks.set(block, result);
  return result;
}

const marks = {
  user: styled("▌ ", accent),
  thinking: styled("~ ", faint),
  note: styled("· ", faint),
};
const openTexts = {
  user: prefixedText(marks.user, {}, proseColumns),
  thinking: prefixedText(marks.thinking, { ...faint, italic: true }, proseColumns),
  note: prefixedText(marks.note, faint, proseColumns),
};
const errorText = prefixedText(styled("✗ ", { ...bad, bold: true }), bad, proseColumns);
const hintText = prefixedText(styled("  "), faint, proseColumns);
const answerText = prefixedText(styled("  │ ", faint), {});
const taskText = prefixedText(styled("◆ ", accent), {}, proseColumns);

function layOut(block: Block, columns: number, isOpen: boolean): readonly Strip[] {
  switch (block.kind) {
    case "user":
    case "thinking":
    case "note": {
      if (isOpen) return stripsOf(openTexts[block.kind], block.text.trimEnd(), columns);
      if (isLong(block)) return foldedMessage(block.text.trimEnd(), columns);
      const part = block.kind === "thinking" && block.isLive === true ? "last line" : "beginning";
      return row(columns, marks[block.kind], styled(shortText(block.text, part), block.kind === "user" ? {} : faint));
    }
    case "text":
      return isOpen ? stripsOf(markdown, block.text.trimEnd(), columns) : row(columns, styled(shortText(block.text)));
    case "tool":
      return toolStrips(block, columns, isOpen);
    case "diff":
      return diffStrips(block, columns, isOpen);
    case "session":
      return sessionStrips(block, columns, isOpen);
    case "image":
      return row(columns, styled("▣ ", accent), styled(imageText(block), faint));
    case "turn":
      return row(columns, styled(`── ${turnText(block.text, columns - 4)} `.padEnd(Math.min(columns, proseColumns), "─"), faint));
    case "plan":
      return [...row(columns, styled("plan", heading), styled(" · .skein/plan.md", faint)), ...planStrips(block.text, columns, isOpen)];
    case "error":
      return [...stripsOf(errorText, block.text, columns), ...(block.hint === null ? [] : stripsOf(hintText, block.hint, columns))];
  }
}

/** On a narrow screen the tokens go first, then the steps. The status and the cost stay. */
function turnText(text: string, columns: number): string {
  const parts = text.split(" · ");
  while (parts.length > 2 && cellsOf(parts.join(" · ")) > columns) parts.splice(-2, 1);
  return parts.join(" · ");
}

function planStrips(text: string, columns: number, isOpen: boolean): readonly Strip[] {
  return isOpen ? stripsOf(markdown, text.trimEnd(), columns) : [];
}

function foldedMessage(text: string, columns: number): readonly Strip[] {
  const lines = text.split("\n");
  const shown = stripsOf(openTexts.user, lines.slice(0, foldedMessageLines).join("\n"), columns);
  return [...shown, ...moreRow(lines.length - foldedMessageLines, columns)];
}

function diffStrips(block: DiffBlock, columns: number, isOpen: boolean): readonly Strip[] {
  const { name, change, added, removed } = diffCounts(block.text);
  const facts: Row[] = [
    ...(change === "changed" ? [] : [[styled(change === "created" ? "new file" : "deleted", faint)]]),
    removed === 0 ? [styled(`+${added}`, good)] : [styled(`+${added} `, good), styled(`-${removed}`, bad)],
    ...durationFacts(block.tookMs).map((fact) => [styled(fact, faint)]),
  ];
  const argument = shortText(block.path === "" ? name : block.path);
  const head = strip(() => [callRow({ mark: markOf(isOpen), style: good, name: block.tool, argument, facts, columns })]);
  // The first strip is the file name, which the head already shows.
  const changes = () => stripsOf(unifiedDiff, block.text.trimEnd(), columns).slice(1);
  if (isOpen) return [head, ...changes()];
  if (!isLong(block)) return [head];
  const strips = changes();
  return [head, ...strips.slice(0, foldedDiffLines), ...moreRow(strips.length - foldedDiffLines, columns)];
}

function moreRow(lines: number, columns: number): Strip[] {
  return row(columns, styled(`  … ${pluralize(lines, "more line")}${howToOpen}`, faint));
}

const stateStyles: Record<string, TextStyle> = { running: busy, asking: busy, paused: faint, ok: good };

function sessionStrips(block: Extract<Block, { kind: "session" }>, columns: number, isOpen: boolean): readonly Strip[] {
  const { agent, task, state } = block;
  const spent = addSpent(block.spent, block.current);
  const lastLine = shortText(block.lastOutput, "last line");
  const used = Object.values(spent.usage).every((count) => count === 0) ? [] : [tokensText(spent.usage), costText(spent)];
  const details = [...used, ...(lastLine === "" ? [] : [lastLine])].map((text) => ` · ${text}`).join("");
  const status: TextRun[] = [styled("  "), styled(state, stateStyles[state] ?? bad), styled(details, faint)];
  const head = isOpen
    ? stripsOf(taskText, `${agent}: ${task.trimEnd()}`, columns)
    : row(columns, styled(`◆ ${oneLine(agent, 60)}: `, accent), styled(shortText(task)));
  const answer = isOpen ? (block.answer?.replace(/\n*\[session [^\n]*\]$/, "").trimEnd() ?? "") : "";
  return [...head, ...row(columns, ...status), ...(answer === "" ? [] : stripsOf(answerText, answer, columns))];
}

function imageText({ image }: Extract<Block, { kind: "image" }>): string {
  const size = imageSize(image);
  const bytes = Buffer.byteLength(image.base64, "base64");
  const fileSize = bytes < 1024 ? `${bytes} bytes` : `${(bytes / 1024).toFixed(1)} KB`;
  return [`image (${image.mime})`, ...(size === null ? [] : [`${size.width} × ${size.height}`]), fileSize].join(" · ");
}

function row(columns: number, ...runs: TextRun[]): Strip[] {
  return [strip(() => [oneRow(runs, columns)])];
}
