// Cuts a tree into segments without branches, in reading order. A segment ends at a fork; each branch is a segment.
import type { TreeView } from "../../protocol/api/api.ts";
import type { Node } from "../../protocol/tree/node.ts";
import { sessionLabel, type Session } from "../../protocol/tree/turn.ts";

export type Segment = {
  /** Counts from 1, in reading order. */
  number: number;
  depth: number;
  /** The node before its first one; null for a root. */
  from: Node | null;
  /** Its number among the branches of that node, from 1. */
  branch: number;
  /** The number of branches of that node. */
  branches: number;
  nodes: Node[];
  /** Numbers of the segments after its last node. */
  next: number[];
};

export function segmentsOf(view: Pick<TreeView, "nodes">): Segment[] {
  const children = Map.groupBy(view.nodes, (node) => node.parent);
  const roots = children.get(null) ?? [];
  const segments: Segment[] = [];
  type Start = { first: Node; from: Segment | null; branch: number; branches: number };
  const open: Start[] = roots.map((first, index) => ({ first, from: null, branch: index + 1, branches: roots.length })).reverse();
  for (let start = open.pop(); start !== undefined; start = open.pop()) {
    const { from, branch, branches } = start;
    const nodes = [start.first];
    let childNodes = children.get(start.first.id) ?? [];
    for (let only = childNodes[0]; childNodes.length === 1 && only !== undefined; only = childNodes[0]) {
      nodes.push(only);
      childNodes = children.get(only.id) ?? [];
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
    const branchStarts = childNodes.map((first, index) => ({
      first,
      from: segment,
      branch: index + 1,
      branches: childNodes.length,
    }));
    open.push(...branchStarts.reverse());
  }
  return segments;
}

/** Sessions by the node that is their tip. */
export function labelsOf(view: Pick<TreeView, "sessions">): Map<string | null, Session[]> {
  return Map.groupBy(view.sessions, (session) => session.tip);
}

export function tipLabel(session: Session): string {
  return `${sessionLabel(session)}${session.archivedAt === null ? "" : " (archived)"}`;
}
