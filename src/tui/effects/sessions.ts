// Effects of the sessions panel: lists sessions, searches messages, reads the last messages of a session. All have limits.
import { textOf, type Node } from "../../protocol/tree/node.ts";
import type { FoundNode } from "../../protocol/tree/views.ts";
import type { EffectHandlers } from "./effect-context.ts";

const maxSessions = 1000;
const maxHits = 50;
const previewMessages = 12;

export const sessionsEffects: EffectHandlers<"list sessions" | "search sessions" | "preview session"> = {
  "list sessions": async ({ api, project, send }, { reading, withArchived, everywhere }) => {
    const params = { project: everywhere ? null : project, limit: maxSessions };
    const archived = withArchived ? await api.session.list({ ...params, archived: true }) : [];
    const sessions = [...(await api.session.list(params)), ...archived];
    send({ type: "sessions", message: { type: "listed", reading, sessions, project, now: Date.now() } });
  },
  /** Sends a result also after an error, because the next search waits for it. */
  "search sessions": async ({ api, project, send }, { query, everywhere }) => {
    let hits: FoundNode[] = [];
    try {
      hits = await api.search.find({ query, project: everywhere ? null : project, limit: maxHits });
    } finally {
      send({ type: "sessions", message: { type: "found", query, hits } });
    }
  },
  "preview session": async ({ api, send }, { key, tip }) => {
    let path: Node[] = [];
    try {
      path = await api.node.path({ node: tip });
    } finally {
      const messages = path.filter((node) => (node.author === "user" || node.author === "agent") && textOf(node).trim() !== "");
      send({ type: "sessions", message: { type: "previewed", key, messages: messages.slice(-previewMessages) } });
    }
  },
};
