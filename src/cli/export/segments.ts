// Cuts a tree into segments without branches, in reading order. A segment ends at a fork; each branch is a segment.
import type { TreeView } from "../../protocol/api/api.ts";
import type { Node } from "../../protocol/tree/node.ts";

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
  const segments: Segment[] = [];
  // The last pending start is next, so the branches of a node are pushed in reverse.
  const startsOf = (nodes: readonly Node[], from: Segment | null) =>
    nodes.map((first, index) => ({ first, from, branch: index + 1, branches: nodes.length })).reverse();
  const pendingStarts = startsOf(children.get(null) ?? [], null);
  for (let start = pendingStarts.pop(); start !== undefined; start = pendingStarts.pop()) {
    const { from, branch, branches } = start;
    const nodes = [start.first];
    let childNodes = children.get(start.first.id) ?? [];
    for (let onlyChild = childNodes[0]; childNodes.length === 1 && onlyChild !== undefined; onlyChild = childNodes[0]) {
      nodes.push(onlyChild);
      childNodes = children.get(onlyChild.id) ?? [];
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
    pendingStarts.push(...startsOf(childNodes, segment));
  }
  return segments;
}
