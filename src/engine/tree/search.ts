// Full-text search with its surroundings: who said it, and what stood before and after.
import type { FoundNode } from "../../protocol/tree/views.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import type { EngineDeps } from "../engine.ts";

export type SearchNodesParams = { query: string; project: string | null; limit: number };

export async function searchNodes(deps: EngineDeps, { query, project, limit }: SearchNodesParams): Promise<FoundNode[]> {
  if (!deps.hasStore()) return [];
  const store = await deps.store();
  const sessions = new Map<string, Session>();
  const found: FoundNode[] = [];
  for (const { node, session: id, snippet, marks, rank } of await store.search(query, { project, limit })) {
    const session = sessions.get(id) ?? (await store.session(id));
    if (session === null) continue;
    sessions.set(id, session);
    const before = node.parent === null ? null : await store.node(node.parent);
    const below = await store.children(node.id);
    const after = below.find((child) => child.session === node.session) ?? below[0] ?? null;
    found.push({ node, session, snippet, marks, rank, before, after });
  }
  return found;
}
