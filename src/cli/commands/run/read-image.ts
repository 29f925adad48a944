// Reads an image for a model. Its type comes from its first bytes, not from its name.
import { readRegularFile } from "../../../kit/files/safe-file.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { ImageData } from "../../../protocol/tree/node.ts";
import { statOrNull } from "./flag-value.ts";

const magicNumbers: [string, string][] = [
  ["89504e47", "image/png"],
  ["ffd8ff", "image/jpeg"],
  ["47494638", "image/gif"],
  ["52494646", "image/webp"],
];

const maxBytes = 5_000_000;

/** Error messages start with `prefix`. */
export function readImage(path: string, prefix = ""): ImageData {
  const stat = statOrNull(path);
  if (!stat?.isFile()) throw new Fault("usage", `${prefix}no file ${path}`);
  if (stat.size > maxBytes) throw new Fault("usage", `${prefix}${path} is larger than 5 MB`);
  const bytes = readRegularFile(path, { maxBytes }) ?? Buffer.alloc(0);
  const head = bytes.subarray(0, 4).toString("hex");
  const mime = magicNumbers.find(([magic]) => head.startsWith(magic))?.[1];
  if (mime === undefined) throw new Fault("usage", `${prefix}${path} is no png, jpeg, gif or webp`);
  return { mime, base64: bytes.toString("base64") };
}
