// Rows of the picture into OpenTUI's cells, and its key events as our keys. All that is known here is how things look
// and what they are called, never what they mean.
import {
  createTextAttributes,
  Renderable,
  RGBA,
  type CliRenderer,
  type KeyEvent,
  type MouseEvent,
  type OptimizedBuffer,
} from "@opentui/core";
import type { Look } from "../kit/ansi.ts";
import type { Key } from "./state.ts";
import type { Picture } from "./views/screen.ts";

export type CanvasParts = {
  color: boolean;
  onWheel: (rows: number) => void;
};

const wheelRows = 3;
const foreground = RGBA.defaultForeground();
const background = RGBA.defaultBackground();

export class Canvas extends Renderable {
  private picture: Picture = { rows: [], cursor: null };
  private readonly parts: CanvasParts;

  constructor(renderer: CliRenderer, parts: CanvasParts) {
    super(renderer, { id: "canvas", width: "100%", height: "100%" });
    this.parts = parts;
    this.onMouseScroll = (event: MouseEvent) => {
      if (event.scroll?.direction === "up") parts.onWheel(-wheelRows);
      if (event.scroll?.direction === "down") parts.onWheel(wheelRows);
    };
  }

  show(picture: Picture): void {
    this.picture = picture;
    const { cursor } = picture;
    this._ctx.setCursorPosition((cursor?.column ?? 0) + 1, (cursor?.row ?? 0) + 1, cursor !== null);
    this.requestRender();
  }

  protected override renderSelf(buffer: OptimizedBuffer): void {
    buffer.fillRect(0, 0, this.width, this.height, background);
    this.picture.rows.slice(0, this.height).forEach((row, y) => {
      let x = 0;
      for (const { text, look } of row) {
        buffer.drawText(text, x, y, colorOf(look, this.parts.color), background, attributesOf(look));
        x += Bun.stringWidth(text);
      }
    });
  }
}

/** The terminal's own sixteen colours: they are readable on its background, light or dark. */
function colorOf({ color }: Look, isColored: boolean): RGBA {
  return isColored && typeof color === "number" ? RGBA.fromIndex(color) : foreground;
}

function attributesOf({ bold = false, dim = false, italic = false, underline = false, inverse = false }: Look): number {
  return createTextAttributes({ bold, dim, italic, underline, inverse });
}

const sameKeys: Record<string, string> = { return: "enter", kpenter: "enter", linefeed: "ctrl+j", esc: "escape" };

/** Null for what types nothing and has no name. A line break is asked for by Alt+Enter or Ctrl+J, wherever a terminal tells them apart. */
export function keyOf(event: KeyEvent): Key | null {
  const name = sameKeys[event.name] ?? event.name;
  const isAlt = event.meta || event.option;
  if (name === "ctrl+j" || (event.ctrl && name === "j") || (name === "enter" && (isAlt || event.shift)))
    return { name: "newline", text: "\n" };
  if (event.ctrl) return { name: `ctrl+${name}`, text: "" };
  if (isAlt) return null;
  const typed = /^\P{Cc}+$/u.test(event.sequence) ? event.sequence : "";
  if (name === "space") return { name, text: " " };
  return typed === "" ? { name, text: "" } : { name: typed, text: typed };
}
