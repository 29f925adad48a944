// Decodes input of a terminal in raw mode into keys: escape sequences of common terminals, and bracketed paste.
// It buffers a sequence that arrives in pieces. It does not decide what a key does.
import type { editActions } from "../../kit/text/line-edit.ts";

export type TerminalKey = { name: KeyName } | { name: "text" | "paste"; text: string };

/** Keys that edit have the names of their actions. */
export type KeyName = keyof typeof editActions | PromptKey | "other";
type PromptKey = "enter" | "newline" | "up" | "down" | "complete" | "clear" | "stop" | "leave" | "suspend";

/** Returns a decoder. Each call returns the complete keys and buffers an incomplete sequence. */
export function keyDecoder(): (input: string) => TerminalKey[] {
  let pending = "";
  return (input) => {
    const keys: TerminalKey[] = [];
    let undecoded = pending + input;
    pending = "";
    while (undecoded !== "") {
      const next = decodeKey(undecoded);
      if (next === null) {
        pending = undecoded;
        break;
      }
      keys.push(next.key);
      undecoded = undecoded.slice(next.length);
    }
    return keys;
  };
}

const pasteStart = "\x1b[200~";
const pasteEnd = "\x1b[201~";

const controlKeys: Record<string, KeyName> = {
  "\r": "enter",
  "\n": "newline", // Ctrl-J, and Shift-Enter of some terminals
  "\t": "complete",
  "\x7f": "backspace",
  "\b": "backspace",
  "\x01": "home",
  "\x05": "end",
  "\x02": "left",
  "\x06": "right",
  "\x10": "up",
  "\x0e": "down",
  "\x0b": "kill-end",
  "\x15": "kill-start",
  "\x17": "kill-word",
  "\x0c": "clear",
  "\x03": "stop",
  "\x04": "leave",
  "\x1a": "suspend",
};

/** Keys by the sequence after `ESC [` or `ESC O`. */
const sequenceKeys: Record<string, KeyName> = {
  A: "up",
  B: "down",
  C: "right",
  D: "left",
  H: "home",
  F: "end",
  "1~": "home",
  "7~": "home",
  "4~": "end",
  "8~": "end",
  "3~": "delete",
  "1;5C": "word-right",
  "1;3C": "word-right",
  "1;5D": "word-left",
  "1;3D": "word-left",
  "13;2u": "newline", // Shift-Enter and Alt-Enter where the terminal distinguishes them
  "13;3u": "newline",
  "27;2;13~": "newline",
};

/** Keys by the character after ESC: Alt with a key. */
const altKeys: Record<string, KeyName> = {
  "\r": "newline",
  "\n": "newline",
  b: "word-left",
  f: "word-right",
  "\x7f": "kill-word",
};

type Decoded = { key: TerminalKey; length: number };

/** Null if the sequence is incomplete. */
function decodeKey(text: string): Decoded | null {
  if (text.startsWith("\x1b")) return decodeEscape(text);
  // oxlint-disable-next-line no-control-regex
  const plainText = /^[^\x00-\x1f\x7f]+/.exec(text)?.[0];
  if (plainText !== undefined) return { key: { name: "text", text: plainText }, length: plainText.length };
  return { key: { name: controlKeys[text[0]!] ?? "other" }, length: 1 };
}

function decodeEscape(text: string): Decoded | null {
  if (text.startsWith(pasteStart)) {
    const end = text.indexOf(pasteEnd);
    if (end < 0) return null;
    const pasted = text.slice(pasteStart.length, end).replace(/\r\n?/g, "\n");
    return { key: { name: "paste", text: pasted }, length: end + pasteEnd.length };
  }
  // oxlint-disable-next-line no-control-regex
  if (/^\x1b([[O][0-9;?<]*)?$/.test(text)) return null;
  // oxlint-disable-next-line no-control-regex
  const sequence = /^\x1b[[O]([0-9;?<]*[@-~])/.exec(text);
  if (sequence !== null) return { key: { name: sequenceKeys[sequence[1]!] ?? "other" }, length: sequence[0].length };
  return { key: { name: altKeys[text[1]!] ?? "other" }, length: 2 };
}
