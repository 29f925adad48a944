// The small commands on sessions: new, use, rename, delete, restore, graft. Each prints one line.
import { Fault } from "../../../protocol/api/error.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { findSession } from "../../parse/find-session.ts";
import { printableLabel } from "../../print/session-label.ts";
import { reportCommand, sessionReport } from "../report-command.ts";

export const create = reportCommand({
  name: "new",
  summary: "start an empty session and use it",
  usage: "[name] [-m model] [--json]",
  positionals: { min: 0, max: 1 },
  flags: [{ name: "model", short: "m", value: "model", summary: "the model of the session: vendor/id[:effort], or an alias" }],
  async report({ positionals: [name], flags }, ctx) {
    const api = await ctx.api();
    const { agent, toolLevel } = await api.config.values();
    const session = await api.session.open({
      find: { by: "new" },
      ...(name === undefined ? {} : { name }),
      directory: ctx.cwd,
      task: null,
      agent,
      model: (flags["model"] as string | undefined) ?? null,
      toolLevel,
      parentSession: null,
      transcriptDir: null,
    });
    return {
      json: session,
      text: `${printableLabel(session)}: a new session on ${session.model ?? `${agent}; its first turn chooses the model`}\n`,
    };
  },
});

export const use = sessionReport({
  name: "use",
  summary: "make a session the current one, which --continue uses",
  usage: "<session> [--json]",
  surplusHint: "`skein files restore <node>` restores files",
  async report({ api, session, ctx }) {
    await api.session.use({ session: session.id, directory: ctx.cwd });
    return { json: session, text: `using ${printableLabel(session)}\n` };
  },
});

export const rename = sessionReport({
  name: "rename",
  summary: "give a session another name",
  usage: "<session> <name> [--json]",
  positionals: { min: 2, max: 2 },
  async report({ api, session, args }) {
    const renamed = await api.session.rename({ session: session.id, name: args.positionals[1] as string });
    return { json: renamed, text: `${printableLabel(session)} is now ${printableLabel(renamed)}\n` };
  },
});

export const remove = sessionReport({
  name: "delete",
  summary: "archive a session; restore brings it back",
  usage: "<session> [--json]",
  async report({ api, session }) {
    const archived = await api.session.archive({ session: session.id });
    return { json: archived, text: `archived ${printableLabel(session)}; skein restore ${shortId(session.id)} brings it back\n` };
  },
});

export const restore = sessionReport({
  name: "restore",
  summary: "bring an archived session back",
  usage: "<session> [--json]",
  listing: "`skein list --archived` lists archived sessions; `skein files restore <node>` restores files",
  async report({ api, session }) {
    if (session.archivedAt === null) throw new Fault("usage", `${printableLabel(session)} is not archived`);
    const restored = await api.session.restore({ session: session.id });
    return { json: restored, text: `restored ${printableLabel(restored)}\n` };
  },
});

export const graft = sessionReport({
  name: "graft",
  summary: "add a branch's conclusion to another session, as one node",
  usage: "<session> [--into session] [--json]",
  flags: [{ name: "into", value: "session", summary: "the session that gets the conclusion (default: the project's current one)" }],
  notes:
    "The next turn of the --into session gets the conclusion. If that session moves back before the new node, later turns do not get it.",
  async report({ api, session: from, args, ctx }) {
    const into = await findSession(api, ctx, args.flags["into"] as string | undefined);
    const node = await api.graft.make({ from: from.id, into: into.id });
    return { json: node, text: `grafted into ${printableLabel(into)} as ${shortId(node.id)}\n` };
  },
});
