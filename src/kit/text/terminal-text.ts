// Makes text from models, tools, projects and transcripts safe to print on a terminal. Every printer uses these functions,
// and the output of a terminal passes `safeForTerminal` once more.

/** Removes escape sequences and control characters. A line break becomes a blank. */
export function stripControls(text: string): string {
  return printable(Bun.stripANSI(text).replace(/\s+/g, " "));
}

/** Like `stripControls`, for one line; keeps its blanks. */
export function printable(line: string): string {
  return showDirections(Bun.stripANSI(line).replace(/\p{Cc}/gu, ""));
}

/** Like `printable`, for several lines; keeps their tabs. */
export function printableText(text: string): string {
  return showDirections(Bun.stripANSI(text).replace(/(?![\n\t])\p{Cc}/gu, ""));
}

/** Characters that change the order in which a terminal shows others. A diff with them can show other code than it has. */
const directions = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g;

/** U+202E becomes the text <U+202E>. */
export function showDirections(text: string): string {
  return text.replace(directions, (character) => `<U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}>`);
}

/** Colours, and the few movements that skein itself writes: a line that is repainted, a cleared screen, the paste mode. */
const ownSequence = String.raw`\[[\d;]*[ABCDGHJKm]|\[\?2004[hl]`;
const foreignControls = new RegExp(String.raw`\x1b(?!${ownSequence})|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]`, "g");

const incompleteEnd = new RegExp(String.raw`\x1b[^a-zA-Z]{0,32}$`);

/** The escape sequence that the end of a chunk cuts; "" if there is none. */
export function incompleteSequence(chunk: string): string {
  return incompleteEnd.exec(chunk)?.[0] ?? "";
}

/** Disables sequences that skein never writes, such as those that set the clipboard, the title or a link, or ask for an answer. */
export function safeForTerminal(text: string): string {
  return showDirections(text.replace(foreignControls, ""));
}
