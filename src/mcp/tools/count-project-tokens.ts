// count_project_tokens: counts the tokens of files and directories of the project.
import { groupDigits } from "../../kit/text/cut-text.ts";
import type { TokenCount } from "../../protocol/api/api.ts";
import { toJsonCase } from "../../protocol/json/json-case.ts";
import { tool } from "./tool.ts";
import { withTimeLimit } from "../turn/time-limit.ts";

const maxMs = 60_000;

export const countProjectTokens = tool("count_project_tokens", {
  description: "Count the tokens of files and directories before sending them to a model.",
  readOnly: true,
  async run({ items, top_n }, { api, directory, caller }) {
    const count = await withTimeLimit(caller, { maxMs, progress: "counting tokens" }, (limitMs) =>
      api.tokens.count({ items, directory, top: top_n, limitMs }),
    );
    const output = toJsonCase(count) as { total_tokens: number; total_files: number };
    return { output, text: countLines(count).join("\n") };
  },
});

function countLines({ totalTokens, totalFiles, estimatedFiles, largestFiles, largestDirectories, skipped }: TokenCount): string[] {
  const entryLine = ({ path, tokens }: { path: string; tokens: number }) => `${groupDigits(tokens)} ${path}`;
  const estimated = estimatedFiles === 0 ? "" : `, ${groupDigits(estimatedFiles)} of them estimated`;
  const skippedCounts = Object.entries(skipped).filter(([, count]) => count > 0);
  return [
    `${groupDigits(totalTokens)} tokens in ${groupDigits(totalFiles)} files${estimated}`,
    ...(skippedCounts.length === 0
      ? []
      : [`not counted: ${skippedCounts.map(([reason, count]) => `${groupDigits(count)} ${reason}`).join(", ")}`]),
    ...(largestFiles.length === 0 ? [] : ["largest files:", ...largestFiles.map(entryLine)]),
    ...(largestDirectories.length === 0 ? [] : ["largest directories:", ...largestDirectories.map(entryLine)]),
  ];
}
