// Two branches side by side, as lines to be read: where they part, what each did and cost after that, and its files.
import { stripAnsi } from "../../kit/text/ansi.ts";
import { groupDigits, oneLine } from "../../kit/text/cut-text.ts";
import { branchStats, branchName, changeSigns } from "../../protocol/tree/branch-stats.ts";
import { shortId, textOf } from "../../protocol/tree/node.ts";
import type { BranchComparison, BranchSide } from "../../protocol/tree/views.ts";
import { faint } from "../layout/styles.ts";
import type { State } from "../model/state.ts";
import type { BoxLine } from "./box.ts";

const name = { bold: true };
const nameColumns = 16;
const sideColumns = 28;

/** Over what it was asked for from, which comes back when it is closed. */
export function showComparison(state: State, comparison: BranchComparison): State {
  const under = state.overlay === null ? {} : { under: state.overlay };
  return { ...state, overlay: { kind: "reader", title: "two branches", lines: comparisonLines(comparison), top: 0, ...under } };
}

function comparisonLines({ fork, sharedNodes, a, b }: BranchComparison): BoxLine[] {
  const figures = branchStats.map(([figure, tell]): BoxLine => [
    { text: figure.padEnd(nameColumns), style: faint },
    { text: tell(a).padEnd(sideColumns), style: {} },
    { text: tell(b), style: {} },
  ]);
  const titles = [a, b].map((side) => oneLine(stripAnsi(branchName(side)), sideColumns - 2).padEnd(sideColumns));
  return [
    ...(fork === null
      ? ["the two share nothing"]
      : [`they part after ${shortId(fork.id)} (${groupDigits(sharedNodes)} shared)`, { text: said(textOf(fork)), style: faint }]),
    "",
    { text: `${" ".repeat(nameColumns)}${titles.join("")}`, style: name },
    ...figures,
    ...[a, b].flatMap(sideLines),
  ];
}

function sideLines(side: BranchSide): BoxLine[] {
  const head: BoxLine[] = ["", { text: oneLine(stripAnsi(branchName(side)), 60), style: name }];
  if (side.nodes === 0) return [...head, "nothing after that"];
  return [
    ...head,
    ...(side.firstMessage === null ? [] : [`○ ${said(side.firstMessage)}`]),
    ...(side.answer === null ? [] : [`● ${said(side.answer)}`]),
    ...(side.files ?? []).map((file) => `${changeSigns[file.kind]} ${stripAnsi(file.path)} +${file.added} -${file.removed}`),
  ];
}

function said(text: string): string {
  return oneLine(stripAnsi(text), 400) || "(no text)";
}
