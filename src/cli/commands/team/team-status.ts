// skein team status: prints the state of a team, and the commands that show more of it.
import { oneLine } from "../../../kit/text/cut-text.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { refusedFilesText, type SentMessage } from "../../../protocol/team/mail.ts";
import type { MemberRecord } from "../../../protocol/team/team.ts";
import { teamStatusRecord } from "../../../protocol/json/team-records.ts";
import { lastStatusLine, unmergedWork, type TeamView } from "../../../protocol/team/views.ts";
import { zeroSpent } from "../../../protocol/tree/usage.ts";
import type { Args, CommandContext } from "../../parse/command.ts";
import { jsonText } from "../../print/json.ts";
import { stripControls, styleOf, type Style } from "../../terminal/style.ts";
import { agentOf, memberName, spentText } from "./board.ts";
import { paintState } from "./list-teams.ts";
import { printableLabel } from "../../print/session-label.ts";
import { findTeam } from "./find-team.ts";

const shortListLength = 5;

export async function showTeam(args: Args, ctx: CommandContext): Promise<number> {
  const api = await ctx.api();
  const session = await findTeam(api, ctx, args.positionals[1]);
  const view = await api.team.show({ session: session.id });
  const all = args.flags["messages"] === true;
  if (args.flags["json"]) ctx.out.write(jsonText(teamStatusRecord(view, all ? {} : { messages: shortListLength })));
  else ctx.out.write(`${statusLines(view, { all, style: styleOf(ctx.out) }).join("\n")}\n`);
  return 0;
}

export function statusLines(view: TeamView, { all, style }: { all: boolean; style: Style }): string[] {
  const { team, session, state, spent, run } = view;
  const name = printableLabel(session);
  const reason =
    state === "failed" && team.end?.event === "session_failed" ? team.end.reason : state === "completed" ? "" : (run.error?.message ?? "");
  return [
    `${style.bold(`team ${name}`)} ${paintState(state, style)} · ${team.wish.strategy} · ${spentText(spent)} · ${shortId(session.id)}`,
    `  ${stripControls(oneLine(team.wish.objective, 400))}`,
    ...(reason === "" ? [] : [style.red(`  ${stripControls(reason)}`)]),
    style.dim(`  ${view.isKept ? stripControls(team.directory) : "its directory was cleaned"}`),
    ...team.phases.flatMap((phase, index) => phaseLines(view, phase, index, style)),
    ...(state === "planning" ? ["", style.cyan("the planner is planning the next phase")] : []),
    ...messageLines(view, all ? Number.POSITIVE_INFINITY : shortListLength, style),
    ...refusedLines(view, all ? Number.POSITIVE_INFINITY : shortListLength).map((line) => style.yellow(line)),
    "",
    ...nextLines(view, name).map((line) => style.dim(line)),
  ];
}

function phaseLines(view: TeamView, phase: TeamView["team"]["phases"][number], index: number, style: Style): string[] {
  const { plan, isOver, conflicts, members, commit } = phase;
  const state = isOver ? `ended${commit === null ? "" : `, ${commit.slice(0, 8)}`}` : "open";
  return [
    "",
    `${style.bold(`phase ${index + 1}: ${stripControls(plan.name).replace(/^\d+: /, "")}`)} ${style.dim(state)}`,
    ...members.flatMap((member) => memberLines(view, member, style)),
    ...conflicts.map(({ agent, paths }) =>
      style.red(`  conflict: the work of ${memberName(view.team, agent)} in ${stripControls(paths.join(", "))}`),
    ),
  ];
}

function memberLines(view: TeamView, member: MemberRecord, style: Style): string[] {
  const stats = view.members.find(({ id }) => id === member.id);
  const { plan, state, attempts, workspace, ended, artifacts } = member;
  const paint = { waiting: style.dim, running: style.green, completed: style.green, failed: style.red }[state];
  const attempt = attempts > 1 ? ` · try ${attempts}` : "";
  const status = oneLine(lastStatusLine(member), 300);
  return [
    `  ${style.bold(stripControls(plan.key))} ${paint(state)} · ${plan.role} · ${agentOf(member)}${attempt} · ${spentText(stats?.spent ?? zeroSpent)}`,
    style.dim(
      `    ${member.id} · session ${shortId(member.session)} · ${workspace.kind}${workspace.branch === null ? "" : ` ${workspace.branch}`}${ended?.commit ? ` ${ended.commit.slice(0, 8)}` : ""}`,
    ),
    ...(status === "" ? [] : [`    ${stripControls(status)}`]),
    ...artifacts.map(
      ({ path, description }) =>
        `    created ${stripControls(path)}${description === "" ? "" : `: ${stripControls(oneLine(description, 200))}`}`,
    ),
    ...(stats?.asks ?? []).map(({ id, question }) =>
      style.yellow(`    asks: ${stripControls(oneLine(question, 200))} (skein answer ${shortId(id)} <text>)`),
    ),
  ];
}

function messageLines(view: TeamView, limit: number, style: Style): string[] {
  const { messages } = view.team;
  if (messages.length === 0) return [];
  const listed = messages.slice(Math.max(0, messages.length - limit));
  const head = listed.length < messages.length ? `${listed.length} of ${messages.length} messages (--messages shows all)` : "messages";
  return ["", style.bold(head), ...listed.map((sent) => messageLine(view, sent, style))];
}

function refusedLines(view: TeamView, limit: number): string[] {
  const { refused } = view.team;
  const listed = refused.slice(Math.max(0, refused.length - limit));
  const more = refused.length - listed.length;
  return [
    ...(more === 0 ? [] : [`  ${more} more were refused (--messages shows all)`]),
    ...listed.map(
      (mail) =>
        `  refused from ${memberName(view.team, mail.from)}: ${stripControls(refusedFilesText(mail))}: ${stripControls(mail.reason)}`,
    ),
  ];
}

function messageLine(view: TeamView, { from, to, kind, subject, body, undelivered }: SentMessage, style: Style): string {
  const missed =
    undelivered.length === 0 ? "" : style.yellow(` (not to ${undelivered.map((each) => memberName(view.team, each.to)).join(", ")})`);
  const text = [subject, body].filter((part) => part !== "").join(": ");
  return `  ${memberName(view.team, from)} to ${to.map((each) => memberName(view.team, each)).join(", ")} ${style.dim(kind)} ${stripControls(oneLine(text, 300))}${missed}`;
}

function nextLines({ state, merge, isKept, session, team }: TeamView, name: string): string[] {
  const id = shortId(session.id);
  const lines = [`skein show ${id}, skein logs <session> show every prompt, message and event`];
  if (["planning", "running", "paused"].includes(state))
    return [`skein team message ${name} --to <member> "text" · skein team stop ${name}`, ...lines];
  if (!isKept) return lines;
  if (state === "failed" || state === "interrupted") lines.unshift(`skein team resume ${name} continues where it stopped`);
  if (merge === "open") lines.unshift(`skein team merge ${name} shows its work and merges it into the project`);
  if (unmergedWork(team) === null) lines.push(`skein team clean ${name} deletes its directory`);
  return lines;
}
