// Rows of the picture into OpenTUI's cells, and its key events as our keys. All that is known here is how things look
// and what they are called, never what they mean.
import { createTextAttributes, OptimizedBuffer, Renderable, RGBA, type CliRenderer, type KeyEvent, type MouseEvent } from "@opentui/core";
import type { TextStyle } from "../../kit/text/ansi.ts";
import { cellsOf, clustersOf } from "../layout/cells.ts";
import type { Row } from "../layout/wrap.ts";
import { drawsImages, Images } from "./images.ts";
import { emptyInk, Inks } from "./ink.ts";
import type { Key, Size } from "../model/state.ts";
import type { SurfaceOptions, Surface } from "./surface.ts";
import type { VisibleImage } from "../views/images.ts";
import { renderFrame, type ScreenFrameWithImages } from "../views/screen.ts";

type CanvasOptions = Pick<SurfaceOptions, "color" | "onWheel"> & {
  /** Asked once for each frame that is really drawn. */
  picture: () => ScreenFrameWithImages;
  drawImages: (buffer: OptimizedBuffer, images: readonly VisibleImage[]) => void;
};

const wheelRows = 3;
const background = RGBA.defaultBackground();

/** The whole terminal. */
export function canvasSurface(renderer: CliRenderer, { state, onImages, ...rest }: SurfaceOptions, size = () => sizeOf(renderer)): Surface {
  const draw = () => (renderer.isDestroyed ? undefined : canvas.requestRender());
  const images = new Images(renderer, { onReady: draw, onProblem: (block, problem) => onImages({ type: "not drawn", block, problem }) });
  const drawImages: CanvasOptions["drawImages"] = (buffer, shown) => images.draw(buffer, shown);
  const canvas = new Canvas(renderer, { ...rest, picture: () => renderFrame(state()), drawImages });
  renderer.root.add(canvas);
  const tellImages = () => {
    const canDraw = drawsImages(renderer);
    if (canDraw !== state().images.canDraw) onImages({ type: "images", canDraw });
  };
  // It answers when it likes, also before anyone listens here.
  renderer.on("capabilities", tellImages);
  queueMicrotask(tellImages);
  /** Only another size makes it forget what it has painted. The size is the terminal's: another may be under way. */
  const redraw = () => {
    const { columns, rows } = size();
    renderer.requestResize(columns, rows + 1);
    renderer.requestResize(columns, rows);
  };
  // What was painted while the terminal already had its new size lies anywhere.
  renderer.on("resize", redraw);
  const close = () => {
    renderer.off("capabilities", tellImages);
    images.close();
  };
  return { draw, redraw, away: () => {}, back: () => {}, close };
}

function sizeOf({ width, height }: CliRenderer): Size {
  return { columns: width, rows: height };
}

export class Canvas extends Renderable {
  private readonly parts: CanvasOptions;
  private readonly parted = new Map<string, string>();
  private readonly inks: Inks;
  /** What was drawn stays here: a frame costs the rows that changed. */
  private sheet: OptimizedBuffer | null = null;
  private drawn: Row[] = [];
  private readonly owner: CliRenderer["nativeScene"];

  constructor(renderer: CliRenderer, options: CanvasOptions) {
    super(renderer, { id: "canvas", width: "100%", height: "100%" });
    this.parts = options;
    this.owner = renderer.nativeScene;
    this.inks = new Inks(options);
    this.onMouseScroll = (event: MouseEvent) => {
      if (event.scroll?.direction === "up") options.onWheel(-wheelRows);
      if (event.scroll?.direction === "down") options.onWheel(wheelRows);
    };
  }

  protected override renderSelf(buffer: OptimizedBuffer): void {
    const { rows, images, cursor } = this.parts.picture();
    this._ctx.setCursorPosition((cursor?.column ?? 0) + 1, (cursor?.row ?? 0) + 1, cursor !== null);
    const sheet = this.currentSheet();
    for (let y = 0; y < this.height; y += 1) {
      const row = rows[y] ?? [];
      if (!isSame(this.drawn[y], row)) this.drawRow(sheet, y, row);
      this.drawn[y] = row;
    }
    buffer.drawFrameBuffer(0, 0, sheet);
    this.parts.drawImages(buffer, images);
  }

