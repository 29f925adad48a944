// A box with a title, as wide as the screen, and what an overlay looks like to it.
import type { Look } from "../../kit/ansi.ts";
import type { Bindings } from "../bindings.ts";
import { fit, type Row } from "../cards/wrap.ts";

/** What an overlay may fill, and what it must know to tell keys. */
export type Room = { columns: number; height: number; bindings: Bindings };

export type OverlayView = {
  rows: Row[];
  cursor: { row: number; column: number } | null;
  /** The message is still being typed. */
  isBeside?: true;
};

/** A line of a box; one that is chosen stands out. */
export type BoxLine = string | { text: string; look: Look };

export const chosen: Look = { inverse: true };

export function boxed(title: string, lines: readonly BoxLine[], columns: number): Row[] {
  const inner = Math.max(1, columns - 4);
  const head = fit(` ${title} `, inner);
  const edge = { color: 6 };
  const row = (line: BoxLine): Row => {
    const { text, look } = typeof line === "string" ? { text: line, look: {} } : line;
    const shown = fit(text, inner);
    const rest = " ".repeat(Math.max(0, inner - Bun.stringWidth(shown)));
    return [
      { text: "│ ", look: edge },
      { text: shown + rest, look },
      { text: " │", look: edge },
    ];
  };
  return [
    [{ text: `┌─${head}${"─".repeat(Math.max(0, columns - Bun.stringWidth(head) - 3))}┐`, look: edge }],
    ...lines.map(row),
    [{ text: `└${"─".repeat(Math.max(0, columns - 2))}┘`, look: edge }],
  ];
}

/** So many lines around the one that is chosen; the first of them, too. */
export function windowAround<T>(lines: readonly T[], at: number, height: number): { first: number; shown: readonly T[] } {
  const room = Math.max(1, height);
  const first = Math.max(0, Math.min(at - Math.floor(room / 2), lines.length - room));
  return { first, shown: lines.slice(first, first + room) };
}
