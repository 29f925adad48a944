// skein team status: everything that is known of a team, and where the rest of it is to be seen.
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
import { agentOf, spentText } from "./board.ts";
import { paintState } from "./list-teams.ts";
import { sessionLabel, findTeam } from "./find-team.ts";

const fewMessages = 5;

export async function showTeam(args: Args, ctx: CommandContext): Promise<number> {
  const api = await ctx.api();
  const session = await findTeam(api, ctx, args.positionals[1]);
  const view = await api.team.show({ session: session.id });
  const all = args.flags["messages"] === true;
  if (args.flags["json"]) ctx.out.write(jsonText(teamStatusRecord(view, all ? {} : { messages: fewMessages })));
  else ctx.out.write(`${statusLines(view, { all, style: styleOf(ctx.out) }).join("\n")}\n`);
  return 0;
}

export function statusLines(view: TeamView, { all, style }: { all: boolean; style: Style }): string[] {
  const { team, session, state, spent, run } = view;
  const name = sessionLabel(session);
  const why =
    state === "failed" && team.end?.event === "session_failed" ? team.end.reason : state === "completed" ? "" : (run.error?.message ?? "");
  return [
    `${style.bold(`team ${name}`)} ${paintState(state, style)} · ${team.wish.strategy} · ${spentText(spent)} · ${shortId(session.id)}`,
    `  ${stripControls(oneLine(team.wish.objective, 400))}`,
    ...(why === "" ? [] : [style.red(`  ${stripControls(why)}`)]),
    style.dim(`  ${view.isKept ? stripControls(team.directory) : "its directory was cleaned away"}`),
    ...team.phases.flatMap((phase, at) => phaseLines(view, phase, at, style)),
    ...(state === "planning" ? ["", style.cyan("the planner thinks about what comes next")] : []),
    ...messageLines(view, all ? Number.POSITIVE_INFINITY : fewMessages, style),
    ...refusedLines(view, all ? Number.POSITIVE_INFINITY : fewMessages).map((line) => style.yellow(line)),
    "",
    ...nextLines(view, name).map((line) => style.dim(line)),
  ];
}

function phaseLines(view: TeamView, phase: TeamView["team"]["phases"][number], at: number, style: Style): string[] {
  const { plan, isOver, conflicts, members, commit } = phase;
  const stamp = isOver ? `over${commit === null ? "" : `, ${commit.slice(0, 8)}`}` : "open";
  return [
    "",
    `${style.bold(`phase ${at + 1}: ${stripControls(plan.name).replace(/^\d+: /, "")}`)} ${style.dim(stamp)}`,
    ...members.flatMap((member) => memberLines(view, member, style)),
    ...conflicts.map(({ agent, paths }) =>
      style.red(`  conflict: the work of ${nameOf(view, agent)} in ${stripControls(paths.join(", "))}`),
    ),
  ];
}

function memberLines(view: TeamView, member: MemberRecord, style: Style): string[] {
  const used = view.members.find(({ id }) => id === member.id);
  const { plan, state, attempts, workspace, ended, artifacts } = member;
  const paint = { waiting: style.dim, running: style.green, completed: style.green, failed: style.red }[state];
  const tries = attempts > 1 ? ` · try ${attempts}` : "";
  const word = oneLine(lastStatusLine(member), 300);
  return [
    `  ${style.bold(stripControls(plan.key))} ${paint(state)} · ${plan.role} · ${agentOf(member)}${tries} · ${spentText(used?.spent ?? zeroSpent)}`,
    style.dim(
      `    ${member.id} · session ${shortId(member.session)} · ${workspace.kind}${workspace.branch === null ? "" : ` ${workspace.branch}`}${ended?.commit ? ` ${ended.commit.slice(0, 8)}` : ""}`,
    ),
    ...(word === "" ? [] : [`    ${stripControls(word)}`]),
    ...artifacts.map(
      ({ path, description }) =>
        `    made ${stripControls(path)}${description === "" ? "" : `: ${stripControls(oneLine(description, 200))}`}`,
    ),
    ...(used?.asks ?? []).map(({ id, question }) =>
      style.yellow(`    asks: ${stripControls(oneLine(question, 200))} (skein answer ${shortId(id)} <text>)`),
    ),
  ];
}

function messageLines(view: TeamView, most: number, style: Style): string[] {
  const { messages } = view.team;
  if (messages.length === 0) return [];
  const shown = messages.slice(Math.max(0, messages.length - most));
  const head = shown.length < messages.length ? `${shown.length} of ${messages.length} messages (--messages shows all)` : "messages";
  return ["", style.bold(head), ...shown.map((sent) => messageLine(view, sent, style))];
}

function refusedLines(view: TeamView, most: number): string[] {
  const { refused } = view.team;
  const shown = refused.slice(Math.max(0, refused.length - most));
  const more = refused.length - shown.length;
  return [
    ...(more === 0 ? [] : [`  ${more} more were refused (--messages shows all)`]),
    ...shown.map(
      (each) => `  refused from ${nameOf(view, each.from)}: ${stripControls(refusedFilesText(each))}: ${stripControls(each.reason)}`,
    ),
  ];
}

function messageLine(view: TeamView, { from, to, kind, subject, body, undelivered }: SentMessage, style: Style): string {
  const missed = undelivered.length === 0 ? "" : style.yellow(` (not to ${undelivered.map((each) => nameOf(view, each.to)).join(", ")})`);
  const text = [subject, body].filter((part) => part !== "").join(": ");
  return `  ${nameOf(view, from)} to ${to.map((each) => nameOf(view, each)).join(", ")} ${style.dim(kind)} ${stripControls(oneLine(text, 300))}${missed}`;
}

function nameOf({ team }: TeamView, id: string): string {
  return stripControls(team.phases.flatMap(({ members }) => members).find((member) => member.id === id)?.plan.key ?? id);
}

function nextLines({ state, merge, isKept, session, team }: TeamView, name: string): string[] {
  const id = shortId(session.id);
  const lines = [`skein show ${id}, skein logs <session> have every prompt, message and event`];
  if (["planning", "running", "paused"].includes(state))
    return [`skein team message ${name} --to <member> "text" · skein team stop ${name}`, ...lines];
  if (!isKept) return lines;
  if (state === "failed" || state === "interrupted") lines.unshift(`skein team resume ${name} goes on where it stopped`);
  if (merge === "open") lines.unshift(`skein team merge ${name} shows its work and brings it into the project`);
  if (unmergedWork(team) === null) lines.push(`skein team clean ${name} takes its directory away`);
  return lines;
}
