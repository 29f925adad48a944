// An overlay with a longer text to scroll: the help, costs, the plan, a comparison of branches.
import { helpText } from "../keys/help.ts";
import { good } from "../layout/styles.ts";
import { blanks, cellsOf, cellsOfRow, fit, wrapRuns, type Row } from "../layout/wrap.ts";
import { transcriptHeight } from "../layout/screen-layout.ts";
import { step, type Key, type State, type UpdateResult } from "../model/state.ts";
import type { Overlay } from "./index.ts";
import { drawBox, type BoxLine, type OverlayView, type OverlayArea } from "./box.ts";

export type TextOverlay = {
  kind: "text";
  topic: keyof typeof titles;
  /** Empty for the help, which depends on the key bindings. */
  lines: readonly BoxLine[];
  top: number;
  /** The overlay that is shown again when this one closes. */
  under?: Overlay;
};

const titles = {
  help: "help",
  costs: "costs of this session",
  plan: ".skein/plan.md",
  comparison: "comparison of two branches",
  diff: "changed files (w: who wrote each line)",
  writers: "writers of the changed files (w: changes)",
  context: "what the model gets",
  login: "keys and sign-ins",
  mcp: "MCP servers",
  race: "race",
};

/** Topics with Markdown or prose. */
const prose: ReadonlySet<string> = new Set(["plan", "context", "login", "mcp"]);

/** `w` changes between the two forms of the changed files. */
const otherForm: Partial<Record<TextOverlay["topic"], "diff" | "writers">> = { diff: "writers", writers: "diff" };

const rowMoves: Record<string, number> = { j: 1, down: 1, k: -1, up: -1 };
const pageMoves: Record<string, number> = { pagedown: 1, pageup: -1, "ctrl+d": 0.5, "ctrl+u": -0.5 };

export function handleTextKey(state: State, overlay: TextOverlay, { name }: Key): UpdateResult {
  if (name === "escape" || name === "q") return step({ ...state, overlay: overlay.under ?? null });
  const other = name === "w" ? otherForm[overlay.topic] : undefined;
  if (other !== undefined) return step(openText(state, other, ["loading…"], overlay.under), { type: "report", topic: other });
  const height = textHeight(transcriptHeight(state));
  const lastTop = linesOf(overlay, { columns: state.size.columns, bindings: state.bindings }).length - height;
  const delta = rowMoves[name] ?? Math.round((pageMoves[name] ?? 0) * height);
  const top = name === "g" ? 0 : name === "G" ? lastTop : Math.min(overlay.top, lastTop) + delta;
  return step({ ...state, overlay: { ...overlay, top: Math.max(0, Math.min(lastTop, top)) } });
}

export function textOverlayView(overlay: TextOverlay, { columns, height, bindings }: OverlayArea): OverlayView {
  const { topic, top } = overlay;
  const lines = linesOf(overlay, { columns, bindings });
  const visibleRows = textHeight(height);
  const first = Math.min(top, Math.max(0, lines.length - visibleRows));
  const title = titles[topic];
  const position = `${first + 1}-${first + visibleRows} of ${lines.length}`;
  const scrolling =
    lines.length > visibleRows
      ? [
          `${title}, ${position}: ${bindings.preset === "vi" ? "j and k" : "arrows"} scroll, Esc closes`,
          `${title}, ${position}: Esc closes`,
          `${position}: arrows scroll, Esc closes`,
        ]
      : [];
  const forms = [...scrolling, `${title}: Esc closes`, "Esc closes"];
  return { rows: drawBox(forms, lines.slice(first, first + visibleRows), columns), cursor: null };
}

function textHeight(height: number): number {
  return Math.max(1, height - 2);
}

function linesOf({ topic, lines }: TextOverlay, { columns, bindings }: Omit<OverlayArea, "height">): readonly BoxLine[] {
  if (topic === "help") return helpText(bindings, columns);
  if (topic === "race") return lines;
  if (topic === "writers") return lines.flatMap((line) => writerRows(line, columns - 4));
  return lines.flatMap((line) => {
    if (typeof line === "string")
      return prose.has(topic) ? planRows(line, columns - 4) : wrapRuns([{ text: line, style: {} }], columns - 4);
    if ("text" in line) return wrapRuns([line], columns - 4, blanks(2));
    return [topic === "costs" ? costRow(line, columns - 4) : line];
  });
}

/** The text of a line is wrapped beside the column of writers. */
function writerRows(line: BoxLine, columns: number): Row[] {
  if (typeof line === "string" || "text" in line) return wrapRuns([typeof line === "string" ? { text: line, style: {} } : line], columns);
  const [writer, number] = line;
  return wrapRuns(line, columns, blanks(cellsOf(`${writer!.text}${number!.text}`)));
}

/** Cells of a row of costs: number, name, input, cached share, output, cost, duration. These are left out, in this order. */
const leastCells = [3, 6, 4, 2];
const minNameCells = 14;

/** On a narrow screen some figures are left out, then the name is shortened. The cost stays. */
function costRow(row: Row, columns: number): Row {
  const excessOf = (cells: Row) => cellsOfRow(cells) - columns;
  const name = cellsOf(row[1]?.text ?? "");
  const omitted = new Set<number>();
  const shown = () => row.filter((_, index) => !omitted.has(index));
  for (const index of leastCells) if (excessOf(shown()) > name - minNameCells) omitted.add(index);
  const nameWidth = name - Math.max(0, excessOf(shown()));
  return shown().map((cell, index) =>
    index === 1 && nameWidth < name ? { ...cell, text: fit(cell.text.trimEnd(), nameWidth).padEnd(nameWidth) } : cell,
  );
}

/** A line of the plan, wrapped. Finished steps and titles have a style. */
function planRows(text: string, columns: number): Row[] {
  const style = /\[[xX]\] /.test(text) ? good : /^#+ /.test(text) ? { bold: true } : {};
  const [mark = ""] = /^\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?/.exec(text) ?? [];
  return wrapRuns([{ text, style }], columns, blanks(mark.length));
}

/** Opens a text above the current overlay, or in place of it. */
export function openText(state: State, topic: TextOverlay["topic"], lines: readonly BoxLine[], under?: Overlay | null): State {
  return { ...state, overlay: { kind: "text", topic, lines, top: 0, ...(under == null ? {} : { under }) } };
}

/** Replaces the lines of an open text overlay with this topic. */
export function withLines(state: State, topic: TextOverlay["topic"], lines: readonly BoxLine[]): State {
  const { overlay } = state;
  return overlay?.kind === "text" && overlay.topic === topic ? { ...state, overlay: { ...overlay, lines } } : state;
}
