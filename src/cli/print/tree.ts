// A tree for people: one line per node, a call folded into its result, a straight line stays straight, branches go to
// the right, sessions are labels on their tips.
import { nodeSummary } from "../../protocol/tree/node-summary.ts";
import { printableLabel } from "./session-label.ts";
import { oneLine } from "../../kit/text/cut-text.ts";
import type { TreeView } from "../../protocol/api/api.ts";
import { callsOf, shortId, type CallPart, type Node, mainArgument } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import type { TextOutput } from "../parse/command.ts";
import { stripControls, styleOf } from "../terminal/style.ts";
import { fit } from "../terminal/table.ts";

/** `here` is the session whose tip is marked as where one is. */
export function treeText(view: TreeView, screen: TextOutput, here: string | null = null): string {
  const style = styleOf(screen);
  const children = Map.groupBy(view.nodes, (node) => node.parent);
  const labels = Map.groupBy(view.sessions, (session) => session.tip);
  const lines: string[] = [];

  function write(shown: Node, lead: string, calls: readonly CallPart[]): void {
    const isAnswered = !isOnlyCalls(shown) && (children.get(shown.id) ?? []).some((child) => child.author === "tool");
    const node = isAnswered ? { ...shown, parts: shown.parts.filter((part) => part.kind !== "call") } : shown;
    const label = (labels.get(node.id) ?? []).map((session) => labelOf(session, here)).join(" ");
    const room = screen.columns - 9 - lead.length - 2 - (label === "" ? 0 : Bun.stringWidth(label) + 1);
    const text = fit(oneLine(stripControls(folded(node, calls)), 400), Math.max(16, room));
    const painted = node.author === "user" ? style.bold(text) : node.author === "tool" ? style.dim(text) : text;
    lines.push(`${style.dim(`${shortId(node.id)} ${lead}`)}${nodeMarker(node)} ${painted}${label === "" ? "" : ` ${style.green(label)}`}`);
  }
  /** `lead` stands before the first line of a branch, `below` before all others. */
  function draw(first: Node, lead: string, below: string, above: readonly CallPart[]): void {
    let calls = above;
    let before = lead;
    for (let node: Node | undefined = first; node !== undefined;) {
      const next: Node[] = children.get(node.id) ?? [];
      if (node.author === "agent") calls = callsOf(node);
      const isFolded = isOnlyCalls(node) && next.length === 1 && next[0]?.author === "tool" && !labels.has(node.id);
      if (!isFolded) {
        write(node, before, calls);
        before = below;
      }
      if (next.length > 1) return fan(next, below, calls);
      node = next[0];
    }
  }
  function fan(branches: readonly Node[], below: string, calls: readonly CallPart[]): void {
    for (const [at, branch] of branches.entries()) {
      const isLast = at === branches.length - 1;
      draw(branch, `${below}${isLast ? "└─" : "├─"}`, `${below}${isLast ? "  " : "│ "}`, calls);
    }
  }
  const roots = children.get(null) ?? [];
  if (roots.length > 1) {
    lines.push(style.dim(`${" ".repeat(8)} (root)`));
    fan(roots, "", []);
  } else for (const root of roots) draw(root, "", "", []);
  return lines.join("\n");
}

function labelOf(session: Session, here: string | null): string {
  const name = `[${printableLabel(session)}]`;
  return session.id === here ? `${name} ← here` : name;
}

function isOnlyCalls(node: Node): boolean {
  return (
    node.author === "agent" &&
    node.parts.length > 0 &&
    node.parts.every((part) => part.kind === "call" || part.kind === "thinking") &&
    callsOf(node).length > 0
  );
}

/** A result is told with the call it answers. */
function folded(node: Node, calls: readonly CallPart[]): string {
  if (node.author !== "tool") return nodeSummary(node);
  const words = node.parts.map((part) => {
    if (part.kind !== "result") return "";
    const call = calls.find((candidate) => candidate.id === part.call);
    const about = call === undefined ? part.text : mainArgument(call.input);
    return `[${part.name}: ${about}]${part.isError ? ` ✗ ${part.text}` : ""}`;
  });
  return words.join("  ");
}

export function nodeMarker(node: Node): string {
  if (node.author === "user") return "○";
  if (node.author === "agent") return "●";
  return node.author === "tool" ? "▸" : "·";
}
