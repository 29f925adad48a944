// The edit tool: replaces one text that occurs exactly once. Line endings, BOM, mode and invalid UTF-8 stay unchanged.
// It does not await between reading and writing, so that parallel edits of one file do not overwrite each other.
import { readFileSync, statSync } from "node:fs";
import { absolutePath } from "../../kit/files/absolute-path.ts";
import { groupDigits } from "../../kit/text/cut-text.ts";
import type { ToolOutcome } from "../../protocol/api/ports.ts";
import { fileProblem, fileTypeProblem, secretProblem } from "./file-problem.ts";
import { findUnique, lineNumberAt, matchLineEndings } from "./find-unique.ts";
import { errorOutcome, type RunTool, type ToolContext } from "./tool.ts";
import { writeInPlace } from "./write-in-place.ts";

const maxFileBytes = 64 << 20;
/** Above this size the diff shows only the replaced text. */
const maxDiffBytes = 2 << 20;

type Replacement = { path: string; oldText: string; newText: string };
type Edited = { before: Buffer; after: Buffer; line: number };

export const runEdit: RunTool = async (input, ctx) => {
  const replacement = {
    path: absolutePath(String(input.path), ctx),
    oldText: String(input.old_text),
    newText: String(input.new_text),
  };
  if (replacement.oldText === "") return errorOutcome("old_text is empty; use write to create or replace a whole file");
  if (replacement.oldText === replacement.newText) return errorOutcome("old_text and new_text are the same");
  const edited = replaceInFile(replacement, ctx);
  if ("isError" in edited) return edited;
  return {
    text: `edited ${String(input.path)} at line ${edited.line}`,
    isError: false,
    display: await diffOf(edited, replacement),
  };
};

function replaceInFile({ path, oldText, newText }: Replacement, ctx: ToolContext): Edited | ToolOutcome {
  let before: Buffer;
  try {
    const stat = statSync(path);
    const problem = fileTypeProblem(stat, path, ctx);
    if (problem) return problem;
    if (stat.size > maxFileBytes) return errorOutcome(`${path} has ${groupDigits(stat.size)} bytes, too many for edit; use bash`);
    before = readFileSync(path);
  } catch (error) {
    return fileProblem(error, "read", path, ctx);
  }
  const file = before.toString("latin1");
  const [oldBytes, newBytes] = [toByteString(oldText), toByteString(newText)];
  const { match, problem } = findUnique(file, oldBytes);
  if (!match) return (before.length === 0 ? secretProblem(path, "read", ctx) : null) ?? errorOutcome(`${problem} in ${path}`);

  const inserted = matchLineEndings(newBytes, { oldText: oldBytes, replaced: file.slice(match.start, match.end), content: file });
  const after = Buffer.from(file.slice(0, match.start) + inserted + file.slice(match.end), "latin1");
  if (after.equals(before)) return errorOutcome("old_text and new_text are the same but for their line endings");
  try {
    writeInPlace(path, after, before);
  } catch (error) {
    return fileProblem(error, "write", path, ctx);
  }
  return { before, after, line: lineNumberAt(file, match.start) };
}

async function diffOf({ before, after }: Edited, { path, oldText, newText }: Replacement): Promise<string> {
  const { unifiedDiff } = await import("./unified-diff.ts");
  const isSmall = before.length + after.length <= maxDiffBytes;
  return isSmall ? unifiedDiff(before.toString(), after.toString(), path) : unifiedDiff(oldText, newText, path);
}

/** One character per byte of UTF-8. */
function toByteString(text: string): string {
  return Buffer.from(text).toString("latin1");
}
