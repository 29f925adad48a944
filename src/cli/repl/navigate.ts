// Walking a tree by eye: messages back, branches, leaves, and which place a word names. Pure: looks at a view,
// moves nothing.
import type { TreeView } from "../../protocol/api/api.ts";
import { callsOf, textOf, type Node } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { mainArgument } from "../print/argument.ts";

/** A line of a listing: a place to switch to. A null node is the beginning, before the first message. */
export type TreePosition = {
  node: string | null;
  /** The session whose tip it is. */
  session: Session | null;
  isOurs: boolean;
  /** What the branch says first, or the leaf last; null: it goes no further than the point it parts from. */
  excerpt: string | null;
};

export function pathTo(view: TreeView, tip: string | null): Node[] {
  const byId = new Map(view.nodes.map((node) => [node.id, node]));
  const path: Node[] = [];
  for (let node = tip === null ? undefined : byId.get(tip); node !== undefined;) {
    path.push(node);
    node = node.parent === null ? undefined : byId.get(node.parent);
  }
  return path.reverse();
}

/** What a person counts: what was said, not what was done in between. */
export function isMessage(node: Node): boolean {
  return (node.author === "user" || node.author === "agent") && textOf(node).trim() !== "";
}

/** The message `count` messages before the tip, and how many that really are: before the first one is the beginning. */
export function messageBack(view: TreeView, tip: string | null, count: number): { node: Node | null; back: number } {
  const before = pathTo(view, tip)
    .filter((node) => isMessage(node) || node.id === tip)
    .reverse();
  const back = Math.min(count, before.length);
  return { node: before[back] ?? null, back };
}

export type Branches = { at: Node | null; places: TreePosition[] };

/** The ways from the nearest node that has several; a session that rests there is one of them. Null: it is a straight line. */
export function branchesOf(view: TreeView, ours: Session): Branches | null {
  const children = Map.groupBy(view.nodes, (node) => node.parent);
  const path = pathTo(view, ours.tip);
  const onPath = new Set(path.map((node) => node.id));
  for (const at of [...path.toReversed(), null]) {
    const node = at?.id ?? null;
    const resting = view.sessions.filter((session) => session.tip === node);
    const onward = children.get(node) ?? [];
    if (resting.length + onward.length < 2) continue;
    const rests = resting.map((session): TreePosition => ({ node, session, isOurs: session.id === ours.id, excerpt: null }));
    const goes = onward.map((child): TreePosition => {
      const end = endOf(view, children, child);
      return { ...end, isOurs: onPath.has(child.id), excerpt: nodeExcerpt(child) };
    });
    return { at, places: [...goes, ...rests].sort((a, b) => Number(b.isOurs) - Number(a.isOurs)) };
  }
  return null;
}

/** Every end of the conversation, the newest first. */
export function leavesOf(view: TreeView, ours: Session | null): TreePosition[] {
  const parents = new Set(view.nodes.map((node) => node.parent));
  return view.nodes
    .filter((node) => !parents.has(node.id))
    .sort((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1))
    .map((node) => {
      const resting = view.sessions.filter((session) => session.tip === node.id);
      const own = resting.find((session) => session.id === ours?.id);
      return { node: node.id, session: own ?? resting[0] ?? null, isOurs: own !== undefined, excerpt: nodeExcerpt(node) };
    });
}

/** Where a branch ends: at the tip of its latest session, or at its latest leaf. */
function endOf(view: TreeView, children: Map<string | null, Node[]>, first: Node): { node: string; session: Session | null } {
  const below = new Set<string>();
  const open = [first];
  let last = first;
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    below.add(node.id);
    if (node.at >= last.at) last = node;
    open.push(...(children.get(node.id) ?? []));
  }
  const [session] = view.sessions
    .filter((candidate) => candidate.tip !== null && below.has(candidate.tip))
    .sort((a, b) => b.updatedAt - a.updatedAt);
  return session === undefined ? { node: last.id, session: null } : { node: session.tip ?? last.id, session };
}

/** A node in a few words. */
export function nodeExcerpt(node: Node): string {
  const text = textOf(node).trim();
  if (text !== "") return text;
  const call = callsOf(node)[0];
  if (call !== undefined) return `[${call.name}: ${mainArgument(call.input)}]`;
  const result = node.parts.find((part) => part.kind === "result");
  return result === undefined ? "(no text)" : `[${result.name}] ${result.text}`;
}
