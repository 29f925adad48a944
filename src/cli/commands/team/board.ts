// Renders a team as a few lines: phases, members, the last status of each and its usage. Pure: depends only on the
// view, the size and the time. If rows are missing, ended phases are omitted first, then waiting members.
import { costText } from "../../../protocol/tree/usage-text.ts";
import { formatElapsed } from "../../../kit/text/duration.ts";
import { pluralize, oneLine, shortCount } from "../../../kit/text/cut-text.ts";
import { membersOf, type MemberRecord } from "../../../protocol/team/team.ts";
import { lastStatusLine, type MemberStats, type TeamView } from "../../../protocol/team/views.ts";
import { countedTokens, zeroSpent, type Spent } from "../../../protocol/tree/usage.ts";
import { stripControls, type Style } from "../../terminal/style.ts";
import { cutToWidth } from "../../terminal/table.ts";
import { printableLabel } from "../../print/session-label.ts";

export type BoardOptions = { style: Style; columns: number; rows: number; unicode: boolean; now: number };

type Phase = TeamView["team"]["phases"][number];
type BoardLine = { text: string; rank: Rank };
/** The order in which lines are omitted: ended, then waiting. */
type Rank = "head" | "ended" | "waiting" | "working";

export function boardLines(view: TeamView, options: BoardOptions): string[] {
  const { team } = view;
  const widths = widthsOf(view);
  const lines: BoardLine[] = [{ text: headLine(view, options), rank: "head" }];
  for (const [index, phase] of team.phases.entries()) {
    lines.push({ text: phaseLine(phase, index, options), rank: "head" });
    for (const member of phase.members) lines.push({ text: memberLine(member, view, widths, options), rank: rankOf(phase, member) });
  }
  if (view.state === "planning")
    lines.push({ text: options.style.cyan(`${mark("working", options)} the planner is planning the next phase`), rank: "working" });
  const latest = team.messages.at(-1);
  if (latest !== undefined && view.state === "running") lines.push({ text: options.style.dim(messageLine(latest, view)), rank: "ended" });
  return fitRows(lines, options).map((line) => cutToWidth(line, options.columns));
}

function fitRows(lines: BoardLine[], { rows, style }: BoardOptions): string[] {
  let visible = lines;
  for (const rank of ["ended", "waiting"] as const) if (visible.length > rows) visible = visible.filter((line) => line.rank !== rank);
  const texts = visible.map(({ text }) => text);
  if (texts.length <= rows) return texts;
  return [...texts.slice(0, Math.max(1, rows - 1)), style.dim(`  and ${texts.length - rows + 1} more lines: skein team status`)];
}

function rankOf({ isOver }: Phase, { state }: MemberRecord): Rank {
  return isOver ? "ended" : state === "waiting" ? "waiting" : "working";
}

function headLine({ session, state, team, run, spent, members }: TeamView, { style, now }: BoardOptions): string {
  const paint = { planning: style.cyan, running: style.green, paused: style.yellow, completed: style.green }[state as string] ?? style.red;
  const asks = members.reduce((sum, stats) => sum + stats.asks.length, 0);
  const facts = [
    `${style.bold(`team ${printableLabel(session)}`)} ${paint(state)}`,
    formatElapsed((run.endedAt ?? now) - run.startedAt),
    spentText(spent),
    ...(team.messages.length === 0 ? [] : [pluralize(team.messages.length, "message")]),
    ...(asks === 0 ? [] : [style.yellow(`${pluralize(asks, "question")}: skein asks`)]),
    style.dim(oneLine(stripControls(team.wish.objective), 200)),
  ];
  return facts.join(" · ");
}

function phaseLine({ plan, isOver, conflicts, members }: Phase, index: number, { style }: BoardOptions): string {
  const done = members.filter(({ state }) => state === "completed").length;
  const progress = isOver ? "ended" : `${done} of ${plan.members.length} done`;
  const conflictText = conflicts.length === 0 ? "" : style.red(`, ${pluralize(conflicts.length, "conflict")}`);
  return `${style.bold(`${index + 1} ${oneLine(phaseName(plan), 60)}`)} ${style.dim(progress)}${conflictText}`;
}

