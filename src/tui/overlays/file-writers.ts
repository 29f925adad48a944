// The lines of a changed file with a column of their writers: the turn and agent, or "not by an agent". Below them the turns.
import { stripAnsi } from "../../kit/text/ansi.ts";
import type { BlameReport } from "../../protocol/schema/views/blame-views.ts";
import { shortId } from "../../protocol/tree/node.ts";
import { faint, good } from "../layout/styles.ts";
import { cellsOf, fit, plainLine, styled, type Row } from "../layout/wrap.ts";
import type { BoxLine } from "./box.ts";

/** The column is cut to this width, so that the text has room on a narrow screen. */
const maxWriterCells = 20;
/** More lines of one file are not shown. */
export const maxBlamedLines = 2_000;

/** Keys of the changed files, for the help. `text-overlay.ts` handles them. */
export const changedFilesKeys = [{ keys: ["w"], summary: "show who wrote each line, or the changes again" }];

export function fileWriterLines(report: BlameReport): BoxLine[] {
  const { path, lines, turns } = report;
  const writers = lines.map((line) => fit(writerText(report, line), maxWriterCells));
  const width = Math.max(0, ...writers.map(cellsOf));
  const digits = String(lines.at(-1)?.line ?? 0).length;
  const rows = lines.map(({ line, text, turns: ids }, index): Row => {
    // The name is printed once for neighbouring lines of the same writer.
    const writer = index > 0 && writers[index - 1] === writers[index] ? "" : writers[index]!;
    return [
      styled(writer + " ".repeat(width - cellsOf(writer)), ids.length === 0 ? faint : good),
      styled(` ${String(line).padStart(digits)}  `, faint),
      styled(stripAnsi(text)),
    ];
  });
  const omitted = lines.length >= maxBlamedLines ? [styled(`… skein blame prints all lines`, faint)] : [];
  const prompts = turns.map(({ id, agent, model, prompt }) =>
    styled(`${shortId(id)}  ${plainLine(`${agent} ${model ?? ""}`, 60)}  ${plainLine(prompt ?? "", 200)}`, faint),
  );
  return [styled(stripAnsi(path), { bold: true }), ...rows, ...omitted, ...(prompts.length === 0 ? [] : ["", ...prompts])];
}

function writerText({ turns }: BlameReport, { turns: ids, unclear }: BlameReport["lines"][number]): string {
  if (ids.length === 0) return "not by an agent";
  const names = ids.map((id) => `${shortId(id)} ${stripAnsi(turns.find((turn) => turn.id === id)?.agent ?? "")}`.trimEnd());
  return names.join(" or ") + (unclear === true ? " ?" : "");
}
