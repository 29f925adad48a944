// Draws the rows of a frame with OpenTUI, and converts its key events to keys. The keys are interpreted elsewhere.
import { createTextAttributes, OptimizedBuffer, Renderable, RGBA, type CliRenderer, type KeyEvent, type MouseEvent } from "@opentui/core";
import { cellsOf, cellsOfRow, clustersOf, type Row } from "../layout/wrap.ts";
import { drawsImages, Images } from "./images.ts";
import { createColorPicker, emptyColor } from "./row-colors.ts";
import type { Key } from "../model/state.ts";
import type { SurfaceOptions, Surface } from "./surface.ts";
import type { VisibleImage } from "../views/window.ts";
import { highlightSelection, selectedText, type Selection } from "./selection.ts";
import { renderFrame, type ScreenFrameWithImages } from "../views/screen.ts";

type CanvasOptions = Pick<SurfaceOptions, "color" | "onMouse"> & {
  /** The terminal draws a joined emoji in two cells, and other clusters with the widths of their characters. Default: false. */
  joinsEmoji?: boolean;
  /** Called once for each frame that is drawn. */
  renderFrame: () => ScreenFrameWithImages;
  drawImages: (buffer: OptimizedBuffer, images: readonly VisibleImage[]) => void;
};

const wheelRows = 3;
const leftButton = 0;
const background = RGBA.defaultBackground();

/** A surface on the whole terminal. `size` returns the size of the terminal itself. */
export function canvasSurface(
  renderer: CliRenderer,
  { state, onImages, ...canvasOptions }: SurfaceOptions & Pick<CanvasOptions, "joinsEmoji">,
  size = () => ({ columns: renderer.width, rows: renderer.height }),
): Surface {
  const draw = () => {
    if (renderer.isDestroyed) return;
    if (canvas.parent === null) renderer.root.add(canvas);
    canvas.requestRender();
  };
  const images = new Images(renderer, { onReady: draw, onProblem: (block, problem) => onImages({ type: "not drawn", block, problem }) });
  const drawImages: CanvasOptions["drawImages"] = (buffer, visible) => images.draw(buffer, visible);
  const canvas = new Canvas(renderer, { ...canvasOptions, renderFrame: () => renderFrame(state()), drawImages });
  const reportImages = () => {
    const canDraw = drawsImages(renderer);
    if (canDraw !== state().images.canDraw) onImages({ type: "images", canDraw });
  };
  // The terminal may answer at any time, also before this listener exists.
  renderer.on("capabilities", reportImages);
  queueMicrotask(reportImages);
  /**
   * Paints everything. The renderer does that only after a change of size, so it gets one more row for a moment.
   * Uses the terminal's size, because the renderer may not have handled a resize yet.
   */
  const redraw = () => {
    const { columns, rows } = size();
    renderer.requestResize(columns, rows + 1);
    renderer.requestResize(columns, rows);
  };
  // A frame that was painted during a resize may be in the wrong rows.
  renderer.on("resize", redraw);
  const close = () => {
    renderer.off("capabilities", reportImages);
    images.close();
  };
  return { draw, redraw, suspend: () => {}, resume: () => {}, close };
}

export class Canvas extends Renderable {
  private readonly options: CanvasOptions;
  private readonly clusterReplacements = new Map<string, string>();
  /** Drawable texts by the text of a run that is not ASCII. Measuring one takes longer than drawing it. */
  private readonly drawables = new Map<string, string>();
  private readonly pickColors: ReturnType<typeof createColorPicker>;
  /** Keeps the drawn rows, so that a frame draws only changed rows. */
  private rowBuffer: OptimizedBuffer | null = null;
  private drawnRows: Row[] = [];
  /** Measures clusters as a terminal that only joins emoji. Null if the row buffer measures them. */
  private measure: OptimizedBuffer | null = null;
  private readonly nativeScene: CliRenderer["nativeScene"];
  private frameRows: readonly Row[] = [];
  private selection: Selection | null = null;

