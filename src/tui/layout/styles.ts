// The styles of the screen, with the terminal's sixteen colours and attributes. White, black, blue, yellow and the bright
// colours are not used, because they are hard to read on a light or dark background. Many terminals make bold text
// bright, so green and cyan are never bold.
import type { TextStyle } from "../../kit/text/ansi.ts";

export const faint: TextStyle = { dim: true };
export const accent: TextStyle = { color: 6 };
export const good: TextStyle = { color: 2 };
export const bad: TextStyle = { color: 1 };
export const busy: TextStyle = { color: 5, bold: true };
export const waiting: TextStyle = { color: 5 };
export const heading: TextStyle = { color: 5, bold: true };
export const marker: TextStyle = { color: 5 };
export const code: TextStyle = { color: 6 };
export const frame: TextStyle = { color: 6 };

/** Maximum width of prose, for readability. Code, tables and output use the full width. */
export const proseColumns = 100;
