// skein list: lists the sessions of this project and marks the current one.
import { oneLine } from "../../../kit/text/cut-text.ts";
import { ago } from "../../../kit/text/duration.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import { agentsFlag, agentsOf, listWithTranscripts } from "./list-transcripts.ts";
import { countFlag } from "../../parse/args.ts";
import { printableLabel } from "../../print/session-label.ts";
import { stripControls, type Style } from "../../terminal/style.ts";
import { fittingColumns, itemTable, type DroppableColumn } from "../../terminal/table.ts";
import { reportCommand } from "../report-command.ts";

export const list = reportCommand({
  name: "list",
  summary: "list the sessions of this project",
  usage: "[--all] [--agents all|name,...] [--archived] [--names] [--limit n] [--json]",
  surplusHint: "`skein show <session>` shows one, `skein search <words>` finds words, `skein fork --name <name>` starts a branch",
  flags: [
    { name: "all", summary: "list the sessions of every project, with sub-sessions" },
    agentsFlag,
    { name: "archived", summary: "list deleted sessions, which can be restored" },
    { name: "names", summary: "print only names or short ids, one per line (for shell completion)" },
    { name: "limit", value: "n", summary: "list at most n sessions (default 50)" },
  ],
  notes: `TASK is the message of the session's latest turn. A narrow terminal shows fewer
columns. --agents also lists the sessions that Claude Code, Codex, Gemini CLI, opencode
and pi keep on this machine. Their files are only read. Every command takes the id of
such a session; its first use imports it.`,
  async report(args, ctx) {
    const limit = countFlag(args, "limit", 50);
    const all = args.flags["all"] === true;
    const agents = agentsOf(args);
    const api = await ctx.api();
    if (agents !== null) return listWithTranscripts(args, ctx, { agents, limit });
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

/** Omits the agents if all are native, and the projects unless sessions of all projects are listed. TASK is the latest message. */
function sessionTable(sessions: readonly Session[], { current, all, width, style }: TableContext): string {
  const hasAgents = sessions.some((session) => session.agent !== "native");
  const agent = ({ agent: name }: Session) => (hasAgents ? stripControls(name) : "");
  const columns: DroppableColumn<Session>[] = [
    { title: "", dropOrder: 0, cell: ({ id }) => (id === current ? style.green("*") : " ") },
    {
      title: "SESSION",
      dropOrder: 0,
      cell: ({ id, name }) => (name === null ? shortId(id) : `${oneLine(stripControls(name), maxName)} ${style.dim(shortId(id))}`),
    },
    { title: "USED", dropOrder: 1, cell: ({ updatedAt }) => ago(Date.now() - updatedAt) },
    { title: "AGENT", dropOrder: 2, cell: agent },
    { title: "MODEL", dropOrder: 3, cell: ({ model }) => stripControls(model?.replace(/^[^/]*\//, "") ?? "-") },
    { title: "PROJECT", dropOrder: 0, cell: ({ project }) => (all ? stripControls(project) : "") },
    { title: "TASK", dropOrder: 0, cell: ({ latestPrompt, task }) => oneLine(stripControls(latestPrompt ?? task ?? ""), 200) },
  ];
  return itemTable(sessions, fittingColumns(columns, sessions, width), { width, paintTitle: style.dim });
}

const maxName = 32;
