// What every readable format begins from: the tree, the session that was asked for, and how to resolve handles.
import type { TreeView } from "../../protocol/api/api.ts";
import { speakerLabel } from "../../protocol/team/group.ts";
import type { Author, Node } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { addSpent, zeroSpent } from "../../protocol/tree/usage.ts";
import type { ResolveHandle } from "./blocks.ts";
import { type Segment, sessionLabel } from "./segments.ts";

export type Document = { session: Session; view: TreeView; resolve: ResolveHandle };

export function titleOf({ session }: Document): string {
  return session.name ?? session.task?.split("\n", 1)[0]?.slice(0, 120) ?? sessionLabel(session);
}

/** Facts about the whole, in pairs. */
export function treeFacts({ session, view }: Document): [string, string][] {
  const { usage, costUsd } = view.turns.reduce(addSpent, zeroSpent);
  const tokens = usage.input + usage.cacheRead + usage.cacheWrite;
  return [
    ["session", session.id],
    ["agent", session.model === null ? session.agent : `${session.agent}, ${session.model}`],
    ["project", session.project],
    ["started", timeOf(session.createdAt)],
    ["nodes", String(view.nodes.length)],
    ["tokens", `${tokens.toLocaleString("en-US")} in, ${usage.output.toLocaleString("en-US")} out`],
    ["cost", costUsd === null ? "unknown" : `$${costUsd.toFixed(4)}`],
  ];
}

export function timeOf(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

export function branchTitle(segment: Segment): string {
  return `branch ${segment.branch} of ${segment.branches}`;
}

const names: Record<Author, string> = { user: "user", agent: "agent", tool: "tool", note: "note" };

/** Where several agents took turns, each is named. */
export function authorsOf({ view }: Document): (node: Node) => string {
  const takers = new Map(view.turns.map((turn) => [turn.id, turn.agent]));
  const isShared = new Set(takers.values()).size > 1;
  return (node) => {
    if (node.note?.about === "group") return speakerLabel(node.note.said);
    if (node.author === "note" && node.note !== undefined) return node.note.about;
    const taker = node.author === "agent" && isShared ? takers.get(node.turn ?? "") : undefined;
    return taker === undefined ? names[node.author] : `${names.agent} ${taker}`;
  };
}
