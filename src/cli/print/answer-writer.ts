// Writes an answer piece by piece, and other lines between the pieces, each on its own line.
import type { TextOutput } from "../parse/command.ts";
import { printableText } from "../terminal/style.ts";

/** `out` gets the answer, `lineOut` the lines between its pieces. Both may be streams of one terminal. */
export function createAnswerWriter(out: TextOutput, lineOut = out) {
  let streamed = "";
  let isMidLine = false;
  function endLine(): void {
    if (isMidLine) out.write("\n");
    isMidLine = false;
  }
  function append(text: string): void {
    if (text === "") return;
    streamed += text;
    out.write(out.isTty ? printableText(text) : text);
    isMidLine = !text.endsWith("\n");
  }
  function printLines(...lines: string[]): void {
    if (lines.length === 0) return;
    endLine();
    lineOut.write(`${lines.join("\n")}\n`);
  }
  function endAnswer(): void {
    endLine();
    streamed = "";
  }
  /** Sets the answer so far. Text that is already on the screen is not written again. */
  function setAnswer(text: string): void {
    if (!text.startsWith(streamed)) endAnswer();
    append(text.slice(streamed.length));
  }
  return { printLines, append, setAnswer, endAnswer, isEmpty: () => streamed === "" };
}
