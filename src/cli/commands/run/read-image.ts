// An image as a model is sent it: its kind is told by its first bytes, not by its name.
import { readFileSync, statSync } from "node:fs";
import { Fault } from "../../../protocol/api/error.ts";
import type { ImageData } from "../../../protocol/tree/node.ts";

const kinds: [string, string][] = [
  ["89504e47", "image/png"],
  ["ffd8ff", "image/jpeg"],
  ["47494638", "image/gif"],
  ["52494646", "image/webp"],
];

const mostBytes = 5_000_000;

/** `told` stands before what is wrong with it. */
export function readImage(path: string, told = ""): ImageData {
  const size = sizeOf(path);
  if (size === null) throw new Fault("usage", `${told}no file ${path}`);
  if (size > mostBytes) throw new Fault("usage", `${told}${path} is larger than 5 MB`);
  const bytes = readFileSync(path);
  const head = bytes.subarray(0, 4).toString("hex");
  const mime = kinds.find(([magic]) => head.startsWith(magic))?.[1];
  if (mime === undefined) throw new Fault("usage", `${told}${path} is no png, jpeg, gif or webp`);
  return { mime, base64: bytes.toString("base64") };
}

/** Null for what is no file, or can't be looked at. */
function sizeOf(path: string): number | null {
  try {
    const stat = statSync(path);
    return stat.isFile() ? stat.size : null;
  } catch {
    return null;
  }
}
