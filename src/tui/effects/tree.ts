// Effects of the tree panel: reads the tree, goes to branches, forks, grafts, compares, renames, archives. No file changes.
import { Fault } from "../../protocol/api/error.ts";
import { shortId } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { hintFor } from "../keys/hint.ts";
import { sessionTitle, setSession, requireSession, type EffectHandlers, type EffectContext } from "./effect-context.ts";
import { plainLine } from "../layout/wrap.ts";
import { showSession } from "./follow.ts";
import { goTo } from "./turns.ts";

const maxSessions = 500;

export const treeEffects: EffectHandlers<
  "read tree" | "go" | "switch" | "compare" | "graft" | "rename" | "archive" | "copy" | "export" | "take back change"
> = {
  /** Reads the whole tree only if its signature changed: a turn started or ended, or an idle session changed. */
  "read tree": async (ctx, { reading, signature: previous, afterMs }) => {
    const { api, send, project } = ctx;
    if (afterMs > 0) await Bun.sleep(afterMs);
    // Meanwhile the screen may show a new session without a tree.
    if (afterMs > 0 && ctx.session === null) return;
    const session = requireSession(ctx);
    const open = (await api.turn.list({ endedSince: null })).filter((turn) => turn.session.tree === session.tree);
    const states = Object.fromEntries(open.map((turn) => [turn.session.id, turn.state]));
    const sessions = (await api.session.list({ project, limit: maxSessions })).filter(({ tree }) => tree === session.tree);
    const signature = JSON.stringify([sessions.map(({ id, name, tip }) => [id, name, id in states ? "" : tip]), states]);
    const now = Date.now();
    if (signature === previous) return send({ type: "tree", message: { type: "unchanged", reading, now } });
    const view = await api.session.tree({ session: session.id });
    send({ type: "tree", message: { type: "read", reading, view, states, signature, now } });
  },
  go: async (ctx, { session, node }) =>
    session === null ? moveTo(ctx, node) : goToSession(ctx, await ctx.api.session.find({ wanted: session, directory: ctx.directory })),
  switch: switchTo,
  compare: async ({ api, directory, send }, { a, b }) =>
    send({ type: "compared", comparison: await api.branch.compare({ a, b, directory }) }),
  graft: async (ctx, { from }) => {
    const { id: into } = requireSession(ctx);
    const { tip } = await ctx.api.session.find({ wanted: into, directory: ctx.directory });
    const node = await ctx.api.graft.make({ from, into });
    const session = await ctx.api.session.find({ wanted: into, directory: ctx.directory });
    ctx.lastChange = { text: "the graft", takeBack: () => ctx.api.session.move({ session: into, node: tip }) };
    await goTo(ctx, session, `grafted into ${sessionTitle(session)} as ${shortId(node.id)}; the next turn gets it; ${wayBack(ctx)}`);
  },
  rename: async (ctx, { name, session: id = requireSession(ctx).id }) => {
    const { name: before } = await ctx.api.session.find({ wanted: id, directory: ctx.directory });
    const session = await ctx.api.session.rename({ session: id, name });
    // A session without a name can't get that back.
    if (before === null) delete ctx.lastChange;
    else ctx.lastChange = { text: "the rename", takeBack: () => ctx.api.session.rename({ session: id, name: before }) };
    showRenamed(ctx, session);
    ctx.send({ type: "notice", text: `renamed to ${sessionTitle(session)}${before === null ? "" : `; ${wayBack(ctx)}`}` });
  },
  "take back change": async (ctx) => {
    const change = ctx.lastChange;
    if (change === undefined) return ctx.send({ type: "notice", text: "there is no graft, move or rename to take back" });
    const session = await change.takeBack();
    delete ctx.lastChange;
    showRenamed(ctx, session);
    if (session.id === ctx.session?.id) await showSession(ctx, session.id);
    ctx.send({ type: "notice", text: `took back ${plainLine(change.text, 60)} in ${sessionTitle(session)}` });
  },
  archive: async ({ api, send }, { session }) => {
    const archived = await api.session.archive({ session });
    send({ type: "tree", message: { type: "changed" } });
    send({ type: "notice", text: `${sessionTitle(archived)} is archived; restore it with: skein restore ${shortId(archived.id)}` });
  },
  copy: ({ copy, send }, { text, name }) =>
    send({
      type: "notice",
      text: copy(text) ? `copied ${name ?? text}` : `the terminal has no clipboard${name === undefined ? `: ${text}` : ""}`,
    }),
  export: async (ctx, { file }) => {
    const session = requireSession(ctx);
    const path = await ctx.local.exportBranch({ api: ctx.api, session, file: file === "" ? `skein-${shortId(session.id)}.md` : file });
    ctx.send({ type: "notice", text: `saved this branch to ${path}` });
  },
};

function wayBack({ bindings }: EffectContext): string {
  return `u in ${hintFor(bindings, "tree", "Space t")} takes it back`;
}

function showRenamed(ctx: EffectContext, session: Session): void {
  if (session.id === ctx.session?.id) {
    setSession(ctx, session);
    ctx.send({ type: "set", fields: { session } });
  }
  ctx.send({ type: "tree", message: { type: "changed" } });
}

/** Shows a session. An archived one is restored. */
async function goToSession(ctx: EffectContext, target: Session): Promise<void> {
  const session = target.archivedAt === null ? target : await ctx.api.session.restore({ session: target.id });
  await goTo(ctx, session, `now in session ${sessionTitle(session)}; files stay as they are`);
}

async function moveTo(ctx: EffectContext, node: string | null): Promise<void> {
  const { id } = requireSession(ctx);
  const { tip } = await ctx.api.session.find({ wanted: id, directory: ctx.directory });
  const session = await ctx.api.session.move({ session: id, node });
  ctx.lastChange = { text: "the move", takeBack: () => ctx.api.session.move({ session: id, node: tip }) };
  await goTo(ctx, session, `moved to ${node === null ? "the beginning" : shortId(node)}; files stay as they are; ${wayBack(ctx)}`);
}

/** Goes to a session, or to a node if no session matches. */
async function switchTo(ctx: EffectContext, { query }: { query: string }): Promise<void> {
  const { api, directory, session } = ctx;
  try {
    return await goToSession(ctx, await api.session.find({ wanted: query, directory }));
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== "session-unknown" || session === null || !/^[0-9a-f-]{4,36}$/.test(query)) throw error;
  }
  const node = await api.node.find({ wanted: query });
  if (node.tree !== session.tree)
    throw new Fault("node-unknown", `node ${shortId(node.id)} is in another tree`, {
      hint: `${hintFor(ctx.bindings, "tree", "Space t")} shows the nodes of this one`,
    });
  await moveTo(ctx, node.id);
}
