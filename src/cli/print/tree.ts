// Draws a tree: one line per node, a call folded into its result, branches indented, sessions as labels on their tips.
import { nodeSummary } from "../../protocol/tree/node-summary.ts";
import { printableLabel } from "./session-label.ts";
import { oneLine } from "../../kit/text/cut-text.ts";
import type { TreeView } from "../../protocol/api/api.ts";
import { callsOf, shortId, type CallPart, type Node, mainArgument } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import type { TextOutput } from "../parse/command.ts";
import { stripControls, styleOf } from "../terminal/style.ts";
import { cutToWidth } from "../terminal/table.ts";

/** The tip of the session with the id `currentSession` is marked as the current position. */
export function treeText(view: TreeView, out: TextOutput, currentSession: string | null = null): string {
  const style = styleOf(out);
  const children = Map.groupBy(view.nodes, (node) => node.parent);
  const labels = Map.groupBy(view.sessions, (session) => session.tip);
  const lines: string[] = [];

  function writeNode(stored: Node, lead: string, calls: readonly CallPart[]): void {
    const isAnswered = !isOnlyCalls(stored) && (children.get(stored.id) ?? []).some((child) => child.author === "tool");
    const node = isAnswered ? { ...stored, parts: stored.parts.filter((part) => part.kind !== "call") } : stored;
    const label = (labels.get(node.id) ?? []).map((session) => labelOf(session, currentSession)).join(" ");
    const width = out.columns - 9 - lead.length - 2 - (label === "" ? 0 : Bun.stringWidth(label) + 1);
    const text = cutToWidth(oneLine(stripControls(foldedText(node, calls, Math.max(16, width))), 400), Math.max(16, width));
    const painted = node.author === "user" ? style.bold(text) : node.author === "tool" ? style.dim(text) : text;
    lines.push(`${style.dim(`${shortId(node.id)} ${lead}`)}${nodeMarker(node)} ${painted}${label === "" ? "" : ` ${style.green(label)}`}`);
  }
  /** `lead` is written before the first line of a branch, `indent` before all others. */
  function drawBranch(first: Node, { lead, indent }: { lead: string; indent: string }, parentCalls: readonly CallPart[]): void {
    let calls = parentCalls;
    let prefix = lead;
    for (let node: Node | undefined = first; node !== undefined;) {
      const next: Node[] = children.get(node.id) ?? [];
      if (node.author === "agent") calls = callsOf(node);
      const isFolded = isOnlyCalls(node) && next.length === 1 && next[0]?.author === "tool" && !labels.has(node.id);
      if (!isFolded) {
        writeNode(node, prefix, calls);
        prefix = indent;
      }
      if (next.length > 1) return drawBranches(next, indent, calls);
      node = next[0];
    }
  }
  function drawBranches(branches: readonly Node[], indent: string, calls: readonly CallPart[]): void {
    for (const [index, branch] of branches.entries()) {
      const isLast = index === branches.length - 1;
      drawBranch(branch, { lead: `${indent}${isLast ? "└─" : "├─"}`, indent: `${indent}${isLast ? "  " : "│ "}` }, calls);
    }
  }
  const roots = children.get(null) ?? [];
  if (roots.length > 1) {
    lines.push(style.dim(`${" ".repeat(8)} (root)`));
    drawBranches(roots, "", []);
  } else for (const root of roots) drawBranch(root, { lead: "", indent: "" }, []);
  return lines.join("\n");
}

function labelOf(session: Session, currentSession: string | null): string {
  const name = `[${printableLabel(session)}]`;
  return session.id === currentSession ? `${name} ← here` : name;
}

function isOnlyCalls(node: Node): boolean {
  return (
    node.author === "agent" &&
    node.parts.length > 0 &&
    node.parts.every((part) => part.kind === "call" || part.kind === "thinking") &&
    callsOf(node).length > 0
  );
}

/** The results of a tool node, each with the argument of its call. A long argument leaves room for the mark of a failure. */
function foldedText(node: Node, calls: readonly CallPart[], width: number): string {
  if (node.author !== "tool") return nodeSummary(node);
  const texts = node.parts.map((part) => {
    if (part.kind !== "result") return "";
    const call = calls.find((candidate) => candidate.id === part.call);
    const argument = call === undefined ? part.text : mainArgument(call.input);
    return part.isError ? `[${part.name}: ${oneLine(argument, Math.floor(width / 2))}] ✗ ${part.text}` : `[${part.name}: ${argument}]`;
  });
  return texts.join("  ");
}

export function nodeMarker(node: Node): string {
  if (node.author === "user") return "○";
  if (node.author === "agent") return "●";
  return node.author === "tool" ? "▸" : "·";
}
