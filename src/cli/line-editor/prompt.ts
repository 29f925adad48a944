// Edits one entry at the prompt, key by key: the line and the history. Actions that need the terminal or the REPL
// (complete, stop, leave, clear, suspend) are returned to the caller. Pure.
import { editActions, emptyEditLine, insertText, moveRow, recallEntry } from "../../kit/text/line-edit.ts";
import type { EditLine, RecallableLine } from "../../kit/text/line-edit.ts";
import type { TerminalKey } from "./keys.ts";

export type Prompt = RecallableLine & {
  /** Earlier entries, oldest first. */
  history: readonly string[];
};

export type PromptAction = "complete" | "stop" | "leave" | "clear" | "suspend";
export type KeyResult = { prompt: Prompt; entered?: string; action?: PromptAction };

export function freshPrompt(history: readonly string[]): Prompt {
  return { line: emptyEditLine, recalled: null, history };
}

export function press(prompt: Prompt, key: TerminalKey): KeyResult {
  const { line } = prompt;
  const withLine = (next: EditLine): KeyResult => ({ prompt: { ...prompt, line: next } });
  if ("text" in key) return withLine(insertText(line, key.name === "paste" ? key.text.replace(/\n+$/, "") : key.text));
  switch (key.name) {
    case "enter": {
      const continued = continuationOf(line.text);
      return continued === null ? { prompt, entered: line.text } : withLine({ text: continued, cursor: continued.length });
    }
    case "newline":
      return withLine(insertText(line, "\n"));
    case "up":
    case "down": {
      const delta = key.name === "up" ? -1 : 1;
      const moved = moveRow(line, delta);
      return moved === null ? { prompt: { ...prompt, ...recallEntry(prompt.history, prompt, delta) } } : withLine(moved);
    }
    case "complete":
    case "clear":
    case "suspend":
      return { prompt, action: key.name };
    case "stop":
      return { prompt: line.text === "" ? prompt : freshPrompt(prompt.history), action: "stop" };
    case "leave":
      return line.text === "" ? { prompt, action: "leave" } : withLine(editActions.delete(line));
    case "other":
      return { prompt };
    default:
      return withLine(editActions[key.name](line));
  }
}

/** The text to continue with if the entry is not complete: it ends with a backslash, or a ``` fence is open. Else null. */
export function continuationOf(text: string): string | null {
  const slashes = /\\+$/.exec(text)?.[0].length ?? 0;
  if (slashes % 2 === 1) return `${text.slice(0, -1)}\n`;
  const fences = text.split("\n").filter((row) => row.trimStart().startsWith("```")).length;
  return fences % 2 === 1 ? `${text}\n` : null;
}
