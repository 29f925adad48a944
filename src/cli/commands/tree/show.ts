// skein show: prints the tree of a session, with sessions as labels on their tips.
import { nodeRecord, sessionRecord, turnRecord } from "../../../protocol/json/records.ts";
import { jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { findSession } from "../../parse/find-session.ts";
import { jsonText } from "../../print/json.ts";
import { treeText } from "../../print/tree.ts";

export const show: Command = {
  name: "show",
  summary: "show the tree of a session, with every branch",
  usage: "[session] [--json]",
  positionals: { min: 0, max: 1 },
  flags: [jsonFlag],
  run: runShow,
};

async function runShow(args: Args, ctx: CommandContext): Promise<number> {
  const api = await ctx.api();
  const session = await findSession(api, ctx, args.positionals[0]);
  const view = await api.session.tree({ session: session.id });
  if (args.flags["json"]) {
    ctx.out.write(
      jsonText({ sessions: view.sessions.map(sessionRecord), nodes: view.nodes.map(nodeRecord), turns: view.turns.map(turnRecord) }),
    );
    return 0;
  }
  ctx.out.write(view.nodes.length === 0 ? "this session has no messages yet\n" : `${treeText(view, ctx.out)}\n`);
  return 0;
}
