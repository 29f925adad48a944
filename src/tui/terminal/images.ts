// Draws images in terminals with the kitty protocol. Each image is scaled down once, on another thread, and cached while
// it is visible. The renderer sends, moves, clips and deletes it.
import { NativeImage, type CliRenderer, type OptimizedBuffer } from "@opentui/core";
import type { ImageData } from "../../protocol/tree/node.ts";
import { messageOf } from "../../protocol/api/error.ts";
import { defaultCellSize, type ImageSize } from "../layout/image-size.ts";
import type { VisibleImage } from "../views/window.ts";

type ImagesOptions = {
  onReady: () => void;
  /** Called once for an image that can't be decoded. */
  onProblem: (block: string, problem: string) => void;
};

const maxPixels = 64_000_000;
const maxSize = { width: 1024, height: 480 };
const maxCached = 8;
/** The column at which images start. The columns before it mark the focus. */
const leftColumn = 2;

/** Whether the terminal reports the kitty protocol. In a multiplexer the report is not reliable. */
export function drawsImages({ capabilities }: CliRenderer): boolean {
  return capabilities !== null && capabilities.kitty_graphics && capabilities.multiplexer === "none";
}

export class Images {
  /** Decoded images by block id. Null while an image is being decoded. */
  private readonly cache = new Map<string, NativeImage | null>();
  private readonly renderer: CliRenderer;
  private readonly options: ImagesOptions;
  private isClosed = false;

  constructor(renderer: CliRenderer, options: ImagesOptions) {
    this.renderer = renderer;
    this.options = options;
  }

  draw(buffer: OptimizedBuffer, visible: readonly VisibleImage[]): void {
    if (this.isClosed) return;
    for (const visibleImage of visible) {
      const image = this.cache.get(visibleImage.id);
      if (image === undefined) void this.decode(visibleImage.id, visibleImage.image);
      else if (image !== null) this.drawImage(buffer, image, visibleImage);
    }
    if (this.cache.size > maxCached) this.evict(new Set(visible.map(({ id }) => id)));
  }

  close(): void {
    this.isClosed = true;
    this.evict(new Set());
  }

  private async decode(id: string, { base64 }: ImageData): Promise<void> {
    this.cache.set(id, null);
    try {
      const original = new Bun.Image(Buffer.from(base64, "base64"), { maxPixels });
      const small = await original.resize(maxSize.width, maxSize.height, { fit: "inside", withoutEnlargement: true }).png().bytes();
      if (!this.isClosed) this.cache.set(id, NativeImage.decode(small));
    } catch (error) {
      if (!this.isClosed) this.options.onProblem(id, messageOf(error));
      this.cache.delete(id);
    }
    if (!this.isClosed) this.options.onReady();
  }

  private drawImage(buffer: OptimizedBuffer, image: NativeImage, { top, rows, firstVisible, visibleRows }: VisibleImage): void {
    const cell = this.cellSize();
    const aspect = (image.width * cell.height) / (image.height * cell.width);
    const columns = Math.max(1, Math.min(Math.round(rows * aspect), buffer.width - leftColumn));
    const height = Math.max(1, Math.min(rows, Math.round(columns / aspect)));
    buffer.pushScissorRect(0, firstVisible, buffer.width, visibleRows);
    buffer.drawImage(image, leftColumn, top, columns, height, 0, 0, 0, 0, image.width, image.height, "kitty");
    buffer.popScissorRect();
  }

  private cellSize(): ImageSize {
    const { resolution, terminalWidth, terminalHeight } = this.renderer;
    if (resolution === null || resolution.width < terminalWidth || resolution.height < terminalHeight) return defaultCellSize;
    return { width: resolution.width / terminalWidth, height: resolution.height / terminalHeight };
  }

  private evict(needed: ReadonlySet<string>): void {
    for (const [id, image] of this.cache) {
      if (image === null || needed.has(id)) continue;
      image.dispose();
      this.cache.delete(id);
    }
  }
}
