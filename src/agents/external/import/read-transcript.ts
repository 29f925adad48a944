// A transcript file of any known agent → what the engine stores. Reads line by line with bounds; a file that is none
// is refused with one line. Writes nothing.
import { readLines } from "../../../kit/text/line-splitter.ts";
import { isJson, type Json } from "../../../models/wire/json.ts";
import { Fault, messageOf } from "../../../protocol/api/error.ts";
import { importFormats, type ImportedTree, type ImportFormat, type ImportSource } from "../../../protocol/tree/import.ts";
import { claude } from "./claude.ts";
import { codex } from "./codex.ts";
import type { TranscriptFormat } from "./draft-node.ts";
import { gemini } from "./gemini.ts";
import { pi } from "./pi.ts";
import { assignIds } from "./assign-ids.ts";
import { parseSkein, recogniseSkein } from "./skein.ts";

export type TranscriptLimits = { lineBytes: number; fileBytes: number };

const defaults: TranscriptLimits = { lineBytes: 64 << 20, fileBytes: 1 << 30 };

export async function readTranscript(
  from: ImportSource,
  format: ImportFormat | "auto",
  bounds: Partial<TranscriptLimits> = {},
): Promise<ImportedTree> {
  const name = "path" in from ? from.path : "standard input";
  const read = await readEntries(from, name, format, { ...defaults, ...bounds });
  const { sha256, torn } = read;
  if (read.format === null) throw unknownFile(name, format);
  if (read.format === "skein") {
    const { misshapen, ...tree } = parseSkein(read.entries);
    return { ...refuseEmpty(name, tree), format: read.format, sha256, unreadable: read.unreadable + misshapen, torn };
  }
  const { nativeId, sessions, turns, nodes } = assignIds(foreign[read.format].parse(read.entries), read.format);
  const main = sessions[0]!.id;
  return {
    ...refuseEmpty(name, { nativeId, tree: null, main, sessions, turns, nodes }),
    format: read.format,
    sha256,
    unreadable: read.unreadable,
    torn,
  };
}

const foreign: Record<Exclude<ImportFormat, "skein">, TranscriptFormat> = { claude, codex, gemini, pi };

type Entries = { entries: Json[]; format: ImportFormat | null; sha256: string; unreadable: number; torn: boolean };

/** What has been read before the format is known is few lines; after that only what the format needs is kept. */
async function readEntries(from: ImportSource, name: string, wanted: ImportFormat | "auto", bounds: TranscriptLimits): Promise<Entries> {
  const hash = new Bun.CryptoHasher("sha256");
  const found: Entries = { entries: [], format: null, sha256: "", unreadable: 0, torn: false };
  let total = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunksOf(from, name)) {
      total += chunk.length;
      if (total > bounds.fileBytes) throw new Fault("file-unreadable", `${name} is over ${bounds.fileBytes >> 20} MiB: too much to import`);
      hash.update(chunk);
      yield chunk;
    }
  }
  for await (const line of readLines(counted(), bounds.lineBytes)) {
    if (line.text.trim() === "") continue;
    const entry = line.cutBytes > 0 ? null : parsed(line.text);
    if (entry === null) {
      if (line.torn && line.cutBytes === 0) found.torn = true;
      else found.unreadable += 1;
      if (found.format === null && found.unreadable > giveUpAfter) break;
      continue;
    }
    found.format ??= formatOf(entry, wanted);
    const kept = found.format === null || found.format === "skein" ? entry : slimmed(found.format, entry);
    if (kept !== null) found.entries.push(kept);
    if (found.format === null && found.entries.length > giveUpAfter) break;
  }
  if (found.format === null && found.unreadable > 0) return readWhole(from, name, wanted, bounds);
  found.sha256 = hash.digest("hex");
  return found;
}

const giveUpAfter = 200;

/** Older versions of Gemini CLI wrote one object over many lines. */
async function readWhole(from: ImportSource, name: string, wanted: ImportFormat | "auto", bounds: TranscriptLimits): Promise<Entries> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunksOf(from, name)) {
    size += chunk.length;
    chunks.push(chunk);
    if (size > bounds.lineBytes) throw unknownFile(name, wanted);
  }
  const bytes = Buffer.concat(chunks);
  const entry = parsed(bytes.toString("utf8"));
  const format = entry === null ? null : formatOf(entry, wanted);
  const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
  return { entries: entry === null ? [] : [entry], format, sha256, unreadable: 0, torn: false };
}

async function* chunksOf(from: ImportSource, name: string): AsyncGenerator<Uint8Array> {
  if ("text" in from) {
    yield Buffer.from(from.text);
    return;
  }
  try {
    yield* Bun.file(from.path).stream() as unknown as AsyncIterable<Uint8Array>;
  } catch (error) {
    const reason = reasons[(error as NodeJS.ErrnoException).code ?? ""] ?? messageOf(error);
    throw new Fault("file-unreadable", `can't read ${name}: ${reason}`, {
      cause: error,
      hint: "`skein import --help` says where they lie",
    });
  }
}

/** What the system says of these names the path again. */
const reasons: Record<string, string> = { ENOENT: "it does not exist", EISDIR: "it is a directory" };

function parsed(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text);
    return isJson(value) ? value : null;
  } catch {
    return null;
  }
}

/** Gemini before Claude: both speak of a `sessionId`. */
function formatOf(entry: Json, wanted: ImportFormat | "auto"): ImportFormat | null {
  if (recogniseSkein(entry)) return wanted === "auto" || wanted === "skein" ? "skein" : null;
  const names = ["codex", "pi", "gemini", "claude"] as const;
  return names.find((name) => (wanted === "auto" || wanted === name) && foreign[name].recognises(entry)) ?? null;
}

function slimmed(format: Exclude<ImportFormat, "skein">, entry: Json): Json | null {
  const slim = foreign[format].slim;
  return slim === undefined ? entry : slim(entry);
}

function unknownFile(name: string, wanted: ImportFormat | "auto"): Fault {
  const kinds = wanted === "auto" ? `no transcript of ${importFormats.join(", ")}` : `no transcript of ${wanted}`;
  return new Fault("file-unreadable", `${name} is ${kinds}`, { hint: "nothing was imported" });
}

function refuseEmpty<T extends { nodes: unknown[] }>(name: string, tree: T): T {
  if (tree.nodes.length > 0) return tree;
  throw new Fault("file-unreadable", `there is no message in ${name}`, { hint: "nothing was imported" });
}
