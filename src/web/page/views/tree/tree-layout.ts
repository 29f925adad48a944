// The tree of a conversation as rows and lanes, like a log of commits. A message is one row; an answer with all its tool calls
// is one row. The branch of the shown session is the first lane.
import { nodeExcerpt } from "../../../../protocol/tree/node-summary.ts";
import { callsOf, type Node } from "../../../../protocol/tree/node.ts";
import type { Session, Turn } from "../../../../protocol/tree/turn.ts";

export type TreePoint = {
  /** The last node of the row. A fork begins there. */
  id: string;
  lane: number;
  isUser: boolean;
  agent: string | null;
  text: string;
  calls: number;
  at: number;
  /** Sessions whose tip is here. */
  sessions: Session[];
  /** True if the shown session gets this row. */
  isOnPath: boolean;
  lines: TreeLine[];
};

/** A part of a branch in one row: `fork` leaves the lane `from`, `start` begins in the row, `end` ends in it. */
export type TreeLine = { kind: "fork" | "start" | "through" | "end"; lane: number; from: number; agent: string | null };

type Group = { nodes: Node[]; parent: Group | null; children: Group[]; row: number; lane: number };
type Branch = { groups: Group[]; startRow: number; endRow: number; lane: number; hasLines: boolean };

/** Further branches share the last lane and have no lines there, so that the picture stays narrow. */
const maxLanes = 24;

export function layOutTree(nodes: readonly Node[], sessions: readonly Session[], turns: readonly Turn[], tip: string | null): TreePoint[] {
  const tips = Map.groupBy(sessions, (session) => session.tip ?? "");
  const groups = groupNodes(nodes, tips);
  const byNode = new Map(groups.flatMap((group) => group.nodes.map((node) => [node.id, group])));
  const path = new Set<Group>();
  for (let group = tip === null ? undefined : byNode.get(tip); group; group = group.parent ?? undefined) path.add(group);
  const agents = new Map(turns.map((turn) => [turn.id, turn.agent]));
  const agentOf = (group: Group) => agents.get(group.nodes.at(-1)!.turn ?? "") ?? null;
  const branches = assignLanes(findBranches(groups, path));
  const lines: TreeLine[][] = groups.map(() => []);
  for (const branch of branches) if (branch.hasLines) addLines(branch, agentOf, lines);
  return groups.map((group) => {
    const last = group.nodes.at(-1)!;
    const texts = group.nodes.filter((node) => node.author !== "tool");
    return {
      id: last.id,
      lane: group.lane,
      isUser: last.author === "user",
      agent: agentOf(group),
      text: nodeExcerpt(texts.at(-1) ?? last),
      calls: group.nodes.reduce((sum, node) => sum + callsOf(node).length, 0),
      at: last.at,
      sessions: tips.get(last.id) ?? [],
      isOnPath: path.has(group),
      lines: lines[group.row]!,
    };
  });
}

/** Nodes in their order of time, with all nodes of one answer in one group. A fork and the tip of a session end a group. */
function groupNodes(nodes: readonly Node[], tips: ReadonlyMap<string, Session[]>): Group[] {
  const children = Map.groupBy(nodes, (node) => node.parent ?? "");
  const groupOf = new Map<string, Group>();
  const groups: Group[] = [];
  for (const node of nodes.toSorted((a, b) => a.at - b.at)) {
    const parent = node.parent === null ? null : (groupOf.get(node.parent) ?? null);
    const before = parent?.nodes.at(-1);
    const isSameAnswer =
      before?.id === node.parent &&
      before?.turn === node.turn &&
      before?.author !== "user" &&
      node.author !== "user" &&
      !tips.has(before.id);
    if (parent !== null && isSameAnswer && children.get(before.id)?.length === 1) {
      parent.nodes.push(node);
      groupOf.set(node.id, parent);
      continue;
    }
    const group: Group = { nodes: [node], parent, children: [], row: 0, lane: 0 };
    parent?.children.push(group);
    groupOf.set(node.id, group);
    groups.push(group);
  }
  groups.forEach((group, row) => (group.row = row));
  return groups;
}

/** A branch continues with the child on the shown path, else with the oldest one. Each other child begins a branch. */
function findBranches(groups: readonly Group[], path: ReadonlySet<Group>): Branch[] {
  const nextOf = (group: Group) => group.children.find((child) => path.has(child)) ?? group.children[0];
  const branches: Branch[] = [];
  for (const first of groups) {
    if (first.parent !== null && nextOf(first.parent) === first) continue;
    const members: Group[] = [];
    for (let group: Group | undefined = first; group; group = nextOf(group)) members.push(group);
    branches.push({ groups: members, startRow: first.parent?.row ?? first.row, endRow: members.at(-1)!.row, lane: 0, hasLines: true });
  }
  const isShown = (branch: Branch) => branch.groups.some((group) => path.has(group));
  return branches.toSorted((a, b) => Number(isShown(b)) - Number(isShown(a)) || a.startRow - b.startRow);
}

/** A lane is free again after the last row of its branch. The branches come in the order of their first rows. */
function assignLanes(branches: Branch[]): Branch[] {
  const endRows: number[] = [];
  for (const branch of branches) {
    let lane = endRows.findIndex((endRow) => endRow < branch.startRow);
    branch.hasLines = lane >= 0 || endRows.length < maxLanes;
    if (lane < 0) lane = Math.min(endRows.length, maxLanes - 1);
    endRows[lane] = Math.max(branch.endRow, endRows[lane] ?? 0);
    branch.lane = lane;
    for (const group of branch.groups) group.lane = lane;
  }
  return branches;
}

function addLines({ groups, startRow, endRow, lane }: Branch, agentOf: (group: Group) => string | null, lines: TreeLine[][]): void {
  const first = groups[0]!;
  let index = 0;
  for (let row = startRow; row <= endRow; row++) {
    while (groups[index]!.row < row) index++;
    const agent = agentOf(groups[index]!);
    if (row === startRow && first.parent !== null) lines[row]!.push({ kind: "fork", lane, from: first.parent.lane, agent });
    else if (row === startRow) {
      if (endRow > startRow) lines[row]!.push({ kind: "start", lane, from: lane, agent });
    } else lines[row]!.push({ kind: row === endRow ? "end" : "through", lane, from: lane, agent });
  }
}
