// A block as rows of text: folded to a line, or open. What was laid out is kept with the block, so that ten thousand of
// them cost no more than what changed.
import type { Look } from "../../kit/ansi.ts";
import { oneLine } from "../../kit/text.ts";
import type { Block, ToolBlock } from "../blocks.ts";
import { markdownRows } from "./markdown.ts";
import { fit, wrapRuns, type Row } from "./wrap.ts";

const laidOut = new WeakMap<Block, { columns: number; isOpen: boolean; rows: Row[] }>();

export function cardRows(block: Block, columns: number, isOpen: boolean): Row[] {
  const known = laidOut.get(block);
  if (known !== undefined && known.columns === columns && known.isOpen === isOpen) return known.rows;
  const rows = [...layOutBlock(block, columns, isOpen), []];
  laidOut.set(block, { columns, isOpen, rows });
  return rows;
}

/** Whether a block of this kind is open until someone folds it. */
export function opensItself(block: Block): boolean {
  return !["tool", "thinking", "session"].includes(block.kind);
}

const faint: Look = { dim: true };
const accent: Look = { color: 6, bold: true };

function layOutBlock(block: Block, columns: number, isOpen: boolean): Row[] {
  switch (block.kind) {
    case "user":
      return behind("▌ ", accent, folded(block.text, isOpen), {}, columns);
    case "text":
      return isOpen ? markdownRows(block.text, columns) : line(oneLine(block.text, columns), {}, columns);
    case "thinking":
      return isOpen
        ? behind("~ ", faint, block.text.trimEnd(), { dim: true, italic: true }, columns)
        : line(`~ ${oneLine(block.text, columns)}`, faint, columns);
    case "tool":
      return toolRows(block, columns, isOpen);
    case "diff":
      return isOpen ? diffRows(block.text, columns) : line(`± ${diffCounts(block.text)}`, faint, columns);
    case "session":
      return isOpen
        ? behind("◆ ", accent, `${block.agent}: ${block.task}`, {}, columns)
        : line(`◆ ${block.agent}: ${oneLine(block.task, columns)}`, accent, columns);
    case "turn":
      return line(`── ${block.text}`, faint, columns);
    case "note":
      return behind("· ", faint, folded(block.text, isOpen), faint, columns);
    case "error":
      return [
        ...behind("✗ ", { color: 1, bold: true }, block.text, { color: 1 }, columns),
        ...(block.hint === null ? [] : behind("  ", {}, block.hint, faint, columns)),
      ];
  }
}

/** `> tool(args) -- result` */
function toolRows(block: ToolBlock, columns: number, isOpen: boolean): Row[] {
  const { name, argument, result, output } = block;
  const bad = result?.isError === true;
  const look: Look = bad ? { color: 1 } : { color: 3 };
  const head = `${isOpen ? "v" : ">"} ${name}(`;
  const room = Math.max(8, Math.floor((columns - head.length - 5) * 0.6));
  const ending = result === null ? lastLine(output) || "…" : oneLine(result.text, columns) || "(nothing)";
  const summary = `${head}${fit(argument, room)}) -- ${ending}`;
  if (!isOpen) return line(summary, look, columns);
  const body = result === null ? output : result.text;
  return [
    ...line(`${head}${fit(argument, columns - head.length - 1)})`, look, columns),
    ...(block.input === "" ? [] : behind("  ", {}, block.input, faint, columns)),
    ...behind("  │ ", faint, body.trimEnd(), bad ? { color: 1 } : {}, columns),
  ];
}

function lastLine(text: string): string {
  return text.trimEnd().split("\n").at(-1) ?? "";
}

function diffRows(text: string, columns: number): Row[] {
  const look = (row: string): Look =>
    /^(\+\+\+|---) /.test(row)
      ? { bold: true }
      : row.startsWith("+")
        ? { color: 2 }
        : row.startsWith("-")
          ? { color: 1 }
          : row.startsWith("@@")
            ? { color: 6 }
            : {};
  return text
    .trimEnd()
    .split("\n")
    .flatMap((row) => wrapRuns([{ text: row, look: look(row) }], columns, 1));
}

function diffCounts(text: string): string {
  const count = (sign: string) => text.split("\n").filter((row) => row.startsWith(sign) && !row.startsWith(sign.repeat(3))).length;
  return `+${count("+")} -${count("-")}`;
}

function behind(mark: string, markLook: Look, text: string, look: Look, columns: number): Row[] {
  const inner = wrapRuns([{ text, look }], columns - mark.length);
  return inner.map((row) => [{ text: mark, look: markLook }, ...row]);
}

function folded(text: string, isOpen: boolean): string {
  return isOpen ? text.trimEnd() : oneLine(text, 200);
}

function line(text: string, look: Look, columns: number): Row[] {
  return [[{ text: fit(text, columns), look }]];
}
