// The width and height of an image, from the first bytes of its file, and in how many rows it is drawn.
import type { ImageData } from "../../protocol/tree/node.ts";

export type ImageSize = { width: number; height: number };

const lookedBytes = 64 * 1024;

const known = new WeakMap<ImageData, ImageSize | null>();

/** Null for a format that is not known here. */
export function imageSize(image: ImageData): ImageSize | null {
  const before = known.get(image);
  if (before !== undefined) return before;
  const size = readSize(image.base64);
  known.set(image, size);
  return size;
}

/** In pixels, where the terminal does not tell. */
export const defaultCellSize = { width: 10, height: 20 };
const tallest = 12;

/** No larger than it is, no wider than there is room, and at most half as high as the screen. */
export function imageRows({ width, height }: ImageSize, room: { columns: number; screenRows: number }): number {
  const shownWidth = Math.min(width, room.columns * defaultCellSize.width);
  const rows = Math.round((shownWidth * height) / Math.max(1, width) / defaultCellSize.height);
  return Math.max(1, Math.min(rows, tallest, Math.floor(room.screenRows / 2)));
}

function readSize(base64: string): ImageSize | null {
  const bytes = Buffer.from(base64.slice(0, Math.ceil((lookedBytes * 4) / 3)), "base64");
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

/** From one segment to the next, to the frame that says how large it is. */
function jpegSize(bytes: Buffer): ImageSize {
  let at = 2;
  for (;;) {
    const marker = bytes.readUInt8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) };
    at += 2 + bytes.readUInt16BE(at + 2);
  }
}
