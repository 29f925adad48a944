// Keys that no command can use, for the help and docs/KEYS.md only. `update-by-key.ts` and the composer handle them.
import type { KeyPreset } from "../../protocol/api/settings.ts";

type FixedKey = { keys: string; summary: string };

const typing: readonly FixedKey[] = [
  { keys: "Enter", summary: "while typing: send, also to a running turn" },
  { keys: "Shift+Enter, Ctrl+J, \\ Enter", summary: "while typing: insert a line break" },
  { keys: "Up, Down", summary: "while typing: move by rows, then in history" },
  { keys: "Alt+B, Alt+F", summary: "while typing: one word back or forward" },
  { keys: "Ctrl+W, Ctrl+U, Ctrl+K", summary: "while typing: delete word, to start, to end" },
  { keys: "Ctrl+_", summary: "while typing: undo" },
  { keys: "Tab", summary: "while typing: complete a path or a command" },
  { keys: "@", summary: "while typing: complete the path of a file" },
  { keys: "/", summary: "at the start of a message: a command" },
  { keys: "!", summary: "at the start of a message: run it in a shell" },
  { keys: "Ctrl+D", summary: "on an empty prompt: quit" },
];

export const fixedKeys: Readonly<Record<KeyPreset, readonly FixedKey[]>> = {
  plain: [
    { keys: "Esc", summary: "close what is open; else stop the turn" },
    { keys: "Esc Esc", summary: "go back to an earlier message" },
    { keys: "Ctrl+C", summary: "clear the message; stop the turn; quit" },
    ...typing,
    { keys: "Tab", summary: "on an empty prompt: answer a question" },
    { keys: "Enter", summary: "on an empty prompt: open or fold the block" },
  ],
  vi: [
    { keys: "Esc", summary: "close what is open; else stop the turn" },
    { keys: "Esc Esc", summary: "in Normal mode: back to an earlier message" },
    { keys: "Ctrl+C", summary: "clear the message; stop the turn; quit" },
    { keys: "Space", summary: "in Normal mode or an empty prompt: see below" },
    ...typing,
  ],
};
