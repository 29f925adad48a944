// skein team status: prints the state of a team, and the commands that show more of it.
import { oneLine } from "../../../kit/text/cut-text.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { refusedFilesText } from "../../../protocol/team/mail.ts";
import type { MemberRecord } from "../../../protocol/team/team.ts";
import { teamStatusRecord } from "../../../protocol/json/team-records.ts";
import { lastStatusLine, unmergedWork, type TeamView } from "../../../protocol/team/views.ts";
import { zeroSpent } from "../../../protocol/tree/usage.ts";
import type { Args, CommandContext } from "../../parse/command.ts";
import { jsonText } from "../../print/json.ts";
import { stripControls, styleOf, type Style } from "../../terminal/style.ts";
import { agentOf, memberName, phaseName, spentText } from "./board.ts";
import { paintState } from "./list-teams.ts";
import { printableLabel } from "../../print/session-label.ts";
import { findTeam } from "./find-team.ts";

const shortListLength = 5;

export async function showTeam(args: Args, ctx: CommandContext): Promise<number> {
  const api = await ctx.api();
  const session = await findTeam(api, ctx, args.positionals[1]);
  const view = await api.team.show({ session: session.id });
  const maxMessages = args.flags["messages"] ? Number.POSITIVE_INFINITY : shortListLength;
  if (args.flags["json"]) ctx.out.write(jsonText(teamStatusRecord(view, { messages: maxMessages })));
  else ctx.out.write(`${statusLines(view, maxMessages, styleOf(ctx.out)).join("\n")}\n`);
  return 0;
}

function statusLines(view: TeamView, maxMessages: number, style: Style): string[] {
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
    ...messageLines(view, maxMessages, style),
    ...refusedLines(view, maxMessages).map(style.yellow),
    "",
    ...nextLines(view, name).map(style.dim),
  ];
}

function phaseLines(view: TeamView, phase: TeamView["team"]["phases"][number], index: number, style: Style): string[] {
  const { plan, isOver, conflicts, members, commit } = phase;
  const state = isOver ? `ended${commit === null ? "" : `, ${commit.slice(0, 8)}`}` : "open";
  return [
    "",
    `${style.bold(`phase ${index + 1}: ${phaseName(plan)}`)} ${style.dim(state)}`,
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

function messageLines({ team }: TeamView, limit: number, style: Style): string[] {
  const total = team.messages.length;
  if (total === 0) return [];
  const namesOf = (ids: string[]) => ids.map((id) => memberName(team, id)).join(", ");
  const listed = team.messages.slice(-limit);
  const lines = listed.map(({ from, to, kind, subject, body, undelivered }) => {
    const missed = undelivered.length === 0 ? "" : style.yellow(` (not to ${namesOf(undelivered.map((addressee) => addressee.to))})`);
    const text = [subject, body].filter((part) => part !== "").join(": ");
    return `  ${namesOf([from])} to ${namesOf(to)} ${style.dim(kind)} ${stripControls(oneLine(text, 300))}${missed}`;
  });
  return ["", style.bold(listed.length < total ? `${listed.length} of ${total} messages (--messages shows all)` : "messages"), ...lines];
}

function refusedLines({ team }: TeamView, limit: number): string[] {
  const listed = team.refused.slice(-limit);
  const more = team.refused.length - listed.length;
  const lines = listed.map((mail) => `${memberName(team, mail.from)}: ${stripControls(`${refusedFilesText(mail)}: ${mail.reason}`)}`);
  return [...(more === 0 ? [] : [`  ${more} more were refused (--messages shows all)`]), ...lines.map((line) => `  refused from ${line}`)];
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
