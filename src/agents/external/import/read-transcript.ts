// Reads a transcript of any known agent, line by line with limits, and converts it to a tree for the engine. Refuses any
// other file. Writes nothing.
import { closeSync } from "node:fs";
import { openRegularFile, readChunks } from "../../../kit/files/safe-file.ts";
import { readLines } from "../../../kit/text/line-splitter.ts";
import type { Json } from "../../../kit/text/json.ts";
import { parseJson } from "../../../models/wire/json.ts";
import { Fault, messageOf } from "../../../protocol/api/error.ts";
import { importFormats, type ImportedTree, type ImportFormat, type ImportSource } from "../../../protocol/tree/import.ts";
import { atif } from "./atif.ts";
import { claude } from "./claude.ts";
import { codex } from "./codex.ts";
import type { ParsedTranscript, TranscriptFormat } from "./parsed-node.ts";
import { gemini } from "./gemini.ts";
import { opencode } from "./opencode.ts";
import { pi } from "./pi.ts";
import { assignIds, type ParsedTree } from "./assign-ids.ts";
import { skein } from "./skein.ts";

export type TranscriptLimits = { lineBytes: number; fileBytes: number };

const defaultLimits: TranscriptLimits = { lineBytes: 64 << 20, fileBytes: 1 << 30 };

export async function readTranscript(
  source: ImportSource,
  format: ImportFormat | "auto",
  limits: Partial<TranscriptLimits> = {},
): Promise<ImportedTree> {
  const name = "path" in source ? source.path : "standard input";
  const { entries, ...read } = await readEntries({ source, name, format, limits: { ...defaultLimits, ...limits } });
  if (read.format === null) throw unknownFormat(name, format);
  const facts = { ...read, format: read.format };
  if (read.format === "skein") return withFacts(skein.parse(entries), facts, name);
  return withSubSessions(foreignFormats[read.format].parse(entries), facts, name);
}

type FileFacts = Pick<ImportedTree, "format" | "sha256" | "unreadable" | "isCutOff">;

function withFacts({ malformed, ...tree }: ParsedTree, facts: FileFacts, name: string): ImportedTree {
  if (tree.nodes.length === 0) throw new Fault("file-unreadable", `there is no message in ${name}`, { hint: "nothing was imported" });
  return { ...tree, ...facts, unreadable: facts.unreadable + malformed };
}

function withSubSessions(parsed: ParsedTranscript, facts: FileFacts, name: string): ImportedTree {
  const tree = withFacts(assignIds(parsed, facts.format), facts, name);
  const below = (parsed.subSessions ?? []).filter(({ nodes }) => nodes.some(({ node }) => node.parts.length > 0));
  if (below.length === 0) return tree;
  // The lines that were left out are counted once, for the file.
  return { ...tree, subSessions: below.map((sub) => withSubSessions(sub, { ...facts, unreadable: 0 }, name)) };
}

const foreignFormats: Record<Exclude<ImportFormat, "skein">, TranscriptFormat> = { claude, codex, gemini, opencode, pi, atif };

/** In the order of detection: Gemini comes before Claude, because both have a `sessionId`. */
const formats: Record<ImportFormat, Pick<TranscriptFormat, "recognises" | "slim">> = { skein, atif, codex, pi, gemini, opencode, claude };

type Entries = { entries: Json[]; format: ImportFormat | null; sha256: string; unreadable: number; isCutOff: boolean };

type ReadRequest = { source: ImportSource; name: string; format: ImportFormat | "auto"; limits: TranscriptLimits };

/** Once the format is detected, stores only the entries and fields that the format needs. */
async function readEntries(request: ReadRequest): Promise<Entries> {
  const { source, name, limits } = request;
  const hash = new Bun.CryptoHasher("sha256");
  const result: Entries = { entries: [], format: null, sha256: "", unreadable: 0, isCutOff: false };
  let totalBytes = 0;
  async function* countBytes(): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunksOf(source, name)) {
      totalBytes += chunk.length;
      if (totalBytes > limits.fileBytes)
        throw new Fault("file-unreadable", `${name} is over ${limits.fileBytes >> 20} MiB: too much to import`);
      hash.update(chunk);
      yield chunk;
    }
  }
  for await (const line of readLines(countBytes(), limits.lineBytes)) {
    if (line.text.trim() === "") continue;
    const entry = line.cutBytes > 0 ? null : parseJson(line.text);
    if (entry === null) {
      if (line.isIncomplete && line.cutBytes === 0) result.isCutOff = true;
      else result.unreadable += 1;
      if (result.format === null && result.unreadable > maxUnknownEntries) break;
      continue;
    }
    result.format ??= detectFormat(entry, request.format);
    const slim = result.format === null ? undefined : formats[result.format].slim;
    const needed = slim === undefined ? entry : slim(entry);
    if (needed !== null) result.entries.push(needed);
    if (result.format === null && result.entries.length > maxUnknownEntries) break;
  }
  if (result.format === null && result.unreadable > 0) return readSingleObject(request);
  result.sha256 = hash.digest("hex");
  return result;
}

const maxUnknownEntries = 200;

/** For older versions of Gemini CLI, which wrote one object over many lines. */
async function readSingleObject({ source, name, format: expected, limits }: ReadRequest): Promise<Entries> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunksOf(source, name)) {
    size += chunk.length;
    chunks.push(chunk);
    if (size > limits.lineBytes) throw unknownFormat(name, expected);
  }
  const bytes = Buffer.concat(chunks);
  const entry = parseJson(bytes.toString("utf8"));
  const format = entry === null ? null : detectFormat(entry, expected);
  const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
  return { entries: entry === null ? [] : [entry], format, sha256, unreadable: 0, isCutOff: false };
}

async function* chunksOf(source: ImportSource, name: string): AsyncGenerator<Uint8Array> {
  if ("text" in source) {
    yield Buffer.from(source.text);
    return;
  }
  let file: number | null = null;
  try {
    file = openRegularFile(source.path);
    yield* readChunks(file);
  } catch (error) {
    const reason = reasons[(error as NodeJS.ErrnoException).code ?? ""] ?? messageOf(error);
    throw new Fault("file-unreadable", `can't read ${name}: ${reason}`, {
      cause: error,
      hint: "`skein import --help` has the paths of transcripts",
    });
  } finally {
    if (file !== null) closeSync(file);
  }
}

/** Used instead of the system's messages, which repeat the path. */
const reasons: Record<string, string> = { ENOENT: "it does not exist" };

function detectFormat(entry: Json, expected: ImportFormat | "auto"): ImportFormat | null {
  const names = Object.keys(formats) as ImportFormat[];
  return names.find((name) => (expected === "auto" || expected === name) && formats[name].recognises(entry)) ?? null;
}

function unknownFormat(name: string, expected: ImportFormat | "auto"): Fault {
  const agents = expected === "auto" ? importFormats.join(", ") : expected;
  return new Fault("file-unreadable", `${name} is not a transcript of ${agents}`, { hint: "nothing was imported" });
}
