// Renders a unified diff: changed lines in colour, context lines highlighted as code. Each line has its number in the new
// file, a removed line its number in the old file.
import type { TextRun } from "../../kit/text/ansi.ts";
import { pluralize } from "../../kit/text/cut-text.ts";
import { bad, code, faint, good } from "../layout/styles.ts";
import { strip, type BlockReader, type Strip } from "./strips.ts";
import { findHighlighter, colorLine, type SyntaxState } from "../../kit/highlight/syntax.ts";
import { styled, blanks, wrapRuns } from "../layout/wrap.ts";

/** `oldLine` and `newLine` are the next line numbers; 0 outside of a hunk. */
type State = { oldName: string; oldLine: number; newLine: number; syntax: SyntaxState };

const numberColumns = 5;

export const unifiedDiff: BlockReader<State> = {
  start: { oldName: "", oldLine: 0, newLine: 0, syntax: { highlighter: null, openSpan: null } },
  line: (line, state, columns) => {
    const name = /^(---|\+\+\+) (?:[ab]\/)?(.*?)\t?$/.exec(line);
    if (name !== null && state.oldLine === 0) return nameLine({ isOld: name[1] === "---", name: name[2] ?? "" }, state, columns);
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)$/.exec(line);
    if (hunk !== null) {
      const [, oldStart = "", newStart = "", context = ""] = hunk;
      const head = [blanks(numberColumns + 1), styled(`@@${context}`, code)];
      const next = {
        ...state,
        oldLine: Number(oldStart) || 1,
        newLine: Number(newStart) || 1,
        syntax: { ...state.syntax, openSpan: null },
      };
      const isFirstWithoutContext = state.oldLine === 0 && context.trim() === "";
      return { strips: isFirstWithoutContext ? [] : [strip(() => wrapRuns(head, columns))], state: next };
    }
    // These lines belong to the head of the next file.
    if (/^(diff|index|new file|deleted file|old mode|new mode|similarity|rename) /.test(line))
      return { strips: [], state: { ...state, oldLine: 0, newLine: 0 } };
    // A line of a hunk never begins with a bracket: this is the number of lines that the tool left out.
    if (line.startsWith("[... "))
      return { strips: [strip(() => wrapRuns([blanks(numberColumns + 1), styled(omittedText(line), faint)], columns))], state };
    if (state.oldLine > 0) return changedLine(line, state, columns);
    return { strips: [strip(() => wrapRuns([styled(line, faint)], columns))], state };
  },
};

function nameLine({ isOld, name }: { isOld: boolean; name: string }, state: State, columns: number): { strips: Strip[]; state: State } {
  if (isOld) return { strips: [], state: { ...state, oldName: name } };
  const title = fileTitle(state.oldName, name);
  const highlighter = findHighlighter(/\.(\w+)$/.exec(name)?.[1] ?? "");
  return {
    strips: [strip(() => wrapRuns([styled(title, { bold: true })], columns))],
    state: { ...state, syntax: { highlighter: highlighter === "diff" ? null : highlighter, openSpan: null } },
  };
}

function changedLine(line: string, state: State, columns: number): { strips: Strip[]; state: State } {
  const sign = line.charAt(0);
  const text = line.slice(1);
  const hang = blanks(numberColumns + 2);
  const rows = (number: number | null, mark: TextRun, runs: TextRun[]) =>
    strip(() => wrapRuns([styled(`${number ?? ""} `.padStart(numberColumns), faint), mark, ...runs], columns, hang));
  if (sign === "+" || sign === "-") {
    const [style, key] = sign === "+" ? [good, "newLine" as const] : [bad, "oldLine" as const];
    return {
      strips: [rows(state[key], styled(`${sign} `, style), [{ text, style }])],
      state: { ...state, [key]: state[key] + 1 },
    };
  }
  if (sign === "\\") return { strips: [rows(null, styled("  ", faint), [styled(line, faint)])], state };
  const painted = colorLine(text, state.syntax);
  const next = { ...state, oldLine: state.oldLine + 1, newLine: state.newLine + 1, syntax: painted.syntax };
  return { strips: [rows(state.newLine, styled("  ", faint), painted.runs)], state: next };
}

function omittedText(line: string): string {
  return line.replace(
    /^\[\.\.\. (\d+) more lines? of the diff \.\.\.\]$/,
    (_, count: string) => `… ${pluralize(Number(count), "more line")}`,
  );
}

/** The file of a diff, and its numbers of added and removed lines. */
export function diffCounts(text: string): { name: string; change: "created" | "deleted" | "changed"; added: number; removed: number } {
  const [, before = "", after = ""] = /^--- (?:a\/)?(.*)\n\+\+\+ (?:b\/)?(.*)$/m.exec(text) ?? [];
  const count = (sign: RegExp) => text.match(sign)?.length ?? 0;
  const change = before === "/dev/null" ? "created" : after === "/dev/null" ? "deleted" : "changed";
  return { name: change === "deleted" ? before : after, change, added: count(/^\+(?!\+\+ )/gm), removed: count(/^-(?!-- )/gm) };
}

export function diffLineCount(text: string): number {
  return text.split("\n").length - 3;
}

function fileTitle(before: string, after: string): string {
  if (after === "/dev/null") return `${before} (deleted)`;
  return before === "/dev/null" ? `${after} (created)` : after;
}
