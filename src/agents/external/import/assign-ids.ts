// Converts parsed nodes to a session with turns and nodes. Ids have the form of UUIDv7. Each is a hash of the source and
// of the node's parent and key. So the same file gives the same ids, and a changed message becomes a branch.
import type { Policy } from "../../../protocol/api/policy.ts";
import type { ImportedNode, ImportedTree, ImportedTurn, ImportFormat } from "../../../protocol/tree/import.ts";
import { callsOf, type NewNode, textOf } from "../../../protocol/tree/node.ts";
import type { ParsedNode, ParsedTranscript } from "./parsed-node.ts";

/** `malformed` is the number of entries that were left out. */
export type ParsedTree = Pick<ImportedTree, "nativeId" | "tree" | "main" | "sessions" | "turns" | "nodes"> & { malformed: number };

export function assignIds(parsed: ParsedTranscript, format: ImportFormat): ParsedTree {
  const parsedNodes = parsed.nodes;
  /** Returns the index of the node itself, or of its nearest ancestor that has content. */
  const skipEmpty = (index: number | null): number | null => {
    let current = index;
    while (current !== null && parsedNodes[current]!.node.parts.length === 0) current = parsedNodes[current]!.parent;
    return current;
  };
  const first = parsedNodes.find(({ node }) => node.parts.length > 0);
  const nativeId = parsed.nativeId || `${first?.key}`;
  const root = `${format} ${nativeId}`;
  const session = stableId(first?.at ?? 0, root);
  const copied = parsed.copied ?? 0;
  const original = stableId(first?.at ?? 0, `${root} before the fork`);
  const ids = new Map<number, string>();
  const nodes: ImportedNode[] = [];
  for (const [index, parsedNode] of parsedNodes.entries()) {
    if (parsedNode.node.parts.length === 0) continue;
    const parentIndex = skipEmpty(parsedNode.parent);
    const parent = parentIndex === null ? null : ids.get(parentIndex)!;
    const id = stableId(parsedNode.at, `${parent ?? root}\n${parsedNode.key}`);
    ids.set(index, id);
    const owner = index < copied ? original : session;
    nodes.push({ ...nodeOf(parsedNode, ids), id, parent, session: owner, turn: null, at: parsedNode.at });
  }
  const turns = assignTurns(nodes, format);
  setAgents(turns, nodes, new Map([...ids].map(([index, id]) => [id, parsedNodes[index]!.agent])));
  const tip = skipEmpty(parsed.tip);
  const firstPrompt = nodes.find((node) => node.author === "user");
  const task = firstPrompt === undefined ? null : textOf(firstPrompt);
  const shared = { name: null, agent: "native", model: null, task, toolLevel: "orchestrator", createdAt: first?.at ?? 0 } as const;
  const lastCopied = nodes.findLast((node) => node.session === original)?.id;
  const forkedFrom = lastCopied === undefined ? null : { session: original, node: lastCopied };
  return {
    nativeId,
    tree: null,
    main: session,
    sessions: [
      ...(lastCopied === undefined ? [] : [{ ...shared, id: original, tip: lastCopied, forkedFrom: null }]),
      { ...shared, id: session, tip: tip === null ? (nodes.at(-1)?.id ?? null) : ids.get(tip)!, forkedFrom },
    ],
    turns,
    nodes,
    malformed: parsed.malformed ?? 0,
  };
}

/** A turn has the agent of its first node that names one. */
function setAgents(turns: ImportedTurn[], nodes: readonly ImportedNode[], agentOf: ReadonlyMap<string, string | undefined>): void {
  const byTurn = Map.groupBy(nodes, (node) => node.turn);
  for (const turn of turns) {
    const named = byTurn.get(turn.id)?.find((node) => agentOf.get(node.id) !== undefined);
    if (named !== undefined) turn.agent = agentOf.get(named.id)!;
  }
}

/** `ids` has the id of each parsed node, by index. */
function nodeOf(parsedNode: ParsedNode, ids: Map<number, string>): NewNode {
  const keptFrom = parsedNode.keptFrom === undefined ? undefined : ids.get(parsedNode.keptFrom);
  return keptFrom === undefined ? parsedNode.node : { ...parsedNode.node, note: { about: "compaction", keptFrom } };
}

/** Starts a turn at each prompt, and where a fork begins. Sets the turn of every node. */
export function assignTurns(nodes: ImportedNode[], agent: string): ImportedTurn[] {
  const turns = new Map<string, ImportedTurn>();
  const turnByNode = new Map<string, string>();
  for (const node of nodes) {
    const parentTurn = node.parent === null ? undefined : turnByNode.get(node.parent);
    const isStart = parentTurn === undefined || node.author === "user" || turns.get(parentTurn)!.session !== node.session;
    const id = isStart ? stableId(node.at, `turn ${node.id}`) : parentTurn;
    if (isStart) turns.set(id, newTurn(node, id, agent));
    const turn = turns.get(id)!;
    turn.endedAt = Math.max(turn.endedAt ?? 0, node.at);
    turn.model = node.model ?? turn.model;
    // A turn that does not end with an answer was interrupted, or was still running.
    turn.status = node.author === "agent" && callsOf(node).length === 0 ? "ok" : "cancelled";
    turnByNode.set(node.id, id);
    node.turn = id;
  }
  return [...turns.values()];
}

/** The policy of imported turns. It allows everything, because the other program may have done so. */
export const unknownPolicy: Policy = { name: "full", sandbox: "off", net: "on", allowWrite: [], addDirs: [] };

function newTurn(node: ImportedNode, id: string, agent: string): ImportedTurn {
  return {
    id,
    session: node.session,
    parent: node.parent,
    agent,
    model: null,
    nativeId: null,
    policy: unknownPolicy,
    enforced: null,
    startedAt: node.at,
    endedAt: node.at,
    status: "ok",
    error: null,
  };
}

/** An id with 48 bits of time and 74 bits of a hash. */
export function stableId(at: number, source: string): string {
  const hash = new Bun.CryptoHasher("sha256").update(source).digest("hex");
  const time = Math.max(0, Math.floor(at)).toString(16).padStart(12, "0").slice(-12);
  const variant = "89ab"[Number.parseInt(hash[3]!, 16) & 3]!;
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hash.slice(0, 3)}-${variant}${hash.slice(4, 7)}-${hash.slice(7, 19)}`;
}
