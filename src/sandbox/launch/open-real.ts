// Opens a path without following links. A link that was placed there after the path was resolved makes it fail.
import type { CallList, OnError, Result } from "./call-list.ts";

export const currentDirectory = -100;
const pathOnly = 0o10000000;
const closeOnExec = 0o2000000;
const noLinks = 4;

/** The structure that openat2 reads. */
export const openRealHow = [BigInt(pathOnly | closeOnExec), 0n, BigInt(noLinks)];

export function openReal(list: CallList, path: string, onError?: OnError): Result {
  const how = list.constant("open without links", () => new Uint8Array(new BigUint64Array(openRealHow).buffer));
  return list.open("openat2", [currentDirectory, path, how, 24], `open ${path}`, onError);
}
