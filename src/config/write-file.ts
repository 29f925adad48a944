// Writes a small file atomically.
import { replaceFile } from "../kit/files/replace-file.ts";
import { Fault, messageOf } from "../protocol/api/error.ts";

export function writeFileAtomically(path: string, text: string, modes: { file: number; directory: number }): void {
  try {
    replaceFile(path, text, modes);
  } catch (error) {
    throw new Fault("file-unwritable", `can't write ${path}: ${messageOf(error)}`, { cause: error });
  }
}
