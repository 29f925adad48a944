// A tree for people: one line per node, a straight line stays straight, branches go to the right, sessions are
// labels on their tips.
import { oneLine } from "../../kit/text.ts";
import type { TreeView } from "../../protocol/api.ts";
import { shortId, type Node } from "../../protocol/node.ts";
import type { Screen } from "../command.ts";
import { styleOf } from "../style.ts";
import { argumentOf } from "./argument.ts";

export function treeText(view: TreeView, screen: Screen): string {
  const style = styleOf(screen);
  const children = Map.groupBy(view.nodes, (node) => node.parent);
  const labels = Map.groupBy(view.sessions, (session) => session.tip);
  const lines: string[] = [];

  function line(node: Node, prefix: string): string {
    const label = (labels.get(node.id) ?? []).map((session) => `[${session.name ?? shortId(session.id)}]`).join(" ");
    const room = screen.columns - prefix.length - label.length - 14;
    const text = `${style.dim(prefix)}${mark(node)} ${oneLine(summary(node), Math.max(16, room))}`;
    return `${style.dim(shortId(node.id))} ${text}${label === "" ? "" : ` ${style.green(label)}`}`;
  }
  function draw(first: Node, prefix: string): void {
    for (let node: Node | undefined = first; node !== undefined;) {
      lines.push(line(node, prefix));
      const below: Node[] = children.get(node.id) ?? [];
      if (below.length > 1) {
        for (const [at, child] of below.entries()) draw(child, `${prefix}${at === below.length - 1 ? "└ " : "├ "}`);
        return;
      }
      node = below[0];
    }
  }
  for (const root of children.get(null) ?? []) draw(root, "");
  return lines.join("\n");
}

export function mark(node: Node): string {
  if (node.author === "user") return "○";
  if (node.author === "agent") return "●";
  return node.author === "tool" ? "│" : "·";
}

export function summary(node: Node): string {
  const words = node.parts.map((part) => {
    switch (part.kind) {
      case "text":
        return part.text;
      case "thinking":
        return `(${part.text})`;
      case "call":
        return `→ ${part.name} ${argumentOf(part.input)}`;
      case "result":
        return `${part.isError ? "✗" : "✓"} ${part.name}: ${part.text}`;
      case "image":
        return `[${part.mime}]`;
      case "handle":
        return `[${part.handle.source}:${part.handle.identifier}]`;
    }
  });
  return words.join("  ");
}
