// Computes positions in a tree: messages back, branches, leaves. Pure: reads a view and moves nothing.
import { nodeExcerpt } from "../../protocol/tree/node-summary.ts";
import type { TreeView } from "../../protocol/api/api.ts";
import { textOf, type Node } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";

/** A line of a listing: a position to switch to. A null node is the beginning, before the first message. */
export type TreePosition = {
  node: string | null;
  /** The session whose tip it is. */
  session: Session | null;
  isOurs: boolean;
  /** The first text of a branch, or the last text of a leaf. Null: the branch ends at the fork itself. */
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

/** Users count messages, not the tool calls between them. */
export function isMessage(node: Node): boolean {
  return (node.author === "user" || node.author === "agent") && textOf(node).trim() !== "";
}

/** Finds the message `count` messages before the tip. `back` is the number really moved; a null node is the beginning. */
export function messageBack(view: TreeView, tip: string | null, count: number): { node: Node | null; back: number } {
  const before = pathTo(view, tip)
    .filter((node) => isMessage(node) || node.id === tip)
    .reverse();
  const back = Math.min(count, before.length);
  return { node: before[back] ?? null, back };
}

export type Branches = { fork: Node | null; positions: TreePosition[] };

/** The branches of the nearest fork, upwards from the tip. A session whose tip is the fork counts as a branch. Null: no fork. */
export function branchesOf(view: TreeView, ours: Session): Branches | null {
  const children = Map.groupBy(view.nodes, (node) => node.parent);
  const path = pathTo(view, ours.tip);
  const onPath = new Set(path.map((node) => node.id));
  for (const forkNode of [...path.toReversed(), null]) {
    const node = forkNode?.id ?? null;
    const sessionsHere = view.sessions.filter((session) => session.tip === node);
    const childNodes = children.get(node) ?? [];
    if (sessionsHere.length + childNodes.length < 2) continue;
    const ending = sessionsHere.map((session): TreePosition => ({ node, session, isOurs: session.id === ours.id, excerpt: null }));
    const continuing = childNodes.map((child): TreePosition => {
      const end = findEnd(view, children, child);
      return { ...end, isOurs: onPath.has(child.id), excerpt: nodeExcerpt(child) };
    });
    return { fork: forkNode, positions: [...continuing, ...ending].sort((a, b) => Number(b.isOurs) - Number(a.isOurs)) };
  }
  return null;
}

/** Every end of the conversation, the newest first. */
export function leavesOf(view: TreeView, ours: Session | null): TreePosition[] {
  const parents = new Set(view.nodes.map((node) => node.parent));
  return view.nodes
    .filter((node) => !parents.has(node.id))
    .sort((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1))
    .map((node) => nodePosition(view.sessions, node, ours));
}

/** The position of a node, with the session whose tip it is; ours comes first. */
export function nodePosition(sessions: readonly Session[], node: Node, ours: Session | null): TreePosition {
  const sessionsHere = sessions.filter((session) => session.tip === node.id);
  const current = sessionsHere.find((session) => session.id === ours?.id);
  return { node: node.id, session: current ?? sessionsHere[0] ?? null, isOurs: current !== undefined, excerpt: nodeExcerpt(node) };
}

/** The end of a branch: the tip of its latest session, or else its latest leaf. */
function findEnd(view: TreeView, children: Map<string | null, Node[]>, first: Node): { node: string; session: Session | null } {
  const branch = new Set<string>();
  const open = [first];
  let last = first;
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    branch.add(node.id);
    if (node.at >= last.at) last = node;
    open.push(...(children.get(node.id) ?? []));
  }
  const [session] = view.sessions
    .filter((candidate) => candidate.tip !== null && branch.has(candidate.tip))
    .sort((a, b) => b.updatedAt - a.updatedAt);
  return session === undefined ? { node: last.id, session: null } : { node: session.tip ?? last.id, session };
}
