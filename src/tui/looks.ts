// How things look: the terminal's own sixteen colours and attributes, nothing else. Those that are hard to read on a
// light or a dark background (white, black, blue, yellow, the bright ones) are not used; many terminals make what is bold
// bright, so green and cyan never are.
import type { Look } from "../kit/ansi.ts";

export const faint: Look = { dim: true };
export const accent: Look = { color: 6 };
export const good: Look = { color: 2 };
export const bad: Look = { color: 1 };
export const busy: Look = { color: 5, bold: true };
export const waiting: Look = { color: 5 };
export const heading: Look = { color: 5, bold: true };
export const marker: Look = { color: 5 };
export const code: Look = { color: 6 };
export const frame: Look = { color: 6 };

/** Prose is easier to read in rows that are not longer; code, tables and output take all there is. */
export const proseColumns = 100;
