// Builds the outline of a tree, once per reading: a line per message, not per tool call. Pure.
// A straight path keeps its indent, branches are indented, sessions are listed at their tips. It uses a stack
// instead of recursion, because thousands of branches can be nested.
import type { TreeView } from "../../protocol/api/api.ts";
import { callsOf, type Node } from "../../protocol/tree/node.ts";
import { nodeSummary, plainMarkdown } from "../../protocol/tree/node-summary.ts";
import type { Session, Turn } from "../../protocol/tree/turn.ts";
import { plainLine } from "../layout/wrap.ts";
import { wordFilter } from "./box.ts";

export type TreeRow = {
  /** Null is the beginning, before the first message. */
  node: Node | null;
  branch: number;
  lead: string;
  /** Number of tool calls of this node, and of the nodes around it that have no line. */
  calls: number;
  /** Sessions whose tip is this node. */
  sessions: readonly Session[];
};

/** A straight path of the tree with all its child branches: the rows from `head` to before `end`. */
export type Branch = { head: number; end: number; parent: number | null };

export type Outline = { rows: readonly TreeRow[]; branches: readonly Branch[]; turns: ReadonlyMap<string, Turn> };

const maxLeadLength = 36;

/** Work on the stack: a branch whose rows are not made yet, or a branch (by index) whose `end` is not set yet. */
type PendingBranch = { first: Node; lead: string; restLead: string; parent: number | null } | { endOf: number };

export function buildOutline(view: TreeView): Outline {
  const children = Map.groupBy(view.nodes, (node) => node.parent);
  const sessionsByTip = Map.groupBy(view.sessions, (session) => session.tip);
  const rows: TreeRow[] = [];
  const branches: Branch[] = [];
  const pending: PendingBranch[] = [];

  /** Pushes the child branches in reverse, so that the first one is popped first. */
  function pushChildren(next: readonly Node[], restLead: string, parent: number | null): void {
    next.toReversed().forEach((first, index) => {
      const [corner, side] = index === 0 ? ["└─", "  "] : ["├─", "│ "];
      pending.push({ first, lead: restLead + corner, restLead: cutLead(restLead + side), parent });
    });
  }
  function addBranch(parent: number | null): number {
    branches.push({ head: rows.length, end: rows.length, parent });
    pending.push({ endOf: branches.length - 1 });
    return branches.length - 1;
  }
  function addRows({ first, lead, restLead, parent }: Exclude<PendingBranch, { endOf: number }>): void {
    const branch = addBranch(parent);
    const addRow = (node: Node, calls: number) =>
      rows.push({ node, branch, lead: node === first ? lead : restLead, calls, sessions: sessionsByTip.get(node.id) ?? [] });
    /** The first of the nodes that only call, after a message of the user. */
    let caller: Node | null = null;
    let callsBefore = 0;
    for (let node: Node | undefined = first; node !== undefined;) {
      const next: readonly Node[] = children.get(node.id) ?? [];
      const calls = callsOf(node).length;
      const last = rows.at(-1);
      if (node === first || next.length !== 1 || sessionsByTip.has(node.id) || isMessage(node)) {
        // Calls without text belong to the next message of the agent. Without one they have a line of their own.
        if (caller !== null && node.author !== "agent") addRow(caller, callsBefore);
        addRow(node, node.author === "agent" ? calls + callsBefore : calls);
        [caller, callsBefore] = [null, 0];
      } else if (calls > 0 && last?.branch === branch && last.node?.author === "agent") last.calls += calls;
      else if (calls > 0) [caller, callsBefore] = [caller ?? node, callsBefore + calls];
      if (next.length > 1) return pushChildren(next, restLead, branch);
      node = next[0];
    }
  }

  const roots = children.get(null) ?? [];
  const sessionsAtStart = sessionsByTip.get(null) ?? [];
  if (roots.length > 1 || sessionsAtStart.length > 0) {
    const branch = addBranch(null);
    rows.push({ node: null, branch, lead: "", calls: 0, sessions: sessionsAtStart });
    pushChildren(roots, "", branch);
  } else for (const first of roots) pending.push({ first, lead: "", restLead: "", parent: null });
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if ("endOf" in next) branches[next.endOf]!.end = rows.length;
    else addRows(next);
  }
  return { rows, branches, turns: new Map(view.turns.map((turn) => [turn.id, turn])) };
}

function cutLead(lead: string): string {
  return lead.length <= maxLeadLength ? lead : `… ${lead.slice(4 - maxLeadLength)}`;
}

/** Whether a node is a message of the conversation. Messages of sub-agents are shown at their call instead. */
function isMessage(node: Node): boolean {
  if (node.author === "tool" || ["below", "group", "team", "race"].includes(node.note?.about ?? "")) return false;
  return node.parts.some((part) => part.kind === "handle" || part.kind === "image" || (part.kind === "text" && part.text.trim() !== ""));
}

const maxRowChars = 200;

/** Filled on demand, because most nodes are never visible. Nodes are immutable. */
const rowTexts = new WeakMap<Node, string>();

export function rowText({ node }: Pick<TreeRow, "node">): string {
  if (node === null) return "the beginning";
  const text = rowTexts.get(node) ?? plainLine(beginningOf(node), maxRowChars);
  rowTexts.set(node, text);
  return text;
}

function beginningOf(node: Node): string {
  const text = node.parts.find((part) => part.kind === "text" && part.text.trim() !== "");
  if (text?.kind !== "text") return nodeSummary(node).slice(0, 2 * maxRowChars);
  return plainMarkdown(text.text.trimStart().slice(0, 4 * maxRowChars))
    .trimStart()
    .slice(0, 2 * maxRowChars);
}

/** The number of branches: paths that do not split again. */
export function branchCount({ branches }: Outline): number {
  const split = new Set(branches.map(({ parent }) => parent));
  return branches.filter((_, index) => !split.has(index)).length;
}

/** Indexes of visible rows. A folded branch shows only its first row. A filter shows the rows with all its words, folded or not. */
export function visibleRows({ rows, branches }: Outline, folded: ReadonlySet<string>, filter: string): number[] {
  const matches = wordFilter(filter);
  if (filter.trim() !== "") return rows.flatMap((row, index) => (matches(searchText(row)) ? [index] : []));
  const visible: number[] = [];
  for (let index = 0; index < rows.length;) {
    visible.push(index);
    const row = rows[index]!;
    const branch = branches[row.branch]!;
    index = branch.head === index && folded.has(rowKey(row)) ? branch.end : index + 1;
  }
  return visible;
}

function searchText(row: TreeRow): string {
  const sessions = row.sessions.map(({ name, id }) => `${name ?? ""} ${id}`);
  return [row.node === null ? "" : rowText(row), ...sessions].join("\n");
}

/** Identifies a row across readings of the tree. */
export function rowKey({ node }: Pick<TreeRow, "node">): string {
  return node?.id ?? "";
}

/** The session of a row: one with its tip there, or the next one along the branch. */
export function sessionAt({ rows, branches }: Outline, index: number, prefers: (session: Session) => boolean): Session | null {
  const branch = rows[index]?.branch ?? -1;
  for (let next = index; next < (branches[branch]?.end ?? 0) && rows[next]?.branch === branch; next += 1) {
    const sessions = rows[next]?.sessions ?? [];
    const [first] = sessions;
    if (first !== undefined) return sessions.find(prefers) ?? first;
  }
  return null;
}
