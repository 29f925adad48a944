// Images in cells of the screen, where the terminal speaks the kitty protocol. Each is made small once, on another thread,
// and kept while it is looked at. What is sent, moved, cut and deleted for it is the renderer's affair.
import { NativeImage, type CliRenderer, type OptimizedBuffer } from "@opentui/core";
import type { ImageData } from "../../protocol/tree/node.ts";
import { messageOf } from "../../protocol/api/error.ts";
import { defaultCellSize, type ImageSize } from "../layout/image-size.ts";
import type { VisibleImage } from "../views/images.ts";

type ImagesOptions = {
  /** There is more to draw than in the last frame. */
  onReady: () => void;
  onProblem: (block: string, problem: string) => void;
};

const mostPixels = 64_000_000;
const largest = { width: 1024, height: 480 };
const mostKept = 8;
/** Before it is where the focus is marked. */
const leftColumn = 2;

/** It has said that it can. Behind a multiplexer that would be someone else's word. */
export function drawsImages({ capabilities }: CliRenderer): boolean {
  return capabilities !== null && capabilities.kitty_graphics && capabilities.multiplexer === "none";
}

export class Images {
  /** By block; null while it is being made. */
  private readonly known = new Map<string, NativeImage | null>();
  private readonly renderer: CliRenderer;
  private readonly told: ImagesOptions;
  private isClosed = false;

  constructor(renderer: CliRenderer, told: ImagesOptions) {
    this.renderer = renderer;
    this.told = told;
  }

  draw(buffer: OptimizedBuffer, shown: readonly VisibleImage[]): void {
    if (this.isClosed) return;
    for (const each of shown) {
      const image = this.known.get(each.id);
      if (image === undefined) void this.make(each.id, each.image);
      else if (image !== null) this.place(buffer, image, each);
    }
    if (this.known.size > mostKept) this.forget(new Set(shown.map(({ id }) => id)));
  }

  close(): void {
    this.isClosed = true;
    this.forget(new Set());
  }

  private async make(id: string, { base64 }: ImageData): Promise<void> {
    this.known.set(id, null);
    try {
      const whole = new Bun.Image(Buffer.from(base64, "base64"), { maxPixels: mostPixels });
      const small = await whole.resize(largest.width, largest.height, { fit: "inside", withoutEnlargement: true }).png().bytes();
      if (!this.isClosed) this.known.set(id, NativeImage.decode(small));
    } catch (error) {
      if (!this.isClosed) this.told.onProblem(id, messageOf(error));
      this.known.delete(id);
    }
    if (!this.isClosed) this.told.onReady();
  }

  private place(buffer: OptimizedBuffer, image: NativeImage, { top, rows, firstVisible: first, visibleRows: seen }: VisibleImage): void {
    const cell = this.cell();
    const aspect = (image.width * cell.height) / (image.height * cell.width);
    const columns = Math.max(1, Math.min(Math.round(rows * aspect), buffer.width - leftColumn));
    const height = Math.max(1, Math.min(rows, Math.round(columns / aspect)));
    buffer.pushScissorRect(0, first, buffer.width, seen);
    buffer.drawImage(image, leftColumn, top, columns, height, 0, 0, 0, 0, image.width, image.height, "kitty");
    buffer.popScissorRect();
  }

  /** In pixels, where the terminal tells. */
  private cell(): ImageSize {
    const { resolution, terminalWidth, terminalHeight } = this.renderer;
    if (resolution === null || resolution.width < terminalWidth || resolution.height < terminalHeight) return defaultCellSize;
    return { width: resolution.width / terminalWidth, height: resolution.height / terminalHeight };
  }

  private forget(needed: ReadonlySet<string>): void {
    for (const [id, image] of this.known) {
      if (image === null || needed.has(id)) continue;
      image.dispose();
      this.known.delete(id);
    }
  }
}
