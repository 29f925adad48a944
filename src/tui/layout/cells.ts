// Measures text in terminal cells, and removes characters that must not be printed: those without width, those that
// change the writing direction, and those that move the cursor.

const hidden =
  /[^\P{Cc}\n\t]|[\u00AD\u061C\u115F\u1160\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\u3164\uFEFF\uFFA0\u{E0000}\u{E0001}\u0600-\u0605\u06DD\u070F\u08E2]/gu;
const plain = /^[\x20-\x7e]*$/;
/** A combining mark without a letter would be drawn on the cell to its left. */
const strayMark = /^(?:\p{M}|\u200C|\u200D)+/u;

/** The printable text of a line. Tabs go to the next multiple of four columns. */
export function printableText(line: string): string {
  if (plain.test(line)) return line;
  const clean = line.toWellFormed().replace(hidden, "").replace(strayMark, "");
  return clean.includes("\t") ? expandTabs(clean) : clean;
}

const tabColumns = 4;

function expandTabs(line: string): string {
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

export function clustersOf(text: string): { text: string; cells: number }[] {
  if (plain.test(text)) return Array.from(text, (letter) => ({ text: letter, cells: 1 }));
  return Array.from(segmenter.segment(text), ({ segment }) => ({ text: segment, cells: Bun.stringWidth(segment) }));
}
