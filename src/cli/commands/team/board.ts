// A team on a few lines of a terminal: phases, members, what each said last and what it used. Pure: the same view, size
// and time give the same lines. What does not fit is left out from what is over, then from what waits.
import { formatDuration } from "../../../kit/text/duration.ts";
import { pluralize, oneLine, shortCount } from "../../../kit/text/cut-text.ts";
import type { MemberRecord } from "../../../protocol/team/team.ts";
import { lastStatusLine, type MemberStats, type TeamView } from "../../../protocol/team/views.ts";
import { countedTokens, zeroSpent, type Spent } from "../../../protocol/tree/usage.ts";
import { stripControls, type Style } from "../../terminal/style.ts";
import { fit } from "../../terminal/table.ts";
import { sessionLabel } from "./find-team.ts";

export type BoardOptions = { style: Style; columns: number; rows: number; unicode: boolean; now: number };

type Phase = TeamView["team"]["phases"][number];
type BoardLine = { text: string; rank: Rank };
/** What goes first where there is no room. */
type Rank = "head" | "over" | "waits" | "works";

export function boardLines(view: TeamView, look: BoardOptions): string[] {
  const { team } = view;
  const wide = widthsOf(view);
  const lines: BoardLine[] = [{ text: headLine(view, look), rank: "head" }];
  for (const [at, phase] of team.phases.entries()) {
    lines.push({ text: phaseLine(phase, at, look), rank: "head" });
    for (const member of phase.members) lines.push({ text: memberLine(member, view, wide, look), rank: rankOf(phase, member) });
  }
  if (view.state === "planning")
    lines.push({ text: look.style.cyan(`${mark("works", look)} the planner thinks about what comes next`), rank: "works" });
  const latest = team.messages.at(-1);
  if (latest !== undefined && view.state === "running") lines.push({ text: look.style.dim(messageLine(latest, view)), rank: "over" });
  return fitting(lines, look).map((line) => fit(line, look.columns));
}

function fitting(lines: BoardLine[], { rows, style }: BoardOptions): string[] {
  let shown = lines;
  for (const rank of ["over", "waits"] as const) if (shown.length > rows) shown = shown.filter((line) => line.rank !== rank);
  const texts = shown.map(({ text }) => text);
  if (texts.length <= rows) return texts;
  return [...texts.slice(0, Math.max(1, rows - 1)), style.dim(`  and ${texts.length - rows + 1} more lines: skein team status`)];
}

function rankOf({ isOver }: Phase, { state }: MemberRecord): Rank {
  return isOver ? "over" : state === "waiting" ? "waits" : "works";
}

function headLine({ session, state, team, run, spent, members }: TeamView, { style, now }: BoardOptions): string {
  const paint = { planning: style.cyan, running: style.green, paused: style.yellow, completed: style.green }[state as string] ?? style.red;
  const asks = members.reduce((sum, figures) => sum + figures.asks.length, 0);
  const facts = [
    `${style.bold(`team ${sessionLabel(session)}`)} ${paint(state)}`,
    elapsed(run.startedAt, run.endedAt, now),
    spentText(spent),
    ...(team.messages.length === 0 ? [] : [pluralize(team.messages.length, "message")]),
    ...(asks === 0 ? [] : [style.yellow(`${pluralize(asks, "question")}: skein asks`)]),
    style.dim(oneLine(stripControls(team.wish.objective), 200)),
  ];
  return facts.join(" · ");
}

function phaseLine({ plan, isOver, conflicts, members }: Phase, at: number, look: BoardOptions): string {
  const { style } = look;
  const done = members.filter(({ state }) => state === "completed").length;
  const how = isOver ? "over" : `${done} of ${plan.members.length} done`;
  const clash = conflicts.length === 0 ? "" : style.red(`, ${pluralize(conflicts.length, "conflict")}`);
  // A plan made from --agents has the number in the name already.
  const name = stripControls(plan.name).replace(/^\d+: /, "");
  return `${style.bold(`${at + 1} ${oneLine(name, 60)}`)} ${style.dim(how)}${clash}`;
}

type Widths = { key: number; agent: number; figures: number };

function widthsOf({ team, members }: TeamView): Widths {
  const all = team.phases.flatMap((phase) => phase.members);
  const most = (texts: string[], limit: number) => Math.min(limit, Math.max(0, ...texts.map((text) => Bun.stringWidth(text))));
  return {
    key: most(
      all.map(({ plan }) => stripControls(plan.key)),
      20,
    ),
    agent: most(all.map(agentOf), 14),
    figures: most(
      members.map(({ spent }) => shortFigures(spent)),
      24,
    ),
  };
}

function memberLine(member: MemberRecord, view: TeamView, wide: Widths, look: BoardOptions): string {
  const { style, now } = look;
  const used: Partial<MemberStats> = view.members.find(({ id }) => id === member.id) ?? {};
  const begun = used.startedAt ?? null;
  const until = member.state === "running" ? now : (used.endedAt ?? null);
  const time = begun === null || until === null ? "" : elapsed(begun, until, now);
  const tries = member.attempts > 1 ? style.yellow(` try ${member.attempts}`) : "";
  const ask = used.asks?.at(-1);
  const words =
    ask === undefined
      ? stripControls(oneLine(lastStatusLine(member), 400))
      : style.yellow(`asks: ${stripControls(oneLine(ask.question, 200))}`);
  const cells = [
    padded(stripControls(member.plan.key), wide.key),
    style.dim(padded(agentOf(member), wide.agent)),
    (begun === null ? "" : shortFigures(used.spent ?? zeroSpent)).padStart(wide.figures),
    time.padStart(6),
  ];
  return `  ${mark(member.state, look)} ${cells.join("  ")}${tries}  ${member.state === "failed" ? style.red(words) : words}`.trimEnd();
}

const marks = {
  waiting: { unicode: "○", ascii: ".", paint: "dim" },
  running: { unicode: "●", ascii: "*", paint: "green" },
  works: { unicode: "●", ascii: "*", paint: "cyan" },
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
  const nameOf = (id: string) => team.phases.flatMap(({ members }) => members).find((member) => member.id === id)?.plan.key ?? id;
  return stripControls(`${nameOf(from)} to ${to.map(nameOf).join(", ")}: ${oneLine(subject || body, 200)}`);
}

export function spentText(spent: Spent): string {
  return shortFigures(spent).replace(" ", " tokens ");
}

function shortFigures({ usage, costUsd }: Spent): string {
  return `${shortCount(countedTokens(usage))} ${costUsd === null ? "$?" : `$${costUsd.toFixed(3)}`}`;
}

function elapsed(from: number, to: number | null, now: number): string {
  const ms = Math.max(0, (to ?? now) - from);
  return ms < 60_000 ? `${Math.floor(ms / 1000)} s` : formatDuration(ms);
}

function padded(text: string, width: number): string {
  const cut = fit(text, width);
  return cut + " ".repeat(Math.max(0, width - Bun.stringWidth(cut)));
}
