// skein show: prints the tree of a session, with sessions as labels on their tips.
import { withInterrupted } from "../../../protocol/tree/interrupted-nodes.ts";
import { treeText } from "../../print/tree.ts";
import { sessionReport } from "../report-command.ts";

export const show = sessionReport({
  name: "show",
  summary: "show the tree of a session, with every branch",
  usage: "[session] [--json]",
  positionals: { min: 0, max: 1 },
  async report({ api, session, ctx }) {
    const view = await api.session.tree({ session: session.id });
    const { sessions, nodes, turns, interrupted = [] } = view;
    return {
      json: { sessions, nodes, turns, interrupted },
      text: () => (nodes.length === 0 ? "this session has no messages yet\n" : `${treeText(withInterrupted(view), ctx.out)}\n`),
    };
  },
});
