// A call of a tool: `> tool(args) -- result` on a line; while it runs the last rows of what it prints stand below, and
// open it shows all that it was given and gave.
import type { TextStyle } from "../../kit/text/ansi.ts";
import { formatDuration } from "../../kit/text/duration.ts";
import { oneLine } from "../../kit/text/cut-text.ts";
import type { ToolBlock } from "../model/blocks.ts";
import { bad, busy, faint, good } from "../layout/styles.ts";
import { prefixedText, strip, stripsOf, type Strip } from "./strips.ts";
import { fit, oneRow, shortText } from "../layout/wrap.ts";

const given = prefixedText({ text: "  ", style: {} }, faint);
const gave = prefixedText({ text: "  │ ", style: faint }, {});
const gaveError = prefixedText({ text: "  │ ", style: faint }, bad);
const tailRows = 5;

export function toolStrips(block: ToolBlock, columns: number, isOpen: boolean): readonly Strip[] {
  const { result, input, output, span } = block;
  const style: TextStyle = result === null ? busy : result.isError ? bad : good;
  const took = span.tookMs !== null && span.tookMs >= 1000 ? ` · ${formatDuration(span.tookMs)}` : "";
  const name = oneLine(block.name, 60);
  const ending = result === null ? "…" : endingOf(result);
  const room = columns - name.length - took.length - 4;
  const head = strip(() => {
    const argument = fit(mainArgument(input), isOpen ? room : Math.max(8, Math.floor((room - 4) * 0.6)));
    const rest = isOpen ? "" : ` -- ${fit(ending, Math.max(1, room - 4 - Bun.stringWidth(argument)))}`;
    const told = { text: rest, style: result?.isError === true ? bad : faint };
    return [
      oneRow(
        [{ text: `${isOpen ? "v" : ">"} ${name}`, style: style }, { text: `(${argument})`, style: {} }, told, { text: took, style: faint }],
        columns,
      ),
    ];
  });
  if (!isOpen) return result === null && output !== "" ? [head, tailStrip(output, columns)] : [head];
  const body = result === null ? output : result.text;
  return [
    head,
    ...(isAllOf(input, fit(mainArgument(input), room)) ? [] : stripsOf(given, inputText(input), columns)),
    ...(body.trim() === "" ? [] : stripsOf(result?.isError === true ? gaveError : gave, body.trimEnd(), columns)),
  ];
}

function tailStrip(output: string, columns: number): Strip {
  return strip(() =>
    stripsOf(gave, output.trim(), columns)
      .slice(-tailRows)
      .flatMap((each) => each())
      .slice(-tailRows),
  );
}

/** Why it failed stands at the end of what it gave. */
function endingOf({ text, isError }: { text: string; isError: boolean }): string {
  const whole = shortText(text) || "(nothing)";
  const trimmed = text.trim();
  const last = shortText(trimmed, "last line");
  if (!isError || !trimmed.includes("\n") || last.length > 100) return whole;
  return `${last}: ${shortText(trimmed.slice(0, trimmed.lastIndexOf("\n")))}`;
}

/** What a call is mostly about, on one line. */
export function mainArgument(input: ToolBlock["input"]): string {
  if (typeof input === "string") return shortText(input);
  const main = input["command"] ?? input["path"] ?? input["task"] ?? input["question"];
  if (typeof main === "string") return shortText(main);
  return Object.keys(input).length === 0 ? "" : shortText(JSON.stringify(input));
}

/** Whether the head has shown all that it was given. */
function isAllOf(input: ToolBlock["input"], shown: string): boolean {
  const values = typeof input === "string" ? [input] : Object.values(input);
  return values.length === 0 || (values.length === 1 && values[0] === shown);
}

function inputText(input: ToolBlock["input"]): string {
  if (typeof input === "string") return input.trimEnd();
  return Object.entries(input)
    .map(([key, value]) => `${key}: ${typeof value === "string" ? value.trimEnd() : JSON.stringify(value)}`)
    .join("\n");
}
