// The tree panel's questions and what is done to branches, through the Api. Files are never touched by any of it.
import { Fault } from "../../protocol/api/error.ts";
import type { TurnInfo } from "../../protocol/api/control.ts";
import { shortId } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import type { TreePanel } from "../overlays/tree.ts";
import { sessionLabel, setSession, requireSession, type EffectHandlers, type EffectContext } from "./effect-context.ts";
import { enterSession } from "./turns.ts";

export const treeEffects: EffectHandlers<"read tree" | "go" | "switch" | "compare" | "graft" | "rename" | "archive" | "copy"> = {
  "read tree": (doing, effect) =>
    readTree(doing, effect).catch((error: unknown) => {
      doing.send({ type: "tree", told: { what: "failed", reading: effect.reading } });
      throw error;
    }),
  go: async (doing, { session, node }) =>
    session === null ? moveTo(doing, node) : goInto(doing, await doing.api.session.find({ wanted: session, directory: doing.directory })),
  switch: switchTo,
  compare: async ({ api, directory, send }, { a, b }) =>
    send({ type: "compared", comparison: await api.branch.compare({ a, b, directory }) }),
  graft,
  rename,
  archive,
  copy: ({ copy, send }, { text }) =>
    send({ type: "told", text: copy(text) ? `${text} is in the clipboard` : `the terminal takes no text to copy: ${text}` }),
};

const mostSessions = 500;

/** The whole tree is only read when a turn began or ended, or a session that rests was moved, made, renamed or archived. */
async function readTree(
  ctx: EffectContext,
  { reading, known, afterMs }: { reading: number; known: string; afterMs: number },
): Promise<void> {
  const { api, send, project } = ctx;
  if (afterMs > 0) await Bun.sleep(afterMs);
  // Meanwhile the panel may be closed, and the session left for one that is yet to begin.
  if (afterMs > 0 && ctx.session === null) return;
  const session = requireSession(ctx);
  const open = (await api.turn.list({ endedSince: null })).filter((row) => row.session.tree === session.tree);
  const states = Object.fromEntries(open.map((row) => [row.session.id, row.state]));
  const sessions = (await api.session.list({ project, limit: mostSessions })).filter(({ tree }) => tree === session.tree);
  const seen = signature(sessions, states);
  const now = Date.now();
  if (seen === known) return send({ type: "tree", told: { what: "unchanged", reading, now } });
  const view = await api.session.tree({ session: session.id });
  send({ type: "tree", told: { what: "read", reading, view, states, known: seen, now } });
}

function signature(sessions: readonly Session[], states: TreePanel["states"]): string {
  const rests = sessions.map(({ id, name, tip }) => [id, name, id in states ? "" : tip]);
  return JSON.stringify([rests, Object.entries(states).map(([id, state]: [string, TurnInfo["state"]]) => [id, state])]);
}

/** Whoever goes to an archived session wants it back. */
async function goInto(ctx: EffectContext, found: Session): Promise<void> {
  const session = found.archivedAt === null ? found : await ctx.api.session.restore({ session: found.id });
  await enterSession(ctx, session);
  ctx.send({ type: "went", text: `now in session ${sessionLabel(session)}; files stay as they are` });
}

async function moveTo(ctx: EffectContext, node: string | null): Promise<void> {
  await enterSession(ctx, await ctx.api.session.move({ session: requireSession(ctx).id, node }));
  const where = node === null ? "the beginning" : shortId(node);
  ctx.send({ type: "went", text: `moved to ${where}; files stay as they are` });
}

/** A session comes before a node of the same name. */
async function switchTo(ctx: EffectContext, { wanted }: { wanted: string }): Promise<void> {
  const { api, directory, session } = ctx;
  try {
    return await goInto(ctx, await api.session.find({ wanted, directory }));
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== "session-unknown" || session === null || !/^[0-9a-f-]{4,36}$/.test(wanted)) throw error;
  }
  const node = await api.node.find({ wanted });
  if (node.tree !== session.tree)
    throw new Fault("node-unknown", `node ${shortId(node.id)} is in another tree`, { hint: "Space t shows the nodes of this one" });
  await moveTo(ctx, node.id);
}

async function graft(ctx: EffectContext, { from }: { from: string }): Promise<void> {
  const { api, directory, send } = ctx;
  const into = requireSession(ctx).id;
  const node = await api.graft.make({ from, into });
  const session = await api.session.find({ wanted: into, directory });
  await enterSession(ctx, session);
  send({ type: "went", text: `grafted into ${sessionLabel(session)} as ${shortId(node.id)}; the next turn is given it` });
}

async function rename(ctx: EffectContext, effect: { name: string; session?: string }): Promise<void> {
  const { api, send } = ctx;
  const session = await api.session.rename({ session: effect.session ?? requireSession(ctx).id, name: effect.name });
  if (session.id === ctx.session?.id) setSession(ctx, session);
  send({ type: "renamed", session });
  send({ type: "tree", told: { what: "changed" } });
  send({ type: "told", text: `it is called ${sessionLabel(session)} now` });
}

async function archive({ api, send }: EffectContext, { session }: { session: string }): Promise<void> {
  const archived = await api.session.archive({ session });
  send({ type: "tree", told: { what: "changed" } });
  send({ type: "told", text: `${sessionLabel(archived)} is archived; \`skein restore ${shortId(archived.id)}\` brings it back` });
}
