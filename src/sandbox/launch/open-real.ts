// Opens a path without following links. A link that was placed there after the path was resolved makes it fail.
import type { CallList, OnError, Result } from "./call-list.ts";

const currentDirectory = -100;
const pathOnly = 0o10000000;
const closeOnExec = 0o2000000;
const noLinks = 4;

export function openReal(list: CallList, path: string, onError?: OnError): Result {
  const how = new BigUint64Array([BigInt(pathOnly | closeOnExec), 0n, BigInt(noLinks)]);
  return list.open("openat2", [currentDirectory, path, list.constant(new Uint8Array(how.buffer)), 24], `open ${path}`, onError);
}
