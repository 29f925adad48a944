// The write tool: creates or replaces a whole file, and creates missing parent directories.
import { mkdirSync, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { absolutePath } from "../../kit/files/absolute-path.ts";
import { groupDigits, pluralize } from "../../kit/text/cut-text.ts";
import type { ToolOutcome } from "../../protocol/api/ports.ts";
import { fileProblem, fileTypeProblem } from "./file-problem.ts";
import type { RunTool, ToolContext } from "./tool.ts";
import { type OldContent, writeInPlace } from "./write-in-place.ts";

/** A larger old file is not read, so it can't be restored after a failed write. */
const maxOldBytes = 16 << 20;
const maxDiffBytes = 1 << 20;

export const runWrite: RunTool = async (input, ctx) => {
  const path = absolutePath(String(input.path), ctx);
  const content = Buffer.from(String(input.content));
  const before = readOldContent(path, ctx);
  if (typeof before === "object" && before !== null && "problem" in before) return before.problem;
  try {
    if (before === null) mkdirSync(dirname(path), { recursive: true });
    writeInPlace(path, content, before);
  } catch (error) {
    return fileProblem(error, "write", path, ctx);
  }
  const size = `${pluralize(countLines(content), "line")}, ${groupDigits(content.length)} bytes`;
  const diff = await diffOf(before, content, path);
  return { text: `wrote ${String(input.path)}: ${size}`, isError: false, display: diff || size };
};

function readOldContent(path: string, ctx: ToolContext): OldContent<Buffer> | { problem: ToolOutcome } {
  try {
    const stat = statSync(path);
    const problem = fileTypeProblem(stat, path, ctx);
    if (problem) return { problem };
    return stat.size <= maxOldBytes ? readFileSync(path) : "unknown";
  } catch (error) {
    const code = (error as { code?: string }).code;
    if (code === "ENOENT") return null;
    // A file may be writable but not readable.
    return code === "EACCES" ? "unknown" : { problem: fileProblem(error, "write", path, ctx) };
  }
}

async function diffOf(before: OldContent<Buffer>, content: Buffer, path: string): Promise<string> {
  if (before === "unknown" || content.length + (before?.length ?? 0) > maxDiffBytes) return "";
  if (before?.includes(0) || content.includes(0)) return "";
  const { unifiedDiff } = await import("./unified-diff.ts");
  return unifiedDiff(before?.toString() ?? null, content.toString(), path);
}

function countLines(content: Buffer): number {
  let lines = content.length > 0 && content.at(-1) !== 10 ? 1 : 0;
  for (let index = content.indexOf(10); index !== -1; index = content.indexOf(10, index + 1)) lines += 1;
  return lines;
}
