// skein list: lists the sessions of this project and marks the current one.
import { printableLabel } from "../../print/session-label.ts";
import { ago } from "../../../kit/text/duration.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { sessionRecord } from "../../../protocol/json/records.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import { countFlag, jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { jsonText } from "../../print/json.ts";
import { stripControls, styleOf } from "../../terminal/style.ts";
import { tableText } from "../../terminal/table.ts";

export const list: Command = {
  name: "list",
  summary: "list the sessions of this project",
  usage: "[--all] [--archived] [--names] [--limit n] [--json]",
  positionals: { min: 0, max: 0 },
  flags: [
    { name: "all", summary: "list the sessions of every project, with sub-sessions" },
    { name: "archived", summary: "list deleted sessions, which can be restored" },
    { name: "names", summary: "print only names or short ids, one per line (for shell completion)" },
    { name: "limit", value: "n", summary: "list at most n sessions (default 50)" },
    jsonFlag,
  ],
  run: runList,
};

async function runList(args: Args, ctx: CommandContext): Promise<number> {
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
  if (args.flags["names"]) {
    for (const session of listed) ctx.out.write(`${printableLabel(session)}\n`);
    return 0;
  }
  if (args.flags["json"]) {
    ctx.out.write(jsonText(listed.map(sessionRecord)));
    return 0;
  }
  if (listed.length === 0) ctx.out.write(all ? "there are no sessions\n" : "there are no sessions in this project (--all shows others)\n");
  const current = await api.session.current({ directory: ctx.cwd });
  const style = styleOf(ctx.out);
  const isMixed = listed.some((session) => session.agent !== "native");
  const rows = listed.map((session) => rowCells(session, { isCurrent: session.id === current?.id, isMixed, all }, style));
  const columns = [
    {},
    { title: "SESSION" },
    { title: "USED" },
    ...(isMixed ? [{ title: "AGENT" }] : []),
    { title: "MODEL" },
    ...(all ? [{ title: "PROJECT" }] : []),
    { title: "TASK" },
  ];
  ctx.out.write(tableText(rows, { columns, width: ctx.out.columns, paintTitle: style.dim }));
  if (sessions.length > limit) ctx.err.write(style.dim(`more: --limit ${limit * 2}\n`));
  return 0;
}

type RowOptions = { isCurrent: boolean; isMixed: boolean; all: boolean };

function rowCells(session: Session, { isCurrent, isMixed, all }: RowOptions, style: ReturnType<typeof styleOf>): string[] {
  const name = session.name === null ? shortId(session.id) : `${stripControls(session.name)} ${style.dim(shortId(session.id))}`;
  const used = ago(Date.now() - session.updatedAt);
  const project = all ? [stripControls(session.project)] : [];
  const agent = isMixed ? [stripControls(session.agent)] : [];
  return [
    isCurrent ? style.green("*") : " ",
    name,
    used,
    ...agent,
    stripControls(session.model ?? "-"),
    ...project,
    stripControls(session.task ?? ""),
  ];
}
