// Reads one config file as JSON with comments. A missing file costs one stat; a broken one is a fault with file and line.
import { statSync, type Stats } from "node:fs";
import type { FileReader } from "../kit/files/file-reader.ts";
import { readRegularFile } from "../kit/files/safe-file.ts";
import { Fault, messageOf } from "../protocol/api/error.ts";
import { isRecord } from "../kit/text/json.ts";

const maxBytes = 1_000_000;

/** The text of a config file; null if there is none. Without `files` it is the user's own file, which may be anywhere. */
export function readConfigText(path: string, files: FileReader | null): string | null {
  const stat = statOf(path);
  if (stat === undefined) return null;
  if (!stat.isFile()) throw new Fault("config", `${path} is not a file`, { hint: "remove it, or put a config file there" });
  if (stat.size > maxBytes)
    throw new Fault("config", `${path} is larger than ${maxBytes} bytes`, { hint: "a config file holds settings only" });
  try {
    const bytes = files === null ? readRegularFile(path, { maxBytes }) : files.read(path, maxBytes);
    return bytes === null ? null : bytes.toString("utf8").replace(/^\uFEFF/, "");
  } catch (error) {
    throw new Fault("config", `can't read ${path}: ${messageOf(error)}`, { cause: error });
  }
}

/** A file that is empty or has only comments is an empty object. */
export function parseConfigText(text: string, path: string): Record<string, unknown> {
  // The parser ignores text after the first value. A marker behind it shows whether there is such text.
  if (parseInBrackets(`${text}\n"end"]`).values?.[0] === "end") return {};
  const { values, problem } = parseInBrackets(`${text}\n,"end"]`);
  if (values === null) {
    const hint = "JSON with // comments and trailing commas is expected";
    throw new Fault("config", `${path}:${brokenLine(text, problem)}: ${problem}`, { hint });
  }
  const [value, marker, ...rest] = values;
  if (!isRecord(value) || marker !== "end" || rest.length > 0) throw new Fault("config", `${path}: one JSON object is expected`);
  return value;
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    // The parent directory is a file, so there is no config file.
    if ((error as NodeJS.ErrnoException).code === "ENOTDIR") return undefined;
    throw new Fault("config", `can't read ${path}: ${messageOf(error)}`, { cause: error });
  }
}

/** The parser reports no position. The problem is in the first line after which the text fails with the same message. */
function brokenLine(text: string, problem: string): number {
  const lines = text.split("\n");
  let low = 1;
  let high = lines.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (parseInBrackets(lines.slice(0, middle).join("\n")).problem === problem) high = middle;
    else low = middle + 1;
  }
  return low;
}

function parseInBrackets(rest: string): { values: unknown[]; problem: null } | { values: null; problem: string } {
  try {
    return { values: Bun.JSONC.parse(`[${rest}`) as unknown[], problem: null };
  } catch (error) {
    return { values: null, problem: messageOf(error).replace(/^JSONC Parse error: /, "") };
  }
}
