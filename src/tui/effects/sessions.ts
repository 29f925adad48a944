// The list of sessions, what is found in their messages, and the last messages of one, through the Api; all of it bounded.
import { textOf, type Node } from "../../protocol/tree/node.ts";
import type { FoundNode } from "../../protocol/tree/views.ts";
import type { EffectHandlers, EffectContext } from "./effect-context.ts";

export const sessionsEffects: EffectHandlers<"list sessions" | "search sessions" | "preview session"> = {
  "list sessions": listSessions,
  "search sessions": searchSessions,
  "preview session": previewSession,
};

const mostSessions = 1000;
const mostHits = 50;
const lastMessages = 12;

type Listing = { reading: number; withArchived: boolean; everywhere: boolean };

async function listSessions({ api, project, send }: EffectContext, { reading, withArchived, everywhere }: Listing): Promise<void> {
  const of = { project: everywhere ? null : project, limit: mostSessions };
  const archived = withArchived ? await api.session.list({ ...of, archived: true }) : [];
  const sessions = [...(await api.session.list(of)), ...archived];
  send({ type: "sessions", told: { what: "listed", reading, sessions, project, now: Date.now() } });
}

/** What can't be found is answered, too: the next words wait for it. */
async function searchSessions(
  { api, project, send }: EffectContext,
  { query, everywhere }: { query: string; everywhere: boolean },
): Promise<void> {
  let hits: FoundNode[] = [];
  try {
    hits = await api.search.find({ query, project: everywhere ? null : project, limit: mostHits });
  } finally {
    send({ type: "sessions", told: { what: "found", query, hits } });
  }
}

async function previewSession({ api, send }: EffectContext, { key, tip }: { key: string; tip: string }): Promise<void> {
  let path: Node[] = [];
  try {
    path = await api.node.path({ node: tip });
  } finally {
    const said = path.filter((node) => (node.author === "user" || node.author === "agent") && textOf(node).trim() !== "");
    send({ type: "sessions", told: { what: "previewed", key, last: said.slice(-lastMessages) } });
  }
}
