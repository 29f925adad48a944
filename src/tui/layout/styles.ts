// How things look: the terminal's own sixteen colours and attributes, nothing else. Those that are hard to read on a
// light or a dark background (white, black, blue, yellow, the bright ones) are not used; many terminals make what is bold
// bright, so green and cyan never are.
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

/** Prose is easier to read in rows that are not longer; code, tables and output take all there is. */
export const proseColumns = 100;