  constructor(renderer: CliRenderer, options: CanvasOptions) {
    super(renderer, { id: "canvas", width: "100%", height: "100%" });
    this.options = options;
    this.nativeScene = renderer.nativeScene;
    this.pickColors = createColorPicker(options.color);
    this.onMouseScroll = (event: MouseEvent) => {
      if (event.scroll?.direction === "up") options.onMouse({ type: "wheel", rows: -wheelRows });
      if (event.scroll?.direction === "down") options.onMouse({ type: "wheel", rows: wheelRows });
    };
    this.onMouseDown = ({ button, x, y }: MouseEvent) => {
      this.selection = button === leftButton ? { from: { x, y }, to: { x, y } } : null;
    };
    this.onMouseDrag = ({ x, y }: MouseEvent) => {
      if (this.selection === null) return;
      this.selection = { ...this.selection, to: { x, y } };
      this.requestRender();
    };
    this.onMouseUp = () => this.endSelection();
    this.onMouseDragEnd = () => this.endSelection();
  }

  /** Copies a selection of more than one cell. The press of a button without a move is a click. */
  private endSelection(): void {
    const { selection } = this;
    if (selection === null) return;
    this.selection = null;
    this.requestRender();
    const { from, to } = selection;
    if (from.x === to.x && from.y === to.y) return this.options.onMouse({ type: "click", row: from.y });
    const text = selectedText(this.frameRows, selection);
    if (text !== "") this.options.onMouse({ type: "selected", text });
  }

  protected override renderSelf(buffer: OptimizedBuffer): void {
    const { rows: frameRows, images, cursor } = this.options.renderFrame();
    this.frameRows = frameRows;
    const rows = this.selection === null ? frameRows : highlightSelection(frameRows, this.selection);
    this._ctx.setCursorPosition((cursor?.column ?? 0) + 1, (cursor?.row ?? 0) + 1, cursor !== null);
    const rowBuffer = this.ensureRowBuffer();
    for (let y = 0; y < this.height; y += 1) {
      const row = rows[y] ?? [];
      if (!isSameRow(this.drawnRows[y], row)) this.drawRow(rowBuffer, y, row);
      this.drawnRows[y] = row;
    }
    buffer.drawFrameBuffer(0, 0, rowBuffer);
    this.options.drawImages(buffer, images);
  }

  protected override destroySelf(): void {
    this.rowBuffer?.destroy();
    this.measure?.destroy();
    super.destroySelf();
  }

  /** Creates a new buffer after a resize, and after the terminal reported its width method. */
  private ensureRowBuffer(): OptimizedBuffer {
    const { widthMethod } = this._ctx;
    const { rowBuffer } = this;
    if (rowBuffer?.width === this.width && rowBuffer.height === this.height && rowBuffer.widthMethod === widthMethod) return rowBuffer;
    rowBuffer?.destroy();
    this.drawnRows = [];
    this.clusterReplacements.clear();
    this.drawables.clear();
    if (this.options.joinsEmoji === true) this.measure ??= OptimizedBuffer.create(1, 1, "wcwidth", { owner: this.nativeScene });
    return (this.rowBuffer = OptimizedBuffer.create(this.width, this.height, widthMethod, { owner: this.nativeScene }));
  }

  private drawRow(rowBuffer: OptimizedBuffer, y: number, row: Row): void {
    const colors = this.pickColors(y, row.map(({ text }) => text).join(""), cellsOfRow(row));
    let x = 0;
    // Spaces are drawn as text, because a filled rectangle would have its own colour.
    const append = (text: string, color: RGBA, attributes = 0) => {
      rowBuffer.drawText(text, x, y, color, background, attributes);
      x += cellsOf(text);
    };
    for (const { text, style } of row) {
      const attributes = createTextAttributes({ ...style, strikethrough: style.strike === true });
      append(this.toDrawable(this.measure ?? rowBuffer, text), colors.colorOf(style), attributes);
    }
    append(" ".repeat(Math.max(0, colors.emptyFromColumn - x)), colors.colorOf({}));
    append(" ".repeat(Math.max(0, this.width - x)), emptyColor);
  }