/** Removes the number that a plan made from --agents has in its names: the line already has one. */
export function phaseName({ name }: Phase["plan"]): string {
  return stripControls(name).replace(/^\d+: /, "");
}

function widthsOf({ team, members }: TeamView) {
  const widest = (limit: number, texts: string[]) => Math.min(limit, Math.max(0, ...texts.map((text) => Bun.stringWidth(text))));
  const keys = membersOf(team).map(({ plan }) => stripControls(plan.key));
  const figures = members.map(({ spent }) => shortFigures(spent));
  return { key: widest(20, keys), agent: widest(14, membersOf(team).map(agentOf)), figures: widest(24, figures) };
}

function memberLine(member: MemberRecord, view: TeamView, widths: ReturnType<typeof widthsOf>, options: BoardOptions): string {
  const { style, now } = options;
  const stats: Partial<MemberStats> = view.members.find(({ id }) => id === member.id) ?? {};
  const startedAt = stats.startedAt ?? null;
  const until = member.state === "running" ? now : (stats.endedAt ?? null);
  const time = startedAt === null || until === null ? "" : formatElapsed(until - startedAt);
  const attempt = member.attempts > 1 ? style.yellow(` try ${member.attempts}`) : "";
  const ask = stats.asks?.at(-1);
  const status =
    ask === undefined
      ? stripControls(oneLine(lastStatusLine(member), 400))
      : style.yellow(`asks: ${stripControls(oneLine(ask.question, 200))}`);
  const cells = [
    padToWidth(stripControls(member.plan.key), widths.key),
    style.dim(padToWidth(agentOf(member), widths.agent)),
    (startedAt === null ? "" : shortFigures(stats.spent ?? zeroSpent)).padStart(widths.figures),
    time.padStart(6),
  ];
  return `  ${mark(member.state, options)} ${cells.join("  ")}${attempt}  ${member.state === "failed" ? style.red(status) : status}`.trimEnd();
}

const marks = {
  waiting: { unicode: "○", ascii: ".", paint: "dim" },
  running: { unicode: "●", ascii: "*", paint: "green" },
  working: { unicode: "●", ascii: "*", paint: "cyan" },
  completed: { unicode: "✓", ascii: "+", paint: "green" },
  failed: { unicode: "✗", ascii: "x", paint: "red" },
} as const;

function mark(state: keyof typeof marks, { style, unicode }: BoardOptions): string {
  const { paint, ...sign } = marks[state];
  return style[paint](unicode ? sign.unicode : sign.ascii);
}

export function agentOf({ agent, model }: Pick<MemberRecord, "agent" | "model">): string {
  return stripControls(agent ?? model?.split("/").at(-1) ?? "native");
}

function messageLine({ from, to, subject, body }: TeamView["team"]["messages"][number], { team }: TeamView): string {
  return `${memberName(team, from)} to ${to.map((id) => memberName(team, id)).join(", ")}: ${stripControls(oneLine(subject || body, 200))}`;
}

/** The key of a member in the plan, or the id if it is no member. */
export function memberName(team: TeamView["team"], id: string): string {
  return stripControls(membersOf(team).find((member) => member.id === id)?.plan.key ?? id);
}

export function spentText(spent: Spent): string {
  return shortFigures(spent).replace(" ", " tokens ");
}

function shortFigures(spent: Spent): string {
  return `${shortCount(countedTokens(spent.usage))} ${costText(spent, { digits: 3, isTight: true })}`;
}

function padToWidth(text: string, width: number): string {
  const cut = cutToWidth(text, width);
  return cut + " ".repeat(Math.max(0, width - Bun.stringWidth(cut)));
}
