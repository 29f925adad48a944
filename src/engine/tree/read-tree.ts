// Reads from the tree: the request of the next turn at a node, the data of a handle, full-text search of nodes, and lists
// of sessions and turns with their prompts.
import { decodeUtf8 } from "../../kit/text/cut-text.ts";
import { Excerpt } from "../../kit/text/excerpt.ts";
import type { Api, ContextView } from "../../protocol/api/api.ts";
import type { TurnInfo } from "../../protocol/api/control.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import type { SessionFilter, Store } from "../../store/store.ts";
import type { FoundNode, HandleContent } from "../../protocol/tree/views.ts";
import type { EngineDeps } from "../engine.ts";
import { pendingInfos } from "../pending/pending-turns.ts";
import { findAgent } from "../turn/open-session.ts";

/** The request that the session's agent would get for the next turn at a node. */
export async function renderContext(deps: EngineDeps, params: { session: string; node: string | null }): Promise<ContextView> {
  const store = await deps.store();
  const session = await store.findSession(params.session, null);
  const node = params.node ?? session.tip;
  const settings = await deps.methods.config.values();
  const { model, directory, project, toolLevel } = session;
  const preview = await findAgent(deps, session.agent).preview({
    session: session.id,
    path: await store.path(node),
    model,
    directory,
    project,
    toolLevel,
    tools: null,
    spawn: true,
    mcpServers: {},
    canAsk: true,
    system: null,
    appendSystem: null,
    contextFiles: settings.contextFiles,
    plan: session.plan ?? null,
    policy: { name: settings.policy, addDirs: [] },
  });
  return { session, node, ...preview };
}

type ResolveParams = Parameters<Api["handle"]["resolve"]>[0];

/** A text over `maxBytes` loses its middle. Base64 is always complete. */
export async function resolveHandle(deps: EngineDeps, { identifier, maxBytes, as }: ResolveParams): Promise<HandleContent> {
  const stream = await (await deps.store()).readOutput(identifier);
  if (maxBytes !== null && as === "text") {
    const head = Math.floor(maxBytes / 2);
    const excerpt = new Excerpt(head, maxBytes - head);
    for await (const chunk of stream) excerpt.push(chunk);
    const { text, cutBytes } = excerpt.text();
    return { content: text, bytes: excerpt.bytes, cutBytes };
  }
  const content = Buffer.concat(await Array.fromAsync(stream));
  return { content: as === "base64" ? content.toString("base64") : decodeUtf8(content), bytes: content.length, cutBytes: 0 };
}

/** Each match has its session, the node before and the node after. */
export async function searchNodes(deps: EngineDeps, { query, project, limit }: Parameters<Api["search"]["find"]>[0]): Promise<FoundNode[]> {
  if (!deps.hasStore()) return [];
  const store = await deps.store();
  const hits = await store.search(query, { project, limit });
  const matches = hits.map(async ({ node, session: id, snippet, marks, rank }): Promise<FoundNode[]> => {
    const session = await store.session(id);
    if (session === null) return [];
    const before = node.parent === null ? null : await store.node(node.parent);
    const children = await store.children(node.id);
    const after = children.find((child) => child.session === node.session) ?? children[0] ?? null;
    return [{ node, session, snippet, marks, rank, before, after }];
  });
  return (await Promise.all(matches)).flat();
}

/** Sessions with the message of their latest turn, which tells the branches of one tree apart. */
export async function listSessions(store: Store, filter: SessionFilter): Promise<Session[]> {
  const sessions = await store.listSessions(filter);
  const prompts = await store.latestPrompts(sessions.map(({ id }) => id));
  return sessions.map((session) => withField(session, "latestPrompt", prompts.get(session.id)));
}

/** Turns with the message that started each: the open ones, then those that start later, then the ended ones. */
export async function listTurns(store: Store, endedSince: number | null): Promise<TurnInfo[]> {
  const turns = await store.listTurns(endedSince);
  const pending = await pendingInfos(store);
  const prompts = await store.prompts([...turns, ...pending].map(({ turn }) => turn.id));
  const isOpen = ({ state }: TurnInfo): boolean => state !== "ended";
  // The last turn of a session that waits is listed once, as waiting.
  const ended = turns.filter((info) => !isOpen(info) && !pending.some(({ turn }) => turn.id === info.turn.id));
  return [...turns.filter(isOpen), ...pending, ...ended].map((info) => withField(info, "prompt", info.prompt ?? prompts.get(info.turn.id)));
}

function withField<T extends object, Name extends keyof T>(value: T, name: Name, field: T[Name] | undefined): T {
  return field === undefined ? value : { ...value, [name]: field };
}
