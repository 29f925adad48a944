// Full-text search of nodes, each with its session, the node before and the node after.
import type { FoundNode } from "../../protocol/tree/views.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import type { EngineDeps } from "../engine.ts";

export type SearchNodesParams = { query: string; project: string | null; limit: number };

export async function searchNodes(deps: EngineDeps, { query, project, limit }: SearchNodesParams): Promise<FoundNode[]> {
  if (!deps.hasStore()) return [];
  const store = await deps.store();
  const sessions = new Map<string, Session>();
  const matches: FoundNode[] = [];
  for (const { node, session: id, snippet, marks, rank } of await store.search(query, { project, limit })) {
    const session = sessions.get(id) ?? (await store.session(id));
    if (session === null) continue;
    sessions.set(id, session);
    const before = node.parent === null ? null : await store.node(node.parent);
    const children = await store.children(node.id);
    const after = children.find((child) => child.session === node.session) ?? children[0] ?? null;
    matches.push({ node, session, snippet, marks, rank, before, after });
  }
  return matches;
}
