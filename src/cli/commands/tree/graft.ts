// skein graft: adds the conclusion of one branch to another.
import { printableLabel } from "../../print/session-label.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { nodeRecord } from "../../../protocol/json/records.ts";
import { jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { findSession } from "../../parse/find-session.ts";
import { jsonText } from "../../print/json.ts";

export const graft: Command = {
  name: "graft",
  summary: "add a branch's conclusion to another session, as one node",
  usage: "<session> [--into session] [--json]",
  positionals: { min: 1, max: 1 },
  flags: [{ name: "into", value: "session", summary: "the session to add it to (default: the project's current one)" }, jsonFlag],
  notes: "The next turn there gets it. Moving back in the tree removes it.",
  run: runGraft,
};

async function runGraft(args: Args, ctx: CommandContext): Promise<number> {
  const api = await ctx.api();
  const from = await findSession(api, ctx, args.positionals[0]);
  const into = await findSession(api, ctx, args.flags["into"] as string | undefined);
  const node = await api.graft.make({ from: from.id, into: into.id });
  ctx.out.write(args.flags["json"] ? jsonText(nodeRecord(node)) : `grafted into ${printableLabel(into)} as ${shortId(node.id)}\n`);
  return 0;
}
