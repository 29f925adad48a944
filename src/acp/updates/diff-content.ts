// The changes of a tool call as diffs of the protocol: from the unified diff of skein's own tools, or from the input of
// another agent's tool. A diff holds the changed lines and their context, not the whole file.
import type { Diff } from "@agentclientprotocol/sdk";
import type { Json } from "../../kit/text/json.ts";
import { firstText, replacementsOf } from "../../protocol/tree/node.ts";

export type FileDiff = Pick<Diff, "path" | "oldText" | "newText"> & {
  /** The first line of the change in the new file; undefined if unknown. */
  line?: number;
};

/** One diff for each hunk. Empty if the text is no unified diff. */
export function diffsOfPatch(patch: string): FileDiff[] {
  const lines = patch.split("\n");
  const [before, after] = [lines[0] ?? "", lines[1] ?? ""];
  if (!before.startsWith("--- ") || !after.startsWith("+++ ")) return [];
  const path = after.slice(4);
  const isNew = before === "--- /dev/null";
  const hunks: { line: number; isChanged: boolean; old: string[]; new: string[] }[] = [];
  for (const line of lines.slice(2)) {
    const start = /^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line)?.[1];
    const hunk = hunks.at(-1);
    if (start !== undefined) hunks.push({ line: Math.max(1, Number(start)), isChanged: false, old: [], new: [] });
    else if (hunk !== undefined && /^[ +-]/.test(line)) {
      hunk.isChanged ||= !line.startsWith(" ");
      if (!hunk.isChanged) hunk.line += 1; // context before the first change
      if (!line.startsWith("+")) hunk.old.push(line.slice(1));
      if (!line.startsWith("-")) hunk.new.push(line.slice(1));
    }
  }
  return hunks.map((hunk) => ({ path, oldText: isNew ? null : hunk.old.join("\n"), newText: hunk.new.join("\n"), line: hunk.line }));
}

/** The changes in the input of a call whose tool replaces texts or writes a whole file. Empty for other tools. */
export function diffsOfInput(input: Json, path: string): FileDiff[] {
  const replacements = replacementsOf(input);
  if (replacements.length > 0) return replacements.map(({ before, after }) => ({ path, oldText: before, newText: after }));
  const content = firstText(input, ["content", "file_text"]);
  return content === undefined ? [] : [{ path, oldText: null, newText: content }];
}