  /** Replaces clusters whose width in this terminal differs from `cellsOf`, for example joined emoji. */
  private toDrawable(buffer: OptimizedBuffer, text: string): string {
    if (/^[\x20-\x7e]*$/.test(text)) return text;
    const cached = this.drawables.get(text);
    if (cached !== undefined) return cached;
    const drawable = terminalCells(buffer, text) === cellsOf(text) ? text : this.replaceClusters(buffer, text);
    if (this.drawables.size >= maxDrawables) this.drawables.clear();
    this.drawables.set(text, drawable);
    return drawable;
  }

  private replaceClusters(buffer: OptimizedBuffer, text: string): string {
    return clustersOf(text)
      .map((cluster) => this.clusterReplacements.get(cluster.text) ?? this.replaceCluster(buffer, cluster))
      .join("");
  }

  private replaceCluster(buffer: OptimizedBuffer, { text, cells }: { text: string; cells: number }): string {
    const [first = ""] = text;
    const isJoined = this.options.joinsEmoji === true && text.includes("\u200D") && terminalCells(buffer, first) === cells;
    const candidates = [text, first, first + " ", ""];
    const replacement = isJoined
      ? text.replace(skinTones, "")
      : (candidates.find((candidate) => terminalCells(buffer, candidate) === cells) ?? "?".repeat(cells));
    this.clusterReplacements.set(text, replacement);
    return replacement;
  }
}

const maxDrawables = 500;

/** A terminal that joins emoji may still draw these in cells of their own. */
const skinTones = /[\u{1F3FB}-\u{1F3FF}]/gu;

function isSameRow(drawn: Row | undefined, row: Row): boolean {
  if (drawn === row) return true;
  if (drawn === undefined || drawn.length !== row.length) return false;
  return row.every(({ text, style }, index) => drawn[index]?.text === text && drawn[index].style === style);
}

function terminalCells(buffer: OptimizedBuffer, text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  const encoded = buffer.encodeUnicode(text);
  const cells = encoded.data.reduce((sum, { width }) => sum + width, 0);
  buffer.freeUnicode(encoded);
  return cells;
}

const keyAliases: Record<string, string> = { return: "enter", kpenter: "enter", linefeed: "ctrl+j", esc: "escape" };

/** Null for an event without name and text. Alt+Enter, Shift+Enter and Ctrl+J are a line break, if the terminal distinguishes them. */
export function keyOf(event: KeyEvent): Key | null {
  const name = keyAliases[event.name] ?? event.name;
  const isAlt = event.meta || event.option;
  if (name === "ctrl+j" || (event.ctrl && name === "j") || (name === "enter" && (isAlt || event.shift)))
    return { name: "newline", text: "\n" };
  if (event.ctrl) return { name: `ctrl+${name}`, text: "" };
  // Two fast presses of Esc arrive as one event with Alt.
  if (name === "escape") return { name: isAlt ? "alt+escape" : name, text: "" };
  if (name === "tab" && event.shift) return { name: "shift+tab", text: "" };
  const keyAfterEsc = event.sequence.startsWith("\u001b") ? /^[^\s\p{Cc}]$/u.exec(event.sequence.slice(1))?.[0] : undefined;
  if (isAlt || keyAfterEsc !== undefined) return { name: `alt+${keyAfterEsc ?? name}`, text: "" };
  const typed = /^\P{Cc}+$/u.test(event.sequence) ? event.sequence : "";
  if (name === "space") return { name, text: " " };
  return typed === "" ? { name, text: "" } : { name: typed, text: typed };
}
