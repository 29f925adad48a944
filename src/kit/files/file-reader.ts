// Reads files below a directory that others can change, each file once. A parser and a hash that share a reader get the
// same bytes, even if the file is replaced in between.
import { readBelow, UnsafePathError } from "./safe-file.ts";

export class FileReader {
  readonly root: string;
  readonly #files = new Map<string, Buffer>();
  #isSealed = false;

  constructor(root: string) {
    this.root = root;
  }

  /** Absolute paths of all files that were read or put. */
  get paths(): string[] {
    return [...this.#files.keys()];
  }

  /** Null if there is no such file. Throws if it leads out of the root, or can't be read without waiting. */
  read(path: string, maxBytes: number): Buffer | null {
    const known = this.#files.get(path);
    if (known !== undefined) return known;
    if (this.#isSealed) throw new UnsafePathError("it appeared meanwhile");
    const bytes = readBelow(this.root, path, { maxBytes });
    if (bytes !== null) this.#files.set(path, bytes);
    return bytes;
  }

  /** Replaces the bytes of a file that the caller has written. */
  put(path: string, text: string): void {
    this.#files.set(path, Buffer.from(text));
  }

  /** From now on reading any file that was not read or put before throws. */
  seal(): void {
    this.#isSealed = true;
  }
}