  protected override destroySelf(): void {
    this.sheet?.destroy();
    super.destroySelf();
  }

  /** Another one for another size, and when the terminal has told how wide it takes characters to be. */
  private currentSheet(): OptimizedBuffer {
    const { widthMethod } = this._ctx;
    const { sheet } = this;
    if (sheet?.width === this.width && sheet.height === this.height && sheet.widthMethod === widthMethod) return sheet;
    sheet?.destroy();
    this.drawn = [];
    this.parted.clear();
    return (this.sheet = OptimizedBuffer.create(this.width, this.height, widthMethod, { owner: this.owner }));
  }

  private drawRow(sheet: OptimizedBuffer, y: number, row: Row): void {
    const cells = row.reduce((sum, { text }) => sum + cellsOf(text), 0);
    const ink = this.inks.forRow(y, row.map(({ text }) => text).join(""), cells);
    let x = 0;
    // A rectangle that is filled would have a colour of its own.
    const put = (text: string, color: RGBA, attributes = 0) => {
      sheet.drawText(text, x, y, color, background, attributes);
      x += cellsOf(text);
    };
    for (const { text, style: style } of row) put(this.drawable(sheet, text), ink.of(style), attributesOf(style));
    put(" ".repeat(Math.max(0, ink.restFrom - x)), ink.of({}));
    put(" ".repeat(Math.max(0, this.width - x)), emptyInk);
  }

  /** Terminals differ in how wide a joined character is: one that would not take the cells it was given is drawn without its joins. */
  private drawable(buffer: OptimizedBuffer, text: string): string {
    if (cellsTaken(buffer, text) === cellsOf(text)) return text;
    return clustersOf(text)
      .map((cluster) => this.parted.get(cluster.text) ?? this.part(buffer, cluster))
      .join("");
  }

  private part(buffer: OptimizedBuffer, { text, cells }: { text: string; cells: number }): string {
    const [first = ""] = text;
    const candidates = [text, first, first + " ", ""];
    const drawn = candidates.find((each) => cellsTaken(buffer, each) === cells) ?? "?".repeat(cells);
    this.parted.set(text, drawn);
    return drawn;
  }
}

function isSame(before: Row | undefined, row: Row): boolean {
  if (before === undefined || before.length !== row.length) return false;
  return row.every(({ text, style: style }, at) => before[at]?.text === text && before[at].style === style);
}

function cellsTaken(buffer: OptimizedBuffer, text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  const encoded = buffer.encodeUnicode(text);
  const cells = encoded.data.reduce((sum, { width }) => sum + width, 0);
  buffer.freeUnicode(encoded);
  return cells;
}

function attributesOf({
  bold = false,
  dim = false,
  italic = false,
  underline = false,
  inverse = false,
  strike = false,
}: TextStyle): number {
  return createTextAttributes({ bold, dim, italic, underline, inverse, strikethrough: strike });
}

const sameKeys: Record<string, string> = { return: "enter", kpenter: "enter", linefeed: "ctrl+j", esc: "escape" };

/** Null for what types nothing and has no name. A line break is asked for by Alt+Enter or Ctrl+J, wherever a terminal tells them apart. */
export function keyOf(event: KeyEvent): Key | null {
  const name = sameKeys[event.name] ?? event.name;
  const isAlt = event.meta || event.option;
  if (name === "ctrl+j" || (event.ctrl && name === "j") || (name === "enter" && (isAlt || event.shift)))
    return { name: "newline", text: "\n" };
  if (event.ctrl) return { name: `ctrl+${name}`, text: "" };
  // Two in quick succession arrive as one.
  if (name === "escape") return { name, text: "" };
  const behindEsc = event.sequence.startsWith("\u001b") ? /^[^\s\p{Cc}]$/u.exec(event.sequence.slice(1))?.[0] : undefined;
  if (isAlt || behindEsc !== undefined) return { name: `alt+${behindEsc ?? name}`, text: "" };
  const typed = /^\P{Cc}+$/u.test(event.sequence) ? event.sequence : "";
  if (name === "space") return { name, text: " " };
  return typed === "" ? { name, text: "" } : { name: typed, text: typed };
}
