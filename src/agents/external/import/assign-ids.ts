// Drafts become a session with turns and nodes. Ids are UUIDv7 in shape and come from a hash of the source, the parent
// and the draft's key: the same file gives the same ids, and what changed in the middle becomes a branch.
import type { ImportedNode, ImportedSession, ImportedTurn, ImportFormat } from "../../../protocol/tree/import.ts";
import { callsOf, type NewNode, textOf } from "../../../protocol/tree/node.ts";
import type { DraftNode, ParsedTranscript } from "./draft-node.ts";

type ImportedParts = { nativeId: string; sessions: ImportedSession[]; turns: ImportedTurn[]; nodes: ImportedNode[] };

export function assignIds(parsed: ParsedTranscript, format: ImportFormat): ImportedParts {
  const { drafts } = parsed;
  const filled = (at: number | null): number | null => {
    let found = at;
    while (found !== null && drafts[found]!.node.parts.length === 0) found = drafts[found]!.parent;
    return found;
  };
  const first = drafts.find((draft) => draft.node.parts.length > 0);
  const nativeId = parsed.nativeId || `${first?.key}`;
  const root = `${format} ${nativeId}`;
  const session = stableId(first?.at ?? 0, root);
  const ids = new Map<number, string>();
  const nodes: ImportedNode[] = [];
  for (const [index, draft] of drafts.entries()) {
    if (draft.node.parts.length === 0) continue;
    const above = filled(draft.parent);
    const parent = above === null ? null : ids.get(above)!;
    const id = stableId(draft.at, `${parent ?? root}\n${draft.key}`);
    ids.set(index, id);
    nodes.push({ ...placedNode(draft, ids), id, parent, session, turn: null, at: draft.at });
  }
  const tip = filled(parsed.tip);
  const task = nodes.find((node) => node.author === "user");
  return {
    nativeId,
    sessions: [
      {
        id: session,
        name: null,
        agent: "native",
        model: null,
        task: task === undefined ? null : textOf(task),
        toolLevel: "orchestrator",
        tip: tip === null ? (nodes.at(-1)?.id ?? null) : ids.get(tip)!,
        forkedFrom: null,
        createdAt: first?.at ?? 0,
      },
    ],
    turns: assignTurns(nodes, format),
    nodes,
  };
}

function placedNode(draft: DraftNode, ids: Map<number, string>): NewNode {
  const kept = draft.keptFrom === undefined ? undefined : ids.get(draft.keptFrom);
  return kept === undefined ? draft.node : { ...draft.node, note: { about: "compaction", keptFrom: kept } };
}

/** A prompt begins a turn; what follows belongs to it. Nodes get the turn written into them. */
export function assignTurns(nodes: ImportedNode[], agent: string): ImportedTurn[] {
  const turns = new Map<string, ImportedTurn>();
  const byNode = new Map<string, string>();
  for (const node of nodes) {
    const above = node.parent === null ? undefined : byNode.get(node.parent);
    const begins = above === undefined || node.author === "user";
    const id = begins ? stableId(node.at, `turn ${node.id}`) : above;
    if (begins) turns.set(id, turnAt(node, id, agent));
    const turn = turns.get(id)!;
    turn.endedAt = Math.max(turn.endedAt ?? 0, node.at);
    turn.model = node.model ?? turn.model;
    turn.status = isAnswer(node) ? "ok" : "cancelled";
    byNode.set(node.id, id);
    node.turn = id;
  }
  return [...turns.values()];
}

/** A turn that ends with anything else was broken off, or still ran. */
function isAnswer(node: ImportedNode): boolean {
  return node.author === "agent" && callsOf(node).length === 0;
}

function turnAt(node: ImportedNode, id: string, agent: string): ImportedTurn {
  return {
    id,
    session: node.session,
    parent: node.parent,
    agent,
    model: null,
    nativeId: null,
    policy: { name: "full", sandbox: "off", net: "on", allowWrite: [], addDirs: [] },
    enforced: null,
    startedAt: node.at,
    endedAt: node.at,
    status: "ok",
    error: null,
  };
}

/** 48 bits of time, 74 bits of the hash. */
export function stableId(at: number, from: string): string {
  const hash = new Bun.CryptoHasher("sha256").update(from).digest("hex");
  const time = Math.max(0, Math.floor(at)).toString(16).padStart(12, "0").slice(-12);
  const variant = "89ab"[Number.parseInt(hash[3]!, 16) & 3]!;
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hash.slice(0, 3)}-${variant}${hash.slice(4, 7)}-${hash.slice(7, 19)}`;
}
