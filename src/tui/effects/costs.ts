// What a session has used: turn by turn, below it, and together, with what of it came from the cache.
import { formatDuration } from "../../kit/text/duration.ts";
import { oneLine, shortCount } from "../../kit/text/cut-text.ts";
import type { Session, Turn } from "../../protocol/tree/turn.ts";
import { addSpent, zeroSpent, type Spent, type Usage } from "../../protocol/tree/usage.ts";
import { totalInput } from "../../protocol/tree/usage-text.ts";
import { sessionLabel, type EffectHandlers, type EffectContext } from "./effect-context.ts";

export const costEffects: EffectHandlers<"read costs" | "budget"> = {
  "read costs": async (doing) => doing.send({ type: "costs", lines: await costLines(doing) }),
  budget: (doing, { usd }) => {
    doing.turn.limits = { ...doing.turn.limits, maxBudgetUsd: usd };
    doing.send({
      type: "told",
      text: usd === null ? "from the next turn on there is no limit" : `each turn may cost ${dollars(usd)} from now on`,
    });
  },
};

const mostBelow = 30;
const mostTurns = 200;

async function costLines(ctx: EffectContext): Promise<string[]> {
  const { api, session, turn } = ctx;
  const limit = turn.limits.maxBudgetUsd;
  if (session === null) return ["nothing was said yet", "", limitText(limit)];
  const { turns, below } = await api.session.show({ session: session.id });
  const asked = turns.filter(({ agent }) => agent !== "shell");
  const own = asked.reduce<Spent>((sum, each) => addSpent(sum, each), zeroSpent);
  const left = asked.length > mostTurns ? [`  … ${asked.length - mostTurns} turns before these`] : [];
  const rows = asked.map((each, at) => turnRow(each, at + 1)).slice(-mostTurns);
  return [
    row(["turn", "model", "input", "cached", "output", "cost", "took"]),
    ...left,
    ...rows,
    "",
    row(["", "this branch", ...spentCells(own), tookText(asked)]),
    ...(await belowRows(ctx, session, below)),
    "",
    limitText(limit),
    ...asked.flatMap((each) => (each.endedAt === null && limit !== null ? [runningText(each, limit)] : [])),
  ];
}

function turnRow(turn: Turn, number: number): string {
  const name = turn.model ?? turn.agent;
  const ended = turn.status === "ok" || turn.status === null ? "" : ` (${turn.status})`;
  return row([String(number), name.slice(name.indexOf("/") + 1) + ended, ...spentCells(turn), tookText([turn])]);
}

/** Each of them by itself, when there are not too many, and what they used together. */
async function belowRows({ api, project }: EffectContext, session: Session, below: Spent): Promise<string[]> {
  const all = await api.session.list({ project, subSessions: true });
  const mine = all.filter(({ parentSession }) => parentSession === session.id).toReversed();
  if (mine.length === 0) return [];
  const shown = await Promise.all(mine.slice(-mostBelow).map((each) => api.session.show({ session: each.id })));
  const spents = shown.map(({ turns, below: further }) => turns.reduce<Spent>((sum, turn) => addSpent(sum, turn), further));
  const rows = shown.map(({ session: each, turns }, at) =>
    row(["◆", `${each.agent}: ${each.name ?? each.task ?? sessionLabel(each)}`, ...spentCells(spents[at]!), tookText(turns)]),
  );
  if (mine.length <= mostBelow)
    return [...rows, row(["", "sub-sessions", ...spentCells(spents.reduce((sum, each) => addSpent(sum, each), zeroSpent)), ""])];
  return [`  … ${mine.length - mostBelow} more before these`, ...rows, row(["", "sub-sessions", ...spentCells(below), ""])];
}

function spentCells({ usage, costUsd }: Spent): string[] {
  return [shortCount(totalInput(usage)), cachedText(usage), shortCount(usage.output), costUsd === null ? "$?" : dollars(costUsd)];
}

function cachedText(usage: Usage): string {
  const input = totalInput(usage);
  return input === 0 ? "-" : `${Math.round((usage.cacheRead / input) * 100)} %`;
}

function tookText(turns: readonly Turn[]): string {
  if (turns.some(({ endedAt }) => endedAt === null)) return "running";
  return turns.length === 0
    ? ""
    : formatDuration(turns.reduce((sum, { startedAt, endedAt }) => sum + (endedAt ?? startedAt) - startedAt, 0));
}

function limitText(limit: number | null): string {
  return limit === null
    ? "no limit on what a turn may cost; :budget 0.50 sets one"
    : `a turn and all below it may cost ${dollars(limit)}; :budget off takes the limit away`;
}

/** What runs was begun under a limit, which may have been another one. */
function runningText({ costUsd }: Turn, limit: number): string {
  return costUsd === null
    ? "what the running turn has cost is not known"
    : `${dollars(Math.max(0, limit - costUsd))} of that is left of the running turn`;
}

function dollars(amount: number): string {
  return `$${amount.toFixed(amount > 0 && amount < 0.1 ? 4 : 2)}`;
}

const widths = [4, 31, 7, 7, 7, 9, 9];

function row(cells: readonly string[]): string {
  const [number = "", name = "", ...figures] = cells;
  const head = `${number.padStart(widths[0]!)}  ${oneLine(name, widths[1]!).padEnd(widths[1]!)}`;
  return head + figures.map((cell, at) => cell.padStart(widths[at + 2]!)).join("");
}
