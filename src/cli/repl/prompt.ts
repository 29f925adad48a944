// One entry at the prompt, key by key: the line, the way through history, and what only the outside can do
// (complete, stop, leave). Pure.
import { editActions, emptyEditLine, insertText, moveRow, type Edit, type EditLine } from "../../kit/text/line-edit.ts";
import type { Key } from "./keys.ts";

export type Prompt = {
  line: EditLine;
  /** Oldest first; `at` is where the line comes from, past the end for one's own. */
  history: readonly string[];
  at: number;
  draft: EditLine;
};

export type PromptAction = "complete" | "stop" | "leave" | "clear" | "suspend";
export type KeyResult = { prompt: Prompt; entered?: string; action?: PromptAction };

export function freshPrompt(history: readonly string[]): Prompt {
  return { line: emptyEditLine, history, at: history.length, draft: emptyEditLine };
}

export function press(prompt: Prompt, key: Key): KeyResult {
  const { line } = prompt;
  if ("text" in key) return withLine(prompt, insertText(line, key.name === "paste" ? key.text.replace(/\n+$/, "") : key.text));
  switch (key.name) {
    case "enter": {
      const more = continuationOf(line.text);
      return more === null ? { prompt, entered: line.text } : withLine(prompt, { text: more, cursor: more.length });
    }
    case "newline":
      return withLine(prompt, insertText(line, "\n"));
    case "up":
    case "down":
      return upOrDown(prompt, key.name === "up" ? -1 : 1);
    case "tab":
      return { prompt, action: "complete" };
    case "clear":
    case "suspend":
      return { prompt, action: key.name };
    case "stop":
      return line.text === "" ? { prompt, action: "stop" } : { prompt: freshPrompt(prompt.history), action: "stop" };
    case "leave":
      return line.text === "" ? { prompt, action: "leave" } : withLine(prompt, editActions.delete(line));
    default: {
      const edit: Edit | undefined = (editActions as Record<string, Edit>)[key.name];
      return edit === undefined ? { prompt } : withLine(prompt, edit(line));
    }
  }
}

/** The text to go on with when an entry is not finished: a backslash at its end, or an open ``` fence. */
export function continuationOf(text: string): string | null {
  const slashes = /\\+$/.exec(text)?.[0].length ?? 0;
  if (slashes % 2 === 1) return `${text.slice(0, -1)}\n`;
  const fences = text.split("\n").filter((row) => row.trimStart().startsWith("```")).length;
  return fences % 2 === 1 ? `${text}\n` : null;
}

function withLine(prompt: Prompt, line: EditLine): KeyResult {
  return { prompt: { ...prompt, line } };
}

function upOrDown(prompt: Prompt, by: -1 | 1): KeyResult {
  const moved = moveRow(prompt.line, by);
  if (moved !== null) return withLine(prompt, moved);
  const at = prompt.at + by;
  if (at < 0 || at > prompt.history.length) return { prompt };
  const draft = prompt.at === prompt.history.length ? prompt.line : prompt.draft;
  const text = prompt.history[at];
  const line = text === undefined ? draft : { text, cursor: text.length };
  return { prompt: { ...prompt, at, draft, line } };
}
