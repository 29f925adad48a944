// A block as strips of rows: folded to a line or two, or open. What was laid out of the blocks that were looked at last
// is kept, so that a frame costs what changed, and memory does not grow with all that was ever in view.
import type { TextStyle, TextRun } from "../../kit/text/ansi.ts";
import { oneLine, shortCount } from "../../kit/text/cut-text.ts";
import type { Block } from "../model/blocks.ts";
import { addSpent } from "../../protocol/tree/usage.ts";
import { tokensText } from "../../protocol/tree/usage-text.ts";
import { diff, diffCounts } from "./diff.ts";
import { imageSize } from "../layout/image-size.ts";
import { accent, bad, busy, faint, good, proseColumns } from "../layout/styles.ts";
import { markdown } from "./markdown.ts";
import { prefixedText, strip, stripsOf, type Strip } from "./strips.ts";
import { toolStrips } from "./tool.ts";
import { oneRow, shortText } from "../layout/wrap.ts";

type Card = { block: Block; columns: number; isOpen: boolean; strips: readonly Strip[] };

const mostKept = 500;
const kept = new Map<string, Card>();

export function cardStrips(block: Block, columns: number, isOpen: boolean): readonly Strip[] {
  const known = kept.get(block.id);
  if (known?.block === block && known.columns === columns && known.isOpen === isOpen) return known.strips;
  const strips = layOut(block, columns, isOpen);
  kept.delete(block.id);
  kept.set(block.id, { block, columns, isOpen, strips });
  if (kept.size > mostKept) for (const oldest of kept.keys().take(kept.size - mostKept)) kept.delete(oldest);
  return strips;
}

/** Whether a block of this kind is open until someone folds it. */
export function opensByDefault(block: Block): boolean {
  return !["tool", "thinking", "session"].includes(block.kind);
}

const said = prefixedText({ text: "▌ ", style: accent }, {}, proseColumns);
const thought = prefixedText({ text: "~ ", style: faint }, { ...faint, italic: true }, proseColumns);
const noted = prefixedText({ text: "· ", style: faint }, faint, proseColumns);
const failed = prefixedText({ text: "✗ ", style: { ...bad, bold: true } }, bad, proseColumns);
const hinted = prefixedText({ text: "  ", style: {} }, faint, proseColumns);
const delegated = prefixedText({ text: "◆ ", style: accent }, {}, proseColumns);

function layOut(block: Block, columns: number, isOpen: boolean): readonly Strip[] {
  switch (block.kind) {
    case "user":
      return isOpen ? stripsOf(said, block.text.trimEnd(), columns) : row(columns, { text: "▌ ", style: accent }, first(block.text));
    case "text":
      return isOpen ? stripsOf(markdown, block.text.trimEnd(), columns) : row(columns, first(block.text));
    case "thinking":
      return isOpen
        ? stripsOf(thought, block.text.trimEnd(), columns)
        : row(columns, { text: `~ ${shortText(block.text, block.isLive === true ? "last line" : "beginning")}`, style: faint });
    case "tool":
      return toolStrips(block, columns, isOpen);
    case "diff":
      return diffStrips(block.text, columns, isOpen);
    case "session":
      return sessionStrips(block, columns, isOpen);
    case "image":
      return row(columns, { text: "▣ ", style: accent }, { text: imageText(block), style: faint });
    case "turn":
      return row(columns, { text: `── ${block.text} `.padEnd(Math.min(columns, proseColumns), "─"), style: faint });
    case "note":
      return isOpen ? stripsOf(noted, block.text.trimEnd(), columns) : row(columns, { text: `· ${shortText(block.text)}`, style: faint });
    case "error":
      return [...stripsOf(failed, block.text, columns), ...(block.hint === null ? [] : stripsOf(hinted, block.hint, columns))];
  }
}

function first(text: string): TextRun {
  return { text: shortText(text), style: {} };
}

function diffStrips(text: string, columns: number, isOpen: boolean): readonly Strip[] {
  const counts = diffCounts(text);
  if (counts === null) return stripsOf(noted, text.trimEnd(), columns);
  const head = row(
    columns,
    { text: "± ", style: faint },
    { text: counts.name, style: { bold: true } },
    { text: ` +${counts.added}`, style: good },
    { text: ` -${counts.gone}`, style: bad },
  );
  // Its first strip would be the name of the file.
  return isOpen ? [...head, ...stripsOf(diff, text.trimEnd(), columns).slice(1)] : head;
}

const lookOfState: Record<string, TextStyle> = { running: busy, asking: busy, paused: faint, ok: good };

function sessionStrips(block: Extract<Block, { kind: "session" }>, columns: number, isOpen: boolean): readonly Strip[] {
  const { agent, task, state } = block;
  const spent = addSpent(block.spent, block.current);
  const cost = spent.costUsd === null ? "cost unknown" : `$${spent.costUsd.toFixed(4)}`;
  const doing = shortText(block.doing, "last line");
  const used = Object.values(spent.usage).every((count) => count === 0) ? [] : [tokensText(spent.usage, shortCount), cost];
  const rest = [...used, ...(doing === "" ? [] : [doing])].map((each) => ` · ${each}`).join("");
  const told: TextRun[] = [
    { text: "  ", style: {} },
    { text: state, style: lookOfState[state] ?? bad },
    { text: rest, style: faint },
  ];
  const head = isOpen
    ? stripsOf(delegated, `${agent}: ${task.trimEnd()}`, columns)
    : row(columns, { text: `◆ ${oneLine(agent, 60)}: `, style: accent }, first(task));
  return [...head, ...row(columns, ...told)];
}

function imageText({ image }: Extract<Block, { kind: "image" }>): string {
  const size = imageSize(image);
  const bytes = Buffer.byteLength(image.base64, "base64");
  const kilobytes = bytes < 1024 ? `${bytes} bytes` : `${(bytes / 1024).toFixed(1)} KB`;
  return [`image (${image.mime})`, ...(size === null ? [] : [`${size.width} × ${size.height}`]), kilobytes].join(" · ");
}

function row(columns: number, ...runs: TextRun[]): Strip[] {
  return [strip(() => [oneRow(runs, columns)])];
}
