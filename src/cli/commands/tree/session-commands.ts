// The small commands on sessions: new, use, rename, delete, restore, graft. Each prints one line.
import type { Api } from "../../../protocol/api/api.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { findSession } from "../../parse/find-session.ts";
import { printableLabel } from "../../print/session-label.ts";
import { reportCommand } from "../report-command.ts";

type SessionCommand = {
  name: string;
  summary: string;
  positionals: string[];
  /** Returns the line to print, and the session as it is now. */
  act: (api: Api, session: Session, args: Args, ctx: CommandContext) => Promise<[text: string, session: Session]>;
};

export const create = reportCommand({
  name: "new",
  summary: "start an empty session and use it",
  usage: "[name] [-m vendor/id] [--json]",
  positionals: { min: 0, max: 1 },
  flags: [{ name: "model", short: "m", value: "vendor/id[:effort]", summary: "the model of the session" }],
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
    return { json: session, text: () => `${printableLabel(session)}: a new session on ${session.model ?? "no model"}\n` };
  },
});

export const use = sessionCommand({
  name: "use",
  summary: "make a session the current one, which --continue uses",
  positionals: ["session"],
  async act(api, session, _args, ctx) {
    await api.session.use({ session: session.id, directory: ctx.cwd });
    return [`using ${printableLabel(session)}`, session];
  },
});

export const rename = sessionCommand({
  name: "rename",
  summary: "give a session another name",
  positionals: ["session", "name"],
  async act(api, session, args) {
    const renamed = await api.session.rename({ session: session.id, name: args.positionals[1] as string });
    return [`${printableLabel(session)} is now ${printableLabel(renamed)}`, renamed];
  },
});

export const remove = sessionCommand({
  name: "delete",
  summary: "archive a session; restore brings it back",
  positionals: ["session"],
  async act(api, session) {
    const archived = await api.session.archive({ session: session.id });
    return [`archived ${printableLabel(session)}; skein restore ${shortId(session.id)} brings it back`, archived];
  },
});

export const restore = sessionCommand({
  name: "restore",
  summary: "bring an archived session back",
  positionals: ["session"],
  async act(api, session) {
    if (session.archivedAt === null) throw new Fault("usage", `${printableLabel(session)} is not archived`);
    const restored = await api.session.restore({ session: session.id });
    return [`restored ${printableLabel(restored)}`, restored];
  },
});

export const graft = reportCommand({
  name: "graft",
  summary: "add a branch's conclusion to another session, as one node",
  usage: "<session> [--into session] [--json]",
  positionals: { min: 1, max: 1 },
  flags: [{ name: "into", value: "session", summary: "the session to add it to (default: the project's current one)" }],
  notes: "The next turn there gets it. Moving back in the tree removes it.",
  async report(args, ctx) {
    const api = await ctx.api();
    const from = await findSession(api, ctx, args.positionals[0]);
    const into = await findSession(api, ctx, args.flags["into"] as string | undefined);
    const node = await api.graft.make({ from: from.id, into: into.id });
    return { json: node, text: () => `grafted into ${printableLabel(into)} as ${shortId(node.id)}\n` };
  },
});

function sessionCommand({ positionals, act, ...entry }: SessionCommand): Command {
  return reportCommand({
    ...entry,
    usage: `${positionals.map((word) => `<${word}>`).join(" ")} [--json]`,
    positionals: { min: positionals.length, max: positionals.length },
    async report(args, ctx) {
      const api = await ctx.api();
      const [text, json] = await act(api, await findSession(api, ctx, args.positionals[0]), args, ctx);
      return { json, text: () => `${text}\n` };
    },
  });
}
