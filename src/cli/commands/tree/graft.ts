// skein graft: adds the conclusion of one branch to another.
import { shortId } from "../../../protocol/tree/node.ts";
import { findSession } from "../../parse/find-session.ts";
import { printableLabel } from "../../print/session-label.ts";
import { reportCommand } from "../report-command.ts";

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
