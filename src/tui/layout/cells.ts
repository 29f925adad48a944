// Text as cells of a terminal: what of it can be shown at all, and how many cells that takes. What has no width, turns
// the direction of writing around or moves the cursor is never shown.

const hidden =
  /[^\P{Cc}\n\t]|[\u00AD\u061C\u115F\u1160\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\u3164\uFEFF\uFFA0\u{E0000}\u{E0001}\u0600-\u0605\u06DD\u070F\u08E2]/gu;
const plain = /^[\x20-\x7e]*$/;
/** A mark without a letter before it would lie on whatever stands in the cell to its left. */
const strayMark = /^(?:\p{M}|\u200C|\u200D)+/u;

/** Of one line; its tabs lead to the next column that is a multiple of four. */
export function printableText(line: string): string {
  if (plain.test(line)) return line;
  const clean = line.toWellFormed().replace(hidden, "").replace(strayMark, "");
  return clean.includes("\t") ? withoutTabs(clean) : clean;
}

const tabColumns = 4;

function withoutTabs(line: string): string {
  const [first = "", ...rest] = line.split("\t");
  let column = cellsOf(first);
  return rest.reduce((text, piece) => {
    const blanks = tabColumns - (column % tabColumns);
    column += blanks + cellsOf(piece);
    return text + " ".repeat(blanks) + piece;
  }, first);
}

export function cellsOf(text: string): number {
  return plain.test(text) ? text.length : Bun.stringWidth(text);
}

const segmenter = new Intl.Segmenter();

/** The characters as a reader sees them, each with its cells. */
export function clustersOf(text: string): { text: string; cells: number }[] {
  if (plain.test(text)) return Array.from(text, (letter) => ({ text: letter, cells: 1 }));
  return Array.from(segmenter.segment(text), ({ segment }) => ({ text: segment, cells: Bun.stringWidth(segment) }));
}
