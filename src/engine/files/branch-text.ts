// The file changes of a branch as lines for a model.
import { cutText, pluralize } from "../../kit/text/cut-text.ts";
import type { BranchFiles } from "./branch-files.ts";

const maxListedFiles = 50;
const maxPatchBytes = 16 * 1024;

/** Only changes by the branch itself. Empty if there are none or they were not recorded. */
export function branchFilesText(files: BranchFiles | null): string[] {
  if (files === null) return [];
  const { changes, patch, unknown } = files;
  const missing =
    unknown === 0
      ? []
      : ["", `The files after ${pluralize(unknown, "answer")} with tool calls were not recorded; it may have changed more.`];
  if (changes.length === 0) return missing;
  const lines = changes.slice(0, maxListedFiles).map(({ kind, path, added, removed }) => `- ${kind} ${path} (+${added} -${removed})`);
  const more = changes.length > maxListedFiles ? [`- and ${changes.length - maxListedFiles} more`] : [];
  const diff = cutText(patch, maxPatchBytes, { keep: "head" }).text.trimEnd();
  return ["", "Files it changed:", ...lines, ...more, "", "```diff", diff, "```", ...missing];
}
