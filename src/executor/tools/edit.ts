// The edit tool: replaces one piece of text that must be unique. Line endings, BOM, mode and bytes that are no
// UTF-8 stay as they are. Runs without a pause between reading and writing, so that parallel edits do not mix.
import { readFileSync, statSync } from "node:fs";
import type { ToolOutcome } from "../../protocol/api/ports.ts";
import { absolutePath } from "../../kit/files/absolute-path.ts";
import { groupDigits } from "../../kit/text/cut-text.ts";
import { definitions } from "./definitions.ts";
import { directoryProblem, fileProblem, secretProblem, specialFileProblem } from "./file-problem.ts";
import { findUnique, lineAt, type Match, withEndings } from "./find-unique.ts";
import { writeInPlace } from "./write-in-place.ts";
import { errorOutcome, type Tool, type ToolRun } from "./tool.ts";

const largestFile = 64 << 20;
const largestDiff = 2 << 20;

type Edited = { before: Buffer; after: Buffer; line: number; oldText: string; newText: string };

export const editTool: Tool = {
  definition: definitions.edit,
  run: async (input, run) => {
    const path = absolutePath(String(input.path), run);
    const oldText = String(input.old_text);
    const newText = String(input.new_text);
    if (oldText === "") return errorOutcome("old_text is empty; use write to create or replace a whole file");
    if (oldText === newText) return errorOutcome("old_text and new_text are the same");
    const edited = replace(path, oldText, newText, run);
    return "isError" in edited ? edited : describe(edited, path, String(input.path));
  },
};

/** What was done, or what is wrong. */
function replace(path: string, oldText: string, newText: string, run: ToolRun): Edited | ToolOutcome {
  let before: Buffer;
  try {
    const found = statSync(path);
    if (found.isDirectory()) return directoryProblem(path, run);
    if (!found.isFile()) return specialFileProblem(path, run);
    if (found.size > largestFile) return errorOutcome(`${path} has ${groupDigits(found.size)} bytes, too many for edit; use bash`);
    before = readFileSync(path);
  } catch (error) {
    return fileProblem(error, "read", path, run);
  }
  const file = before.toString("latin1");
  const { match, problem } = findUnique(file, bytewise(oldText));
  if (!match) return (before.length === 0 ? secretProblem(path, "read", run) : null) ?? errorOutcome(`${problem} in ${path}`);

  const after = replaced(file, match, bytewise(oldText), bytewise(newText));
  if (after.equals(before)) return errorOutcome("old_text and new_text are the same but for their line endings");
  try {
    writeInPlace(path, after, before);
  } catch (error) {
    return fileProblem(error, "write", path, run);
  }
  return { before, after, line: lineAt(file, match.start), oldText, newText };
}

function replaced(file: string, { start, end }: Match, wanted: string, newText: string): Buffer {
  const text = withEndings(newText, wanted, file.slice(start, end), file);
  return Buffer.from(file.slice(0, start) + text + file.slice(end), "latin1");
}

async function describe(edited: Edited, path: string, asked: string): Promise<ToolOutcome> {
  const { unifiedDiff } = await import("./diff.ts");
  const isSmall = edited.before.length + edited.after.length <= largestDiff;
  const display = isSmall
    ? unifiedDiff(edited.before.toString(), edited.after.toString(), path)
    : unifiedDiff(edited.oldText, edited.newText, path);
  return { text: `edited ${asked} at line ${edited.line}`, isError: false, display };
}

/** One character per byte of UTF-8. */
function bytewise(text: string): string {
  return Buffer.from(text).toString("latin1");
}
