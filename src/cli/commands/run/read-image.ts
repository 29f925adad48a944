// Reads an image for a model. Its type comes from its first bytes, not from its name.
import { readFileSync, statSync } from "node:fs";
import { Fault } from "../../../protocol/api/error.ts";
import type { ImageData } from "../../../protocol/tree/node.ts";

const magicNumbers: [string, string][] = [
  ["89504e47", "image/png"],
  ["ffd8ff", "image/jpeg"],
  ["47494638", "image/gif"],
  ["52494646", "image/webp"],
];

const maxBytes = 5_000_000;

/** Error messages start with `prefix`. */
export function readImage(path: string, prefix = ""): ImageData {
  const size = sizeOf(path);
  if (size === null) throw new Fault("usage", `${prefix}no file ${path}`);
  if (size > maxBytes) throw new Fault("usage", `${prefix}${path} is larger than 5 MB`);
  const bytes = readFileSync(path);
  const head = bytes.subarray(0, 4).toString("hex");
  const mime = magicNumbers.find(([magic]) => head.startsWith(magic))?.[1];
  if (mime === undefined) throw new Fault("usage", `${prefix}${path} is no png, jpeg, gif or webp`);
  return { mime, base64: bytes.toString("base64") };
}

/** Null if the path is no file or can't be read. */
function sizeOf(path: string): number | null {
  try {
    const stat = statSync(path);
    return stat.isFile() ? stat.size : null;
  } catch {
    return null;
  }
}
