// The write tool: a whole file, new or in place of what was there; parent directories are made.
import { mkdirSync, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { ToolOutcome } from "../../protocol/api/ports.ts";
import { absolutePath } from "../../kit/files/absolute-path.ts";
import { pluralize, groupDigits } from "../../kit/text/cut-text.ts";
import { definitions } from "./definitions.ts";
import { directoryProblem, fileProblem, specialFileProblem } from "./file-problem.ts";
import { writeInPlace } from "./write-in-place.ts";
import type { Tool, ToolRun } from "./tool.ts";

const largestKept = 16 << 20;
const largestDiff = 1 << 20;

export const writeTool: Tool = {
  definition: definitions.write,
  run: async (input, run) => {
    const path = absolutePath(String(input.path), run);
    const content = Buffer.from(String(input.content));
    const before = contentBefore(path, run);
    if (typeof before === "object" && before !== null && "problem" in before) return before.problem;
    try {
      if (before === null) mkdirSync(dirname(path), { recursive: true });
      writeInPlace(path, content, before);
    } catch (error) {
      return fileProblem(error, "write", path, run);
    }
    const size = `${pluralize(countLines(content), "line")}, ${groupDigits(content.length)} bytes`;
    const display = await diffOf(before, content, path);
    return { text: `wrote ${String(input.path)}: ${size}`, isError: false, display: display || size };
  },
};

function contentBefore(path: string, run: ToolRun): Buffer | null | "unknown" | { problem: ToolOutcome } {
  try {
    const found = statSync(path);
    if (found.isDirectory()) return { problem: directoryProblem(path, run) };
    if (!found.isFile()) return { problem: specialFileProblem(path, run) };
    return found.size <= largestKept ? readFileSync(path) : "unknown";
  } catch (error) {
    const code = (error as { code?: string }).code;
    if (code === "ENOENT") return null;
    // A file may be writable and not readable.
    return code === "EACCES" ? "unknown" : { problem: fileProblem(error, "write", path, run) };
  }
}

async function diffOf(before: Buffer | null | "unknown", content: Buffer, path: string): Promise<string> {
  if (before === "unknown" || content.length + (before?.length ?? 0) > largestDiff) return "";
  if (before?.includes(0) || content.includes(0)) return "";
  const { unifiedDiff } = await import("./diff.ts");
  return unifiedDiff(before?.toString() ?? null, content.toString(), path);
}

function countLines(content: Buffer): number {
  let lines = content.length > 0 && content.at(-1) !== 10 ? 1 : 0;
  for (let at = content.indexOf(10); at !== -1; at = content.indexOf(10, at + 1)) lines += 1;
  return lines;
}
