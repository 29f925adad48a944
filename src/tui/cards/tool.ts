// Renders a tool call as one line with what matters: `> read lib/hooks.js · 40 lines`. A failed command also shows its
// last lines, a running one the last rows of its output. An open call shows its whole input and output.
import type { TextStyle } from "../../kit/text/ansi.ts";
import { formatDuration } from "../../kit/text/duration.ts";
import { oneLine, pluralize } from "../../kit/text/cut-text.ts";
import { mainArgument } from "../../protocol/tree/node.ts";
import type { ToolBlock } from "../model/blocks.ts";
import { bad, busy, faint, good } from "../layout/styles.ts";
import { prefixedText, strip, stripsOf, type Strip } from "./strips.ts";
import { styled, cellsOf, cellsOfRow, fit, oneRow, shortText, type Row } from "../layout/wrap.ts";

const inputReader = prefixedText(styled("  "), faint);
const outputReader = prefixedText(styled("  │ ", faint), {});
const errorReader = prefixedText(styled("  │ ", faint), bad);
const tailRows = 5;
/** Lines of output that a folded command of the user shows, and a failed command of an agent. */
const maxUserLines = 20;
const maxFailureLines = 6;

export function toolStrips(block: ToolBlock, columns: number, isOpen: boolean): readonly Strip[] {
  const { result, input, output, span } = block;
  const argument = shortText(typeof input === "string" ? input : mainArgument(input));
  const lines = isOpen ? [] : outputLines(block);
  const head = strip(() => [
    callRow({
      mark: markOf(isOpen),
      style: result === null ? busy : result.isError ? bad : good,
      name: block.name,
      argument,
      facts: [...(isOpen || result === null ? [] : factsOf(block, lines.length > 0)), ...durationFacts(span.tookMs)].map((fact) => [
        styled(fact, result?.isError === true ? bad : faint),
      ]),
      isRunning: result === null,
      columns,
    }),
  ]);
  if (lines.length > 0) return [head, ...stripsOf(outputReader, lines.join("\n"), columns)];
  if (!isOpen) return result === null && output !== "" ? [head, tailStrip(output, columns)] : [head];
  const body = result === null ? output : result.text;
  const isInputShown = showsWholeInput(input, fit(argument, argumentCells(columns, block.name, [])));
  return [
    head,
    ...(isInputShown ? [] : stripsOf(inputReader, inputText(input), columns)),
    ...(body.trim() === "" ? [] : stripsOf(result?.isError === true ? errorReader : outputReader, body.trimEnd(), columns)),
  ];
}

export function markOf(isOpen: boolean): string {
  return isOpen ? "v" : ">";
}

export function durationFacts(tookMs: number | null): string[] {
  return tookMs !== null && tookMs >= 1000 ? [formatDuration(tookMs)] : [];
}

type CallRow = {
  mark: string;
  style: TextStyle;
  name: string;
  argument: string;
  facts: readonly Row[];
  isRunning?: boolean;
  columns: number;
};

/** `> name argument · fact · fact`. A long argument leaves room for the facts; a long fact is cut at the end. */
export function callRow({ mark, style, name, argument, facts, isRunning = false, columns }: CallRow): Row {
  const tail = [...facts.flatMap((fact) => [styled(" · ", faint), ...fact]), ...(isRunning ? [styled(" …", faint)] : [])];
  const visible = fit(argument, argumentCells(columns, name, tail));
  const runs = [styled(`${mark} ${oneLine(name, 60)}`, style), styled(visible === "" ? "" : ` ${visible}`), ...tail];
  return oneRow(runs, columns);
}

function argumentCells(columns: number, name: string, tail: Row): number {
  const available = columns - cellsOf(oneLine(name, 60)) - 3;
  return Math.max(Math.min(8, available), Math.floor(available * 0.6), available - cellsOfRow(tail));
}

/** The facts of an ended call: lines read, a short output, or how it failed. */
function factsOf({ name, result, input }: ToolBlock, hasLinesBelow: boolean): string[] {
  const { text, isError } = result!;
  if (isError) return failureFacts(text, hasLinesBelow);
  const printed = printedText(text);
  const readLines = /^(read|view|cat)/i.test(name) ? (printed.match(/^ *\d+[\t→]/gm)?.length ?? 0) : 0;
  if (readLines > 0) return [pluralize(readLines, "line")];
  if (hasLinesBelow) return [];
  if (printed.trim() === "" || printed === "(no output)") return ["no output"];
  const lines = printed.trim().split("\n").length;
  return [lines > 1 ? pluralize(lines, "line") : withoutPath(shortText(printed), input)];
}

/** `wrote a.ts: 5 lines` without the path, which the line of the call shows already. */
function withoutPath(text: string, input: ToolBlock["input"]): string {
  const path = typeof input === "string" ? "" : mainArgument(input);
  return path !== "" && text.startsWith(`wrote ${path}: `) ? text.slice(`wrote ${path}: `.length) : text;
}

const ending = /^(?:exit code (\d+)|killed by \w+|timed out after .*|cancelled.*)$/;

function failureFacts(text: string, hasLinesBelow: boolean): string[] {
  const lastLine = shortText(printedText(text), "last line");
  const found = ending.exec(lastLine);
  if (found !== null) return [found[1] === undefined ? lastLine.split(";")[0]! : `exit ${found[1]}`];
  return [hasLinesBelow ? "failed" : lastLine || "failed"];
}

/** The lines of output below a folded call: of a command of the user, and of a failed call. Empty if its row has room for them. */
function outputLines({ isUserCommand, result }: ToolBlock): string[] {
  if (result === null || (isUserCommand !== true && !result.isError)) return [];
  const lines = printedText(result.text).split("\n");
  const hasEnding = result.isError && ending.test(lines.at(-1) ?? "");
  const printed = hasEnding ? lines.slice(0, -1) : lines;
  const output = printed.length === 1 && printed[0] === "(no output)" ? [] : printed;
  const fitsInRow = hasEnding ? output.length === 0 : output.length < 2;
  if (fitsInRow) return [];
  const max = isUserCommand === true ? maxUserLines : maxFailureLines;
  if (output.length <= max) return output;
  const more = `… ${pluralize(output.length - max, result.isError ? "earlier line" : "more line")}${howToOpen}`;
  return result.isError ? [more, ...output.slice(-max)] : [...output.slice(0, max), more];
}

/** How to see folded lines. The command is the same in all key presets. */
export const howToOpen = " (Ctrl+O shows all)";

/** The text without the pointer to the stored output, which is for the model. */
function printedText(text: string): string {
  return text.replace(/\n\[whole output, \d+ bytes: [^\n]*\]$/, "").trimEnd();
}

function tailStrip(output: string, columns: number): Strip {
  return strip(() =>
    stripsOf(outputReader, output.trim(), columns)
      .slice(-tailRows)
      .flatMap((part) => part())
      .slice(-tailRows),
  );
}

function showsWholeInput(input: ToolBlock["input"], argument: string): boolean {
  const values = typeof input === "string" ? [input] : Object.values(input);
  return values.length === 0 || (values.length === 1 && values[0] === argument);
}

/** The whole input, with the name of each argument. */
export function inputText(input: ToolBlock["input"]): string {
  if (typeof input === "string") return input.trimEnd();
  return Object.entries(input)
    .map(([key, value]) => `${key}: ${typeof value === "string" ? value.trimEnd() : JSON.stringify(value)}`)
    .join("\n");
}
