// The input of every export format: a session, its tree, and a function that resolves handles.
import { costText } from "../../protocol/tree/usage-text.ts";
import type { TreeView } from "../../protocol/api/api.ts";
import { speakerLabel } from "../../protocol/team/group.ts";
import type { Node } from "../../protocol/tree/node.ts";
import { addSpent, withSubSessions, zeroSpent } from "../../protocol/tree/usage.ts";
import { blocksOf, type ExportBlock, type ResolveHandle } from "./blocks.ts";
import type { ExportedFiles } from "../../protocol/tree/views.ts";
import { sessionLabel, type Session } from "../../protocol/tree/turn.ts";
import { segmentsOf, type Segment } from "./segments.ts";

export type Document = {
  session: Session;
  view: TreeView;
  resolve: ResolveHandle;
  /** The file changes of the session's branch; null in a format without them. */
  files: ExportedFiles | null;
};

export function titleOf({ session }: Document): string {
  return session.name ?? session.task?.split("\n", 1)[0]?.slice(0, 120) ?? sessionLabel(session);
}

/** Facts about the tree as pairs of name and value. */
export function treeFacts({ session, view }: Document): [string, string][] {
  const { usage, ...cost } = view.turns.map(withSubSessions).reduce(addSpent, zeroSpent);
  const tokens = usage.input + usage.cacheRead + usage.cacheWrite;
  return [
    ["session", session.id],
    ["agent", session.model === null ? session.agent : `${session.agent}, ${session.model}`],
    ["project", session.project],
    ["started", timeText(session.createdAt)],
    ["nodes", String(view.nodes.length)],
    ["tokens", `${tokens.toLocaleString("en-US")} in, ${usage.output.toLocaleString("en-US")} out`],
    ["cost", cost.costUsd === null ? "unknown" : costText(cost)],
  ];
}

export function timeText(time: number): string {
  return `${new Date(time).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

export function branchTitle(segment: Segment): string {
  return `branch ${segment.branch} of ${segment.branches}`;
}

/** A node with its blocks. A tool's node has a head only if it is the tip of a session. */
export type ExportNode = { node: Node; author: string; labels: string[]; hasHead: boolean; blocks: ExportBlock[] };

/** Yields the segments of the tree in reading order, each with its nodes. Skips nodes without content and labels. */
export function* sectionsOf(document: Document): Generator<{ segment: Segment; nodes: AsyncGenerator<ExportNode> }> {
  const tips = Map.groupBy(document.view.sessions, (session) => session.tip);
  const authorOf = authorsOf(document);
  async function* nodesOf(segment: Segment): AsyncGenerator<ExportNode> {
    for await (const { node, blocks } of blocksOf(segment.nodes, document.resolve)) {
      const labels = (tips.get(node.id) ?? []).map(tipLabel);
      const hasHead = node.author !== "tool" || labels.length > 0;
      if (blocks.length > 0 || labels.length > 0) yield { node, author: authorOf(node), labels, hasHead, blocks };
    }
  }
  for (const segment of segmentsOf(document.view)) yield { segment, nodes: nodesOf(segment) };
}

export function tipLabel(session: Session): string {
  return `${sessionLabel(session)}${session.archivedAt === null ? "" : " (archived)"}`;
}

/** Returns a function for the label of a node's author. Agents are named only if several took turns. */
function authorsOf({ view }: Document): (node: Node) => string {
  const agents = new Map(view.turns.map((turn) => [turn.id, turn.agent]));
  const hasSeveralAgents = new Set(agents.values()).size > 1;
  return (node) => {
    if (node.note?.about === "group") return speakerLabel(node.note.said);
    if (node.author === "note" && node.note !== undefined) return node.note.about;
    const agent = node.author === "agent" && hasSeveralAgents ? agents.get(node.turn ?? "") : undefined;
    return agent === undefined ? node.author : `agent ${agent}`;
  };
}
