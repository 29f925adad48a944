// Computes positions in a tree to switch to: an earlier message, a branch, a leaf. Pure: does not switch.
import { nodeExcerpt } from "../../protocol/tree/node-summary.ts";
import type { TreeView } from "../../protocol/api/api.ts";
import { textOf, type Node } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";

/** A line of a listing: a position to switch to. `node` is an id; null is the position before the first message. */
export type TreePosition = {
  node: string | null;
  /** The session whose tip this node is. */
  session: Session | null;
  /** True for the current session, and for the branch that leads to its tip. */
  isCurrent: boolean;
  /** The first text of a branch, or the last text of a leaf. Null for a session whose tip is the fork. */
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

/** Finds the message `count` messages before the tip. `distance` is smaller than `count` if the path is too short; `node` is null then. */
export function findMessageBack(view: TreeView, tip: string | null, count: number): { node: Node | null; distance: number } {
  const messages = pathTo(view, tip)
    .filter((node) => isMessage(node) || node.id === tip)
    .reverse();
  const distance = Math.min(count, messages.length);
  return { node: messages[distance] ?? null, distance };
}

/** Finds the nearest fork at or above the current tip. A session whose tip is the fork counts as a branch. Null if there is no fork. */
export function findBranches(view: TreeView, current: Session): { fork: Node | null; positions: TreePosition[] } | null {
  const children = Map.groupBy(view.nodes, (node) => node.parent);
  const path = pathTo(view, current.tip);
  const onPath = new Set(path.map((node) => node.id));
  for (const fork of [...path.toReversed(), null]) {
    const forkId = fork?.id ?? null;
    const sessionsHere = view.sessions.filter((session) => session.tip === forkId);
    const childNodes = children.get(forkId) ?? [];
    if (sessionsHere.length + childNodes.length < 2) continue;
    const positions: TreePosition[] = [
      ...childNodes.map((child) => ({ ...findEnd(view, children, child), isCurrent: onPath.has(child.id), excerpt: nodeExcerpt(child) })),
      ...sessionsHere.map((session) => ({ node: forkId, session, isCurrent: session.id === current.id, excerpt: null })),
    ];
    return { fork, positions: positions.sort((a, b) => Number(b.isCurrent) - Number(a.isCurrent)) };
  }
  return null;
}

/** All nodes without a child, the newest first. */
export function listLeaves(view: TreeView, current: Session | null): TreePosition[] {
  const parents = new Set(view.nodes.map((node) => node.parent));
  return view.nodes
    .filter((node) => !parents.has(node.id))
    .sort((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1))
    .map((node) => nodePosition(view.sessions, node, current));
}

/** The position of a node, with a session whose tip it is: the current one if possible. */
export function nodePosition(sessions: readonly Session[], node: Node, current: Session | null): TreePosition {
  const sessionsHere = sessions.filter((session) => session.tip === node.id);
  const currentHere = sessionsHere.find((session) => session.id === current?.id);
  return {
    node: node.id,
    session: currentHere ?? sessionsHere[0] ?? null,
    isCurrent: currentHere !== undefined,
    excerpt: nodeExcerpt(node),
  };
}

/** Finds the end of a branch: the tip of its latest session, or else its latest leaf. */
function findEnd(view: TreeView, children: Map<string | null, Node[]>, first: Node): { node: string; session: Session | null } {
  const branch = new Set<string>();
  const stack = [first];
  let latest = first;
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    branch.add(node.id);
    if (node.at >= latest.at) latest = node;
    stack.push(...(children.get(node.id) ?? []));
  }
  const [session] = view.sessions
    .filter((candidate) => candidate.tip !== null && branch.has(candidate.tip))
    .sort((a, b) => b.updatedAt - a.updatedAt);
  return session === undefined ? { node: latest.id, session: null } : { node: session.tip ?? latest.id, session };
}
