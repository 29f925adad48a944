// Reads the size of an image from the first bytes of its file, and computes the rows to draw it in.
import type { ImageData } from "../../protocol/tree/node.ts";

export type ImageSize = { width: number; height: number };

const headerBytes = 64 * 1024;

const sizes = new WeakMap<ImageData, ImageSize | null>();

/** Null for an unsupported format. */
export function imageSize(image: ImageData): ImageSize | null {
  const cached = sizes.get(image);
  if (cached !== undefined) return cached;
  const size = readSize(image.base64);
  sizes.set(image, size);
  return size;
}

/** In pixels, for a terminal that does not report its cell size. */
export const defaultCellSize = { width: 10, height: 20 };
const maxRows = 12;

/** Rows of an image: not enlarged, at most as wide as `columns`, at most half of the screen high. */
export function imageRows({ width, height }: ImageSize, area: { columns: number; screenRows: number }): number {
  const drawnWidth = Math.min(width, area.columns * defaultCellSize.width);
  const rows = Math.round((drawnWidth * height) / Math.max(1, width) / defaultCellSize.height);
  return Math.max(1, Math.min(rows, maxRows, Math.floor(area.screenRows / 2)));
}

function readSize(base64: string): ImageSize | null {
  const bytes = Buffer.from(base64.slice(0, Math.ceil((headerBytes * 4) / 3)), "base64");
  const ascii = (from: number, to: number) => bytes.toString("latin1", from, to);
  try {
    if (ascii(1, 4) === "PNG") return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
    if (ascii(0, 3) === "GIF") return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
    if (ascii(0, 4) === "RIFF" && ascii(8, 12) === "WEBP") return webpSize(bytes, ascii(12, 16));
    return bytes.readUInt16BE(0) === 0xffd8 ? jpegSize(bytes) : null;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function webpSize(bytes: Buffer, kind: string): ImageSize {
  if (kind === "VP8X") return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
  if (kind === "VP8L") {
    const bits = bytes.readUInt32LE(21);
    return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
  }
  return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
}

/** Skips segments until the frame header, which has the size. */
function jpegSize(bytes: Buffer): ImageSize {
  let offset = 2;
  for (;;) {
    const marker = bytes.readUInt8(offset + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { width: bytes.readUInt16BE(offset + 7), height: bytes.readUInt16BE(offset + 5) };
    offset += 2 + bytes.readUInt16BE(offset + 2);
  }
}
