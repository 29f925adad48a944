// Lists the costs of a session: per turn, of its sub-sessions and in total, with the share of cached input.
import { formatDuration } from "../../kit/text/duration.ts";
import { oneLine, shortCount } from "../../kit/text/cut-text.ts";
import { shortId } from "../../protocol/tree/node.ts";
import type { Turn } from "../../protocol/tree/turn.ts";
import type { SpawnedSession } from "../../protocol/tree/views.ts";
import { addSpent, zeroSpent, type Spent, withSubSessions } from "../../protocol/tree/usage.ts";
import { costText, dollarsText, totalInput } from "../../protocol/tree/usage-text.ts";
import { hintFor } from "../keys/hint.ts";
import { styled, type Row } from "../layout/wrap.ts";
import type { BoxLine } from "../overlays/box.ts";
import type { EffectHandlers, EffectContext } from "./effect-context.ts";

export const costEffects: EffectHandlers<"read costs" | "budget" | "check"> = {
  "read costs": async (ctx) => ctx.send({ type: "costs", lines: await costLines(ctx) }),
  budget: (ctx, { usd }) => {
    ctx.turn.limits = { ...ctx.turn.limits, maxBudgetUsd: usd };
    ctx.send({
      type: "notice",
      text: usd === null ? "no cost limit from the next turn on" : `each turn may cost at most ${dollars(usd)} from now on`,
    });
  },
  check: (ctx, { command }) => {
    if (command !== "") ctx.turn.check = command;
    const { check } = ctx.turn;
    ctx.send({
      type: "notice",
      text: check === null ? "no check runs after a turn" : `after each turn this must succeed: ${oneLine(check, 200)}`,
    });
  },
};

const maxSubSessions = 30;
const maxTurns = 200;

async function costLines(ctx: EffectContext): Promise<BoxLine[]> {
  const { api, session, turn } = ctx;
  const limit = turn.limits.maxBudgetUsd;
  if (session === null) return ["no turns yet", "", limitText(ctx, limit)];
  const { turns, spawned, below } = await api.session.show({ session: session.id });
  const modelTurns = turns.filter(({ agent }) => agent !== "shell");
  const omitted = modelTurns.length > maxTurns ? [`  … ${modelTurns.length - maxTurns} earlier turns`] : [];
  const rows = modelTurns.map((modelTurn, index) => turnRow(modelTurn, index + 1)).slice(-maxTurns);
  return [
    row(["turn", "model", "input", "cached", "output", "cost", "took"]),
    ...omitted,
    ...rows,
    "",
    row(["", "this branch", ...spentCells(addSpents(modelTurns.map(withSubSessions))), tookText(modelTurns)]),
    ...(await subSessionRows(ctx, spawned, below)),
    "",
    limitText(ctx, limit),
    ...modelTurns.flatMap((modelTurn) => (modelTurn.endedAt === null && limit !== null ? [runningText(modelTurn, limit)] : [])),
  ];
}

function turnRow(turn: Turn, number: number): Row {
  const name = turn.model ?? turn.agent;
  const ended = turn.status === "ok" || turn.status === null ? "" : ` (${turn.status})`;
  return row([String(number), name.slice(name.indexOf("/") + 1) + ended, ...spentCells(withSubSessions(turn)), tookText([turn])]);
}

/** The part of the sub-sessions, which the rows of the turns include: a row for each of the latest, and their sum. */
async function subSessionRows({ api }: EffectContext, spawned: readonly SpawnedSession[], below: Spent): Promise<BoxLine[]> {
  if (spawned.length === 0) return [];
  const views = await Promise.all(spawned.slice(-maxSubSessions).map(({ id }) => api.session.show({ session: id })));
  const spents = views.map(({ turns, below: nested }) => addSpents(turns, nested));
  const rows = views.map(({ session: { agent, name, task, id }, turns }, index) =>
    row(["◆", `${agent}: ${name ?? task ?? shortId(id)}`, ...spentCells(spents[index]!), tookText(turns)]),
  );
  const omitted = spawned.length - views.length;
  const total = omitted > 0 ? below : addSpents(spents);
  return [
    ...(omitted > 0 ? [`  … ${omitted} earlier sub-sessions`] : []),
    ...rows,
    row(["", "of it sub-sessions", ...spentCells(total), ""]),
  ];
}

function addSpents(items: readonly Spent[], start = zeroSpent): Spent {
  return items.reduce<Spent>((sum, item) => addSpent(sum, item), start);
}

/** Input, its cached share, output and cost. */
function spentCells({ usage, ...cost }: Spent): string[] {
  const input = totalInput(usage);
  const cached = input === 0 ? "-" : `${Math.round((usage.cacheRead / input) * 100)} %`;
  return [shortCount(input), cached, shortCount(usage.output), costText(cost, { digits: digitsOf(cost.costUsd), isTight: true })];
}

function tookText(turns: readonly Turn[]): string {
  if (turns.some(({ endedAt }) => endedAt === null)) return "running";
  return turns.length === 0
    ? ""
    : formatDuration(turns.reduce((sum, { startedAt, endedAt }) => sum + (endedAt ?? startedAt) - startedAt, 0));
}

function limitText({ bindings }: EffectContext, limit: number | null): string {
  const command = hintFor(bindings, "budget");
  return limit === null
    ? `no cost limit per turn; ${command} 0.50 sets one`
    : `cost limit per turn, with its sub-sessions: ${dollars(limit)}; ${command} off removes it`;
}

/** The remaining budget of a running turn. The turn may have started with another limit. */
function runningText(turn: Turn, limit: number): string {
  const { costUsd } = withSubSessions(turn);
  return costUsd === null
    ? "the cost of the running turn is unknown"
    : `the running turn has ${dollars(Math.max(0, limit - costUsd))} of it left`;
}

function dollars(amount: number): string {
  return dollarsText(amount, { digits: digitsOf(amount) });
}

/** Small amounts have four digits, so that they are not shown as $0.00. */
function digitsOf(amount: number | null): number {
  return amount !== null && amount > 0 && amount < 0.1 ? 4 : 2;
}

const nameWidth = 31;
const figureWidths = [7, 7, 7, 9, 9];

/** One run per cell, so that a narrow screen can leave some out. */
function row([number = "", name = "", ...figures]: readonly string[]): Row {
  const texts = [`${number.padStart(4)}  `, oneLine(name, nameWidth).padEnd(nameWidth)];
  return [...texts, ...figures.map((cell, index) => cell.padStart(figureWidths[index]!))].map((text) => styled(text));
}
