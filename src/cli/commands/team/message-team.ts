// skein team message, stop and clean: sends a message to members, stops a team, deletes team directories.
import { parseDuration } from "../../../kit/text/duration.ts";
import type { Api } from "../../../protocol/api/api.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { messageKinds, type MessageKind, type Priority } from "../../../protocol/team/mail.ts";
import type { TeamCleanResult } from "../../../protocol/team/views.ts";
import type { Args, CommandContext } from "../../parse/command.ts";
import { jsonText } from "../../print/json.ts";
import { stripControls, styleOf } from "../../terminal/style.ts";
import { printableLabel } from "../../print/session-label.ts";
import { findTeam } from "./find-team.ts";

export async function messageTeam(args: Args, ctx: CommandContext): Promise<number> {
  const [, first, second] = args.positionals;
  const [query, text] = second === undefined ? [undefined, first] : [first, second];
  const to = (args.flags["to"] ?? []) as string[];
  if (to.length === 0) throw new Fault("usage", "team message needs --to <who>", { hint: "a member's name or id, a role, or all" });
  if (text === undefined) throw new Fault("usage", "team message needs a text, or - to read it from stdin");
  const kind = (args.flags["kind"] as MessageKind | undefined) ?? "announcement";
  if (!messageKinds.includes(kind)) throw new Fault("usage", `--kind takes ${messageKinds.join(", ")}, not "${kind}"`);
  const body = text === "-" ? await ctx.stdin.text({ wait: true }) : text;
  const api = await ctx.api();
  const session = await findTeam(api, ctx, query);
  const posted = await api.team.message({
    session: session.id,
    to,
    kind,
    priority: (args.flags["priority"] as Priority | undefined) ?? "normal",
    subject: (args.flags["subject"] as string | undefined) ?? "",
    body,
    replyTo: null,
    requiresResponse: args.flags["expect-reply"] === true,
  });
  if (args.flags["json"]) {
    ctx.out.write(jsonText(posted));
    return 0;
  }
  const name = printableLabel(session);
  const when = posted.when === "now" ? "at its next step" : `when the team is resumed: skein team resume ${name}`;
  ctx.out.write(`${posted.id}\n`);
  ctx.err.write(`for ${stripControls(posted.reaches.join(", "))}, ${when}\n`);
  for (const missed of posted.misses)
    ctx.err.write(`${styleOf(ctx.err).yellow("not for")} ${stripControls(missed.to)}: ${missed.reason}\n`);
  return 0;
}

export async function stopTeam(args: Args, ctx: CommandContext): Promise<number> {
  const api = await ctx.api();
  const session = await findTeam(api, ctx, args.positionals[1]);
  await api.team.show({ session: session.id });
  const report = await api.turn.kill({ session: session.id, force: args.flags["force"] === true });
  const name = printableLabel(session);
  if (args.flags["json"]) ctx.out.write(jsonText(report));
  else if (report.outcome === "not-running") ctx.out.write(`team ${name} is not running\n`);
  else ctx.out.write(`stopped team ${name}; the work of its members is kept: skein team resume ${name}\n`);
  return 0;
}

const defaultAge = "7d";

export async function cleanTeams(args: Args, ctx: CommandContext): Promise<number> {
  const age = args.flags["older-than"] as string | undefined;
  const olderThanMs = parseDuration(age ?? defaultAge);
  if (olderThanMs === null) throw new Fault("usage", `--older-than must be a time, not "${age}"`, { hint: "for example 7d, 12h or 0" });
  const [, query] = args.positionals;
  if (query !== undefined && age !== undefined)
    throw new Fault("usage", "a team given by name is cleaned whatever its age: omit --older-than");
  const api = await ctx.api();
  const session = query === undefined ? null : await findTeamId(api, ctx, query);
  const [dryRun, force] = [args.flags["dry-run"] === true, args.flags["force"] === true];
  const report = await api.team.clean({ session, project: ctx.project, olderThanMs, dryRun, force });
  if (args.flags["json"]) ctx.out.write(jsonText(report));
  else printCleaned(report, ctx);
  return report.problems.length === 0 && (query === undefined || report.skipped.length === 0) ? 0 : 1;
}

/** Returns the query itself for a team whose session was purged: only its directory has that id. */
async function findTeamId(api: Api, ctx: CommandContext, query: string): Promise<string> {
  try {
    return (await findTeam(api, ctx, query)).id;
  } catch (error) {
    if (error instanceof Fault && error.code === "session-unknown") return query;
    throw error;
  }
}

function printCleaned({ dryRun, teams, skipped, problems }: TeamCleanResult, ctx: CommandContext): void {
  const style = styleOf(ctx.out);
  for (const team of teams) {
    const label = `${printableLabel(team)}${team.isPurged ? " (its session was purged)" : ""}`;
    ctx.out.write(`${dryRun ? "would remove" : "removed"} ${label}  ${style.dim(stripControls(team.directory))}\n`);
  }
  for (const team of skipped) ctx.out.write(`${style.yellow("kept")} ${printableLabel(team)}: ${team.reason}\n`);
  for (const problem of problems) ctx.err.write(`${styleOf(ctx.err).red("problem")}: ${stripControls(problem)}\n`);
  if (teams.length + skipped.length + problems.length === 0) ctx.out.write("nothing to clean\n");
}
