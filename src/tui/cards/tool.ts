// Renders a tool call: `> tool(args) -- result` on a line. While it runs, the last rows of its output are below.
// An open call shows its whole input and output.
import type { TextStyle } from "../../kit/text/ansi.ts";
import { formatDuration } from "../../kit/text/duration.ts";
import { oneLine } from "../../kit/text/cut-text.ts";
import { mainArgument } from "../../protocol/tree/node.ts";
import type { ToolBlock } from "../model/blocks.ts";
import { bad, busy, faint, good } from "../layout/styles.ts";
import { prefixedText, strip, stripsOf, type Strip } from "./strips.ts";
import { styled, fit, oneRow, shortText } from "../layout/wrap.ts";

const inputReader = prefixedText(styled("  "), faint);
const outputReader = prefixedText(styled("  │ ", faint), {});
const errorReader = prefixedText(styled("  │ ", faint), bad);
const tailRows = 5;
const maxShownLines = 20;

export function toolStrips(block: ToolBlock, columns: number, isOpen: boolean): readonly Strip[] {
  const { result, input, output, span } = block;
  const style: TextStyle = result === null ? busy : result.isError ? bad : good;
  const took = span.tookMs !== null && span.tookMs >= 1000 ? ` · ${formatDuration(span.tookMs)}` : "";
  const name = oneLine(block.name, 60);
  const shownLines = isOpen ? [] : commandLines(block);
  const ending = result === null ? "…" : shownLines.length > 0 ? commandEnding(result) : endingOf(result);
  const width = columns - name.length - took.length - 4;
  const head = strip(() => {
    const argument = fit(argumentText(input), isOpen ? width : Math.max(8, Math.floor((width - 4) * 0.6)));
    const summary = isOpen || ending === "" ? "" : ` -- ${fit(ending, Math.max(1, width - 4 - Bun.stringWidth(argument)))}`;
    const resultRun = styled(summary, result?.isError === true ? bad : faint);
    return [oneRow([styled(`${isOpen ? "v" : ">"} ${name}`, style), styled(`(${argument})`), resultRun, styled(took, faint)], columns)];
  });
  if (shownLines.length > 0) return [head, ...stripsOf(outputReader, shownLines.join("\n"), columns)];
  if (!isOpen) return result === null && output !== "" ? [head, tailStrip(output, columns)] : [head];
  const body = result === null ? output : result.text;
  return [
    head,
    ...(showsWholeInput(input, fit(argumentText(input), width)) ? [] : stripsOf(inputReader, inputText(input), columns)),
    ...(body.trim() === "" ? [] : stripsOf(result?.isError === true ? errorReader : outputReader, body.trimEnd(), columns)),
  ];
}

/** The lines of output that a folded command of the user shows. Empty if one row has room for the output. */
function commandLines({ isUserCommand, result }: ToolBlock): string[] {
  if (isUserCommand !== true || result === null) return [];
  const lines = printedText(result.text).split("\n");
  const output = result.isError ? lines.slice(0, -1) : lines;
  if (output.length < 2) return [];
  if (output.length <= maxShownLines) return output;
  const more = `(${output.length - maxShownLines} more lines: open the block)`;
  return result.isError ? [more, ...output.slice(-maxShownLines)] : [...output.slice(0, maxShownLines), more];
}

/** How a command ended whose output is shown below. Empty if it succeeded. */
function commandEnding({ text, isError }: { text: string; isError: boolean }): string {
  return isError ? shortText(printedText(text), "last line") : "";
}

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

/** The result on one line. For an error, the last line comes first, because it has the reason. */
function endingOf({ text, isError }: { text: string; isError: boolean }): string {
  const beginning = shortText(text) || "(no output)";
  const trimmed = text.trim();
  const lastLine = shortText(trimmed, "last line");
  if (!isError || !trimmed.includes("\n") || lastLine.length > 100) return beginning;
  return `${lastLine}: ${shortText(trimmed.slice(0, trimmed.lastIndexOf("\n")))}`;
}

function argumentText(input: ToolBlock["input"]): string {
  return shortText(typeof input === "string" ? input : mainArgument(input));
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
