// Renders the comparison of two branches: where they diverge, and the steps, cost and files of each after that.
import { stripAnsi } from "../../kit/text/ansi.ts";
import {
  branchStats,
  branchName,
  changeText,
  forkText,
  notByBranchText,
  unknownFilesText,
  writersText,
} from "../../protocol/tree/branch-stats.ts";
import type { FileChange } from "../../protocol/tree/file-changes.ts";
import { textOf } from "../../protocol/tree/node.ts";
import type { BranchComparison, BranchSide } from "../../protocol/tree/views.ts";
import { faint } from "../layout/styles.ts";
import type { BoxLine } from "./box.ts";
import { styled, plainLine } from "../layout/wrap.ts";

const nameStyle = { bold: true };
const nameColumns = 16;
const sideColumns = 28;

export function comparisonLines(comparison: BranchComparison): BoxLine[] {
  const { fork, a, b } = comparison;
  const figures = branchStats.map(([figure, text]): BoxLine => [
    styled(figure.padEnd(nameColumns), faint),
    styled(text(a).padEnd(sideColumns)),
    styled(text(b)),
  ]);
  const titles = [a, b].map((side) => plainLine(branchName(side), sideColumns - 2).padEnd(sideColumns));
  return [
    ...(fork === null ? ["the branches share no nodes"] : [forkText(comparison) ?? "", styled(quote(textOf(fork)), faint)]),
    "",
    styled(`${" ".repeat(nameColumns)}${titles.join("")}`, nameStyle),
    ...figures,
    ...[a, b].flatMap(sideLines),
  ];
}

function sideLines(side: BranchSide): BoxLine[] {
  const head: BoxLine[] = ["", styled(plainLine(branchName(side), 60), nameStyle)];
  if (side.nodes === 0) return [...head, "no messages after the fork"];
  const unknown = unknownFilesText(side);
  return [
    ...head,
    ...(side.firstMessage === null ? [] : [`○ ${quote(side.firstMessage)}`]),
    ...(side.answer === null ? [] : [`● ${quote(side.answer)}`]),
    ...(side.files ?? []).map(fileText),
    ...(unknown === null ? [] : [unknown]),
    ...(side.otherFiles.length === 0 ? [] : [styled(notByBranchText, faint)]),
    ...side.otherFiles.map((file) => styled(`${fileText(file)}  (${stripAnsi(writersText(file))})`, faint)),
  ];
}

function fileText(change: FileChange): string {
  return stripAnsi(changeText(change));
}

function quote(text: string): string {
  return plainLine(text, 400) || "(no text)";
}
