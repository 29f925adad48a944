// A tree as the lines of an outline, made once when it is read: what was said, not every call in between; a straight line
// stays straight, branches go to the right, sessions stand at their tips. Pure, and no deeper than its loops.
import { stripAnsi } from "../../kit/text/ansi.ts";
import { oneLine } from "../../kit/text/cut-text.ts";
import type { TreeView } from "../../protocol/api/api.ts";
import type { Node } from "../../protocol/tree/node.ts";
import type { Session, Turn } from "../../protocol/tree/turn.ts";
import { mainArgument } from "../cards/tool.ts";

export type TreeRow = {
  /** Null is the beginning, before the first message. */
  node: Node | null;
  branch: number;
  lead: string;
  /** Calls that were made on the way here and have no line of their own. */
  calls: number;
  /** Those that rest here. */
  sessions: readonly Session[];
};

/** A straight piece of the tree with all that grows from it: the rows from `head` up to `end`. */
export type Branch = { head: number; end: number; above: number | null };

export type Outline = { rows: readonly TreeRow[]; branches: readonly Branch[]; turns: ReadonlyMap<string, Turn> };

const deepestLead = 36;

/** A branch that is still to be drawn; once its rows stand, only its end is. */
type Waiting = { first: Node; lead: string; below: string; above: number | null } | { ends: number };

export function buildOutline(view: TreeView): Outline {
  const children = Map.groupBy(view.nodes, (node) => node.parent);
  const resting = Map.groupBy(view.sessions, (session) => session.tip);
  const rows: TreeRow[] = [];
  const branches: Branch[] = [];
  const waiting: Waiting[] = [];

  /** What goes on from a branch is drawn before what comes after it. */
  function fan(next: readonly Node[], below: string, above: number | null): void {
    next.toReversed().forEach((first, at) => {
      const [corner, side] = at === 0 ? ["└─", "  "] : ["├─", "│ "];
      waiting.push({ first, lead: below + corner, below: bounded(below + side), above });
    });
  }
  function begin(above: number | null): number {
    branches.push({ head: rows.length, end: rows.length, above });
    waiting.push({ ends: branches.length - 1 });
    return branches.length - 1;
  }
  function draw({ first, lead, below, above }: Exclude<Waiting, { ends: number }>): void {
    const branch = begin(above);
    let calls = 0;
    for (let node: Node | undefined = first; node !== undefined;) {
      const next: readonly Node[] = children.get(node.id) ?? [];
      const sessions = resting.get(node.id) ?? [];
      if (node === first || next.length !== 1 || sessions.length > 0 || isSaid(node)) {
        rows.push({ node, branch, lead: node === first ? lead : below, calls, sessions });
        calls = 0;
      } else if (node.author === "tool") calls += node.parts.length;
      if (next.length > 1) return fan(next, below, branch);
      node = next[0];
    }
  }

  const roots = children.get(null) ?? [];
  const atStart = resting.get(null) ?? [];
  if (roots.length > 1 || atStart.length > 0) {
    const branch = begin(null);
    rows.push({ node: null, branch, lead: "", calls: 0, sessions: atStart });
    fan(roots, "", branch);
  } else for (const first of roots) waiting.push({ first, lead: "", below: "", above: null });
  for (let each = waiting.pop(); each !== undefined; each = waiting.pop()) {
    if ("ends" in each) branches[each.ends]!.end = rows.length;
    else draw(each);
  }
  return { rows, branches, turns: new Map(view.turns.map((turn) => [turn.id, turn])) };
}

/** A lead that is too deep to be shown keeps its last steps. */
function bounded(lead: string): string {
  return lead.length <= deepestLead ? lead : `… ${lead.slice(4 - deepestLead)}`;
}

/** What a person would tell of the conversation. What a sub-agent said in between is shown where it was called. */
function isSaid(node: Node): boolean {
  if (node.author === "tool" || ["below", "group", "team"].includes(node.note?.about ?? "")) return false;
  return node.parts.some((part) => part.kind === "handle" || part.kind === "image" || (part.kind === "text" && part.text.trim() !== ""));
}

const wordsKept = 200;
/** Nodes never change, and most are never looked at. */
const known = new WeakMap<Node, { words: string; sought?: string }>();

/** What a row says, on one line. */
export function rowText({ node }: Pick<TreeRow, "node">): string {
  return node === null ? "the beginning" : wordsIn(node).words;
}

function wordsIn(node: Node): { words: string; sought?: string } {
  const words = known.get(node) ?? { words: oneLine(stripAnsi(beginningOf(node)), wordsKept) };
  known.set(node, words);
  return words;
}

function beginningOf(node: Node): string {
  const most = 2 * wordsKept;
  const text = node.parts.find((part) => part.kind === "text" && part.text.trim() !== "");
  if (text?.kind === "text") return text.text.trimStart().slice(0, most);
  const told = node.parts.map((part) =>
    part.kind === "call"
      ? `${part.name}(${mainArgument(part.input)})`
      : part.kind === "result"
        ? `${part.name}: ${part.text.slice(0, most)}`
        : part.kind === "handle"
          ? `[${part.handle.source}: ${part.handle.identifier}]`
          : `(${part.kind})`,
  );
  return told.join(" ").slice(0, most);
}

/** The rows that are to be seen: a folded branch shows its first one, a filter those that have all its words. */
export function visibleRows({ rows, branches }: Outline, folded: ReadonlySet<string>, filter: string): number[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const shown: number[] = [];
  for (let at = 0; at < rows.length;) {
    const row = rows[at]!;
    if (words.length > 0) {
      if (hasWords(row, words)) shown.push(at);
      at += 1;
      continue;
    }
    shown.push(at);
    const branch = branches[row.branch]!;
    at = branch.head === at && folded.has(rowKey(row)) ? branch.end : at + 1;
  }
  return shown;
}

function hasWords({ node, sessions }: TreeRow, words: readonly string[]): boolean {
  const here = sessions.map((session) => `${session.name ?? ""} ${session.id}`.toLowerCase());
  const said = node === null ? null : wordsIn(node);
  if (said !== null) here.push((said.sought ??= said.words.toLowerCase()));
  return words.every((word) => here.some((text) => text.includes(word)));
}

/** Names a row from one reading of the tree to the next. */
export function rowKey({ node }: Pick<TreeRow, "node">): string {
  return node?.id ?? "";
}

/** The session that a row stands for: one that rests there, or the next one along its branch. */
export function sessionAt({ rows, branches }: Outline, at: number, prefers: (session: Session) => boolean): Session | null {
  const branch = rows[at]?.branch ?? -1;
  for (let next = at; next < (branches[branch]?.end ?? 0) && rows[next]?.branch === branch; next += 1) {
    const resting = rows[next]?.sessions ?? [];
    const [first] = resting;
    if (first !== undefined) return resting.find(prefers) ?? first;
  }
  return null;
}
