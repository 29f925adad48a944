// A tree cut into straight runs of nodes, in reading order: a run ends where branches begin, and each branch is a run.
import type { TreeView } from "../../protocol/api/api.ts";
import { type Node, shortId } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";

export type Segment = {
  /** Counts from 1, in reading order. */
  number: number;
  depth: number;
  /** The node it goes on from; null for a root. */
  from: Node | null;
  /** Which of the branches there it is, from 1, and of how many. */
  branch: number;
  branches: number;
  nodes: Node[];
  /** The runs that go on from its last node, by number. */
  next: number[];
};

export function segmentsOf(view: Pick<TreeView, "nodes">): Segment[] {
  const children = Map.groupBy(view.nodes, (node) => node.parent);
  const roots = children.get(null) ?? [];
  const segments: Segment[] = [];
  type Start = { first: Node; from: Segment | null; branch: number; branches: number };
  const open: Start[] = roots.map((first, at) => ({ first, from: null, branch: at + 1, branches: roots.length })).reverse();
  for (let start = open.pop(); start !== undefined; start = open.pop()) {
    const { from, branch, branches } = start;
    const nodes = [start.first];
    let below = children.get(start.first.id) ?? [];
    for (let only = below[0]; below.length === 1 && only !== undefined; only = below[0]) {
      nodes.push(only);
      below = children.get(only.id) ?? [];
    }
    const segment: Segment = {
      number: segments.length + 1,
      depth: from === null ? 0 : from.depth + 1,
      from: from?.nodes.at(-1) ?? null,
      branch,
      branches,
      nodes,
      next: [],
    };
    segments.push(segment);
    from?.next.push(segment.number);
    const ways = below.map((first, at) => ({ first, from: segment, branch: at + 1, branches: below.length }));
    open.push(...ways.reverse());
  }
  return segments;
}

/** The sessions whose tip a node is. */
export function labelsOf(view: Pick<TreeView, "sessions">): Map<string | null, Session[]> {
  return Map.groupBy(view.sessions, (session) => session.tip);
}

export function sessionLabel(session: Session): string {
  return `${session.name ?? shortId(session.id)}${session.archivedAt === null ? "" : " (archived)"}`;
}
