// Draws the map at the top of a page: one row per message of the user, branches indented, sessions as labels.
// A long tree has one row for several messages, and branches above a limit are counted instead of drawn.
import { nodeExcerpt } from "../../protocol/tree/node-summary.ts";
import { callsOf, type Node } from "../../protocol/tree/node.ts";
import type { Turn } from "../../protocol/tree/turn.ts";
import { costText } from "../../protocol/tree/usage-text.ts";
import { type Document, tipLabel } from "./document.ts";
import { escaped } from "./html-text.ts";
import { segmentsOf, type Segment } from "./segments.ts";

const maxRows = 400;
const maxDepth = 16;

export function mapHtml(document: Document): string {
  const segments = segmentsOf(document.view);
  const prompts = document.view.nodes.filter((node) => node.author === "user").length;
  const step = Math.max(1, Math.ceil(prompts / Math.max(1, maxRows - segments.length)));
  const facts = mapFacts(document);
  const indents = new Map<number, string>();
  const rows: string[] = [];
  let hidden = 0;
  for (const segment of segments) {
    const lead = leadOf(segment, indents);
    let count = -1;
    const starts = segment.nodes.filter((node, index) => {
      if (node.author === "user") count += 1;
      return index === 0 || (node.author === "user" && count % step === 0);
    });
    for (const [index, node] of starts.entries()) {
      if (rows.length >= maxRows) hidden += 1;
      else
        rows.push(
          rowHtml(node, { lead: index === 0 ? lead.first : lead.rest, until: starts[index + 1]?.id ?? null, segment, facts, step }),
        );
    }
  }
  const more = hidden === 0 ? "" : `<p>${hidden.toLocaleString("en-US")} more branches are below.</p>`;
  return `<details class="map" open><summary>map of the tree: ${branchCount(segments)}${step > 1 ? `, every ${step}th message` : ""}</summary><ol>${rows.join("")}</ol>${more}</details>`;
}

function branchCount(segments: readonly Segment[]): string {
  const ends = segments.filter((segment) => segment.next.length === 0).length;
  return ends === 1 ? "1 branch" : `${ends.toLocaleString("en-US")} branches`;
}

/** The guides before the first row of a segment and before its other rows. Deep branches are not indented further. */
function leadOf({ number, depth, branch, branches, next }: Segment, indents: Map<number, string>): { first: string; rest: string } {
  const indent = indents.get(number) ?? "";
  const isIndented = branches > 1 && depth <= maxDepth;
  const rest = isIndented ? `${indent}${branch === branches ? "  " : "│ "}` : indent;
  for (const child of next) indents.set(child, rest);
  return { first: isIndented ? `${indent}${branch === branches ? "└─" : "├─"}` : indent, rest };
}

type MapFacts = { turns: Map<string, Turn>; agents: string[]; labels: Map<string, string[]> };

function mapFacts({ view }: Document): MapFacts {
  const labels = new Map<string, string[]>();
  for (const session of view.sessions)
    if (session.tip !== null) labels.set(session.tip, [...(labels.get(session.tip) ?? []), tipLabel(session)]);
  return { turns: new Map(view.turns.map((turn) => [turn.id, turn])), agents: [...new Set(view.turns.map((turn) => turn.agent))], labels };
}

type RowPlace = { lead: string; until: string | null; segment: Segment; facts: MapFacts; step: number };

/** `until` is the node of the segment's next row. */
function rowHtml(node: Node, { lead, until, segment, facts, step }: RowPlace): string {
  const start = segment.nodes.indexOf(node);
  const end = until === null ? segment.nodes.length : segment.nodes.findIndex(({ id }) => id === until);
  const nodes = segment.nodes.slice(start, end);
  const turn = nodes.map(({ turn: id }) => facts.turns.get(id ?? "")).find((found) => found !== undefined);
  const agent = turn === undefined ? 0 : facts.agents.indexOf(turn.agent) % 6;
  const calls = nodes.reduce((sum, each) => sum + callsOf(each).length, 0);
  const notes = [
    ...(facts.agents.length > 1 && turn !== undefined ? [turn.agent] : []),
    ...(calls === 0 ? [] : [calls === 1 ? "1 call" : `${calls} calls`]),
    ...(turn === undefined || turn.costUsd === null || step > 1 ? [] : [costText(turn)]),
    ...(turn === undefined || turn.status === null || turn.status === "ok" ? [] : [turn.status]),
  ];
  const labels = nodes
    .flatMap(({ id }) => (facts.labels.get(id) ?? []).map((label) => `<a class="label" href="#n-${escaped(id)}">${escaped(label)}</a>`))
    .join("");
  const text = escaped(nodeExcerpt(node).replaceAll(/\s+/g, " ").slice(0, 140));
  const dot = `<span class="guide">${lead}</span><span class="dot a${agent}">●</span>`;
  return `<li>${dot}<a href="#n-${escaped(node.id)}">${text}</a><small>${escaped(notes.join(" · "))}</small>${labels}</li>`;
}
