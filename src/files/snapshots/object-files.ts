// Writes objects of git into a shadow repository without starting git. A snapshot of a few changed files is then so cheap
// that no tool call has to wait for it.
import { mkdirSync, renameSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const dayMs = 86_400_000;

let count = 0;

/** `bytes` are its header and its content. */
export type GitObject = { id: string; bytes: Buffer<ArrayBuffer> };

export function createObject(type: "blob" | "tree", content: Uint8Array): GitObject {
  const bytes = Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content]);
  return { id: hashOf(bytes), bytes };
}

export function writeObject(shadowDir: string, { id, bytes }: GitObject): void {
  const directory = join(shadowDir, "objects", id.slice(0, 2));
  const file = join(directory, id.slice(2));
  const stored = statSync(file, { throwIfNoEntry: false });
  if (stored !== undefined) {
    // An object that is used again must not count as old; see prune.ts.
    if (Date.now() - stored.mtimeMs > dayMs) utimesSync(file, new Date(), new Date());
    return;
  }
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const temporary = join(directory, `tmp_obj_${process.pid}_${++count}`);
  // Renamed when it is complete: a killed process leaves no damaged object.
  writeFileSync(temporary, compress(bytes), { mode: 0o444 });
  renameSync(temporary, file);
}

export function blobId(content: Uint8Array): string {
  return hashOf(Buffer.concat([Buffer.from(`blob ${content.length}\0`), content]));
}

function hashOf(bytes: Uint8Array<ArrayBuffer>): string {
  return new Bun.CryptoHasher("sha1").update(bytes).digest("hex");
}

/** The format of zlib: a header, the compressed bytes and a checksum. node:zlib has it, but loads the streams of Node with it. */
function compress(bytes: Buffer<ArrayBuffer>): Buffer {
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(Bun.hash.adler32(bytes));
  return Buffer.concat([zlibHeader, Bun.deflateSync(bytes, { level: 1 }), checksum]);
}

/** Deflate with a window of 32 KB, at the fastest level. */
const zlibHeader = Buffer.from([0x78, 0x01]);
