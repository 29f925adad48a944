// Lays out a block as strips of rows, folded to a line or two, or open. Caches the strips of recently visible blocks, so
// that a frame lays out only changed blocks. Memory does not grow with the transcript.
import type { TextStyle, TextRun } from "../../kit/text/ansi.ts";
import { oneLine, shortCount } from "../../kit/text/cut-text.ts";
import type { Block } from "../model/blocks.ts";
import { addSpent } from "../../protocol/tree/usage.ts";
import { costText, tokensText } from "../../protocol/tree/usage-text.ts";
import { unifiedDiff, diffCounts } from "./diff-card.ts";
import { imageSize } from "../layout/image-size.ts";
import { accent, bad, busy, faint, good, proseColumns } from "../layout/styles.ts";
import { markdown } from "./markdown.ts";
import { prefixedText, strip, stripsOf, type Strip } from "./strips.ts";
import { toolStrips } from "./tool.ts";
import { styled, oneRow, shortText } from "../layout/wrap.ts";

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

export function opensByDefault(block: Block): boolean {
  return !["tool", "thinking", "session"].includes(block.kind);
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
const taskText = prefixedText(styled("◆ ", accent), {}, proseColumns);

function layOut(block: Block, columns: number, isOpen: boolean): readonly Strip[] {
  switch (block.kind) {
    case "user":
    case "thinking":
    case "note": {
      if (isOpen) return stripsOf(openTexts[block.kind], block.text.trimEnd(), columns);
      const part = block.kind === "thinking" && block.isLive === true ? "last line" : "beginning";
      return row(columns, marks[block.kind], styled(shortText(block.text, part), block.kind === "user" ? {} : faint));
    }
    case "text":
      return isOpen ? stripsOf(markdown, block.text.trimEnd(), columns) : row(columns, styled(shortText(block.text)));
    case "tool":
      return toolStrips(block, columns, isOpen);
    case "diff":
      return diffStrips(block.text, columns, isOpen);
    case "session":
      return sessionStrips(block, columns, isOpen);
    case "image":
      return row(columns, styled("▣ ", accent), styled(imageText(block), faint));
    case "turn":
      return row(columns, styled(`── ${block.text} `.padEnd(Math.min(columns, proseColumns), "─"), faint));
    case "error":
      return [...stripsOf(errorText, block.text, columns), ...(block.hint === null ? [] : stripsOf(hintText, block.hint, columns))];
  }
}

function diffStrips(text: string, columns: number, isOpen: boolean): readonly Strip[] {
  const counts = diffCounts(text);
  if (counts === null) return stripsOf(openTexts.note, text.trimEnd(), columns);
  const head = row(
    columns,
    styled("± ", faint),
    styled(counts.name, { bold: true }),
    styled(` +${counts.added}`, good),
    styled(` -${counts.removed}`, bad),
  );
  // The first strip is the file name, which the head already shows.
  return isOpen ? [...head, ...stripsOf(unifiedDiff, text.trimEnd(), columns).slice(1)] : head;
}

const stateStyles: Record<string, TextStyle> = { running: busy, asking: busy, paused: faint, ok: good };

function sessionStrips(block: Extract<Block, { kind: "session" }>, columns: number, isOpen: boolean): readonly Strip[] {
  const { agent, task, state } = block;
  const spent = addSpent(block.spent, block.current);
  const lastLine = shortText(block.lastOutput, "last line");
  const used = Object.values(spent.usage).every((count) => count === 0) ? [] : [tokensText(spent.usage, shortCount), costText(spent)];
  const details = [...used, ...(lastLine === "" ? [] : [lastLine])].map((text) => ` · ${text}`).join("");
  const status: TextRun[] = [styled("  "), styled(state, stateStyles[state] ?? bad), styled(details, faint)];
  const head = isOpen
    ? stripsOf(taskText, `${agent}: ${task.trimEnd()}`, columns)
    : row(columns, styled(`◆ ${oneLine(agent, 60)}: `, accent), styled(shortText(task)));
  return [...head, ...row(columns, ...status)];
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
