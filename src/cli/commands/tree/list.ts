// skein list: lists the sessions of this project and marks the current one.
import { ago } from "../../../kit/text/duration.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import { countFlag } from "../../parse/args.ts";
import { printableLabel } from "../../print/session-label.ts";
import { stripControls, type Style } from "../../terminal/style.ts";
import { itemTable, type ItemColumn } from "../../terminal/table.ts";
import { reportCommand } from "../report-command.ts";

export const list = reportCommand({
  name: "list",
  summary: "list the sessions of this project",
  usage: "[--all] [--archived] [--names] [--limit n] [--json]",
  flags: [
    { name: "all", summary: "list the sessions of every project, with sub-sessions" },
    { name: "archived", summary: "list deleted sessions, which can be restored" },
    { name: "names", summary: "print only names or short ids, one per line (for shell completion)" },
    { name: "limit", value: "n", summary: "list at most n sessions (default 50)" },
  ],
  async report(args, ctx) {
    const limit = countFlag(args, "limit", 50);
    const all = args.flags["all"] === true;
    const api = await ctx.api();
    const sessions = await api.session.list({
      project: all ? null : ctx.project,
      archived: args.flags["archived"] === true,
      subSessions: all,
      limit: limit + 1,
    });
    const listed = sessions.slice(0, limit);
    if (args.flags["names"]) return { json: listed, text: () => listed.map((session) => `${printableLabel(session)}\n`).join("") };
    return {
      json: listed,
      async text(style) {
        if (listed.length === 0) return all ? "there are no sessions\n" : "there are no sessions in this project (--all shows others)\n";
        const current = await api.session.current({ directory: ctx.cwd });
        return sessionTable(listed, { current: current?.id, all, width: ctx.out.columns, style });
      },
      remarks: (style) => (sessions.length > limit ? style.dim(`more: --limit ${limit * 2}\n`) : ""),
    };
  },
});

type TableContext = { current: string | undefined; all: boolean; width: number; style: Style };

/** Omits the agents if all are native, and the projects unless sessions of all projects are listed. */
function sessionTable(sessions: readonly Session[], { current, all, width, style }: TableContext): string {
  const hasAgents = sessions.some((session) => session.agent !== "native");
  const columns: ItemColumn<Session>[] = [
    { cell: ({ id }) => (id === current ? style.green("*") : " ") },
    { title: "SESSION", cell: ({ id, name }) => (name === null ? shortId(id) : `${stripControls(name)} ${style.dim(shortId(id))}`) },
    { title: "USED", cell: ({ updatedAt }) => ago(Date.now() - updatedAt) },
    ...(hasAgents ? [{ title: "AGENT", cell: ({ agent }: Session) => stripControls(agent) }] : []),
    { title: "MODEL", cell: ({ model }) => stripControls(model ?? "-") },
    ...(all ? [{ title: "PROJECT", cell: ({ project }: Session) => stripControls(project) }] : []),
    { title: "TASK", cell: ({ task }) => stripControls(task ?? "") },
  ];
  return itemTable(sessions, columns, { width, paintTitle: style.dim });
}
