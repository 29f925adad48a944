// Prints changed files: one line each, or as a patch.
import { notByBranchText, writersText } from "../../protocol/tree/branch-stats.ts";
import type { FileChange, OtherChange } from "../../protocol/tree/file-changes.ts";
import type { CommandContext } from "../parse/command.ts";
import { stripControls, printableText, styleOf, type Style } from "../terminal/style.ts";

const marks: Record<FileChange["kind"], (style: Style) => string> = {
  added: (style) => style.green("A"),
  modified: (style) => style.yellow("M"),
  deleted: (style) => style.red("D"),
};

/** The changes of `others` come last, with those who made them. */
export function statText(changes: readonly FileChange[], style: Style, others: readonly OtherChange[] = []): string {
  if (changes.length === 0) return "nothing changed\n";
  const otherPaths = new Set(others.map(({ path }) => path));
  const own = changes.filter(({ path }) => !otherPaths.has(path)).map((change) => `${changeText(change, style)}\n`);
  if (others.length === 0) return own.join("");
  const lines = others.map((change) => `  ${changeText(change, style)}  ${style.dim(stripControls(writersText(change)))}\n`);
  return [...own, `${notByBranchText}\n`, ...lines].join("");
}

/** A list of the changed files that are not by the branch; empty if there are none. */
export function othersText(others: readonly OtherChange[], style: Style): string {
  if (others.length === 0) return "";
  const lines = others.map((change) => `  ${stripControls(change.path)}  ${stripControls(writersText(change))}\n`);
  return style.dim(`${notByBranchText}\n${lines.join("")}`);
}

function changeText(change: FileChange, style: Style): string {
  return `${marks[change.kind](style)} ${stripControls(change.path)}  ${countsText(change, style)}`;
}

function countsText(change: FileChange, style: Style): string {
  if (change.big || change.binary) return style.dim(change.big ? "big" : "binary");
  return `${style.green(`+${change.added}`)} ${style.red(`-${change.removed}`)}`;
}

/** Returns the patch unchanged for a pipe, so that it can be applied. For a terminal, adds colours and removes control characters. */
export function patchText(patch: string, ctx: Pick<CommandContext, "out">): string {
  if (!ctx.out.isTty) return patch;
  const style = styleOf(ctx.out);
  const lines = printableText(patch).split("\n");
  return lines.map((line) => paintLine(line, style)).join("\n");
}

function paintLine(line: string, style: Style): string {
  if (/^(diff|index|---|\+\+\+|new file|deleted file|old mode|new mode) /.test(line)) return style.bold(line);
  if (line.startsWith("@@")) return style.cyan(line);
  if (line.startsWith("+")) return style.green(line);
  return line.startsWith("-") ? style.red(line) : line;
}

/** Asks the user at the terminal. Anything but y or yes is a no. */
export async function confirm(ctx: Pick<CommandContext, "out" | "stdin">, question: string): Promise<boolean> {
  ctx.out.write(`${question} [y/N] `);
  for await (const line of ctx.stdin.lines()) return /^y(es)?$/i.test(line.trim());
  return false;
}
