// Effects of races: starts a race from the visible session, and reads the table of a race.
import { stripAnsi } from "../../kit/text/ansi.ts";
import { Fault } from "../../protocol/api/error.ts";
import { parseContestants } from "../../protocol/race/contestants.ts";
import type { RaceTask } from "../../protocol/race/race.ts";
import { nextSteps, raceColumns, raceHead, racerCells } from "../../protocol/race/table.ts";
import type { RaceView } from "../../protocol/race/views.ts";
import { bad, faint, good } from "../layout/styles.ts";
import { styled } from "../layout/wrap.ts";
import type { BoxLine } from "../overlays/box.ts";
import type { EffectContext, EffectHandlers } from "./effect-context.ts";
import { goTo, runTurn } from "./turns.ts";

export const raceEffects: EffectHandlers<"race" | "read race"> = {
  race: startRace,
  "read race": async (ctx, { afterMs = 0 }) => {
    if (afterMs > 0) await Bun.sleep(afterMs);
    await sendTable(ctx);
  },
};

/** The race starts from the visible session, which stays as it is. */
async function startRace(ctx: EffectContext, { agents, task }: { agents: string; task: string }): Promise<void> {
  const contestants = parseContestants(agents, null);
  const { check, checkTimeoutMs } = ctx.turn;
  const wish = { task, contestants, check, checkTimeoutMs, adoptFirstPassing: false, withChanges: false, withIgnored: false };
  const race: RaceTask = { work: "run", wish };
  const { agent } = contestants[0]!;
  const turn = { ...ctx.turn, agent: null, model: null, check: null, race };
  await ctx.api.turn.check({ ...turn, agent, isNew: true, directory: ctx.directory });
  const from = ctx.session === null ? null : await ctx.api.session.find({ wanted: ctx.session.id, directory: ctx.directory });
  const session =
    from === null || from.tip === null
      ? await ctx.api.session.open({ ...ctx.open, find: { by: "new" }, agent, model: null, task: null })
      : await ctx.api.session.fork({ session: from.id, at: null, name: null });
  await goTo(ctx, session, "the race starts; /race shows its table");
  ctx.send({ type: "set", fields: { overlay: { kind: "text", topic: "race", lines: ["the race starts …"], top: 0 } } });
  void sendTable(ctx);
  await runTurn(ctx, { unsent: `/race ${agents} ${task}`, task }, (id) => ctx.api.turn.start({ ...turn, session: id, prompt: null }));
}

/** The table of the visible race, else of the project's latest one. */
async function sendTable(ctx: EffectContext): Promise<void> {
  const view = await findRace(ctx);
  const isLive = view === null ? ctx.running.has(ctx.session?.id ?? "") : view.state === "running" || view.state === "paused";
  const lines = view === null ? ["there is no race in this project yet: /race claude,codex the task"] : tableLines(view, Date.now());
  ctx.send({ type: "report", topic: "race", lines: view === null && isLive ? ["the race starts …"] : lines, isLive });
}

async function findRace({ api, session, project }: EffectContext): Promise<RaceView | null> {
  const visible = session === null ? null : await showRace(api, session.id);
  if (visible !== null) return visible;
  const [latest] = await api.race.list({ project, limit: 1 });
  return latest === undefined ? null : showRace(api, latest.sessionId);
}

async function showRace(api: EffectContext["api"], session: string): Promise<RaceView | null> {
  try {
    return await api.race.show({ session });
  } catch (error) {
    if (error instanceof Fault && error.code === "session-unknown") return null;
    throw error;
  }
}

function tableLines(view: RaceView, now: number): BoxLine[] {
  const columns = raceColumns(view);
  const rows = view.racers.map((racer) => racerCells(view, racer, now));
  const widths = columns.map(({ name, title }) => Math.max(title.length, ...rows.map((row) => Bun.stringWidth(row[name]))));
  const lineOf = (cells: readonly string[]): string =>
    cells
      .map((cell, index) => {
        const gap = " ".repeat(Math.max(0, widths[index]! - Bun.stringWidth(cell)));
        return columns[index]!.align === "right" ? `${gap}${cell}` : `${cell}${gap}`;
      })
      .join("  ")
      .trimEnd();
  return [
    `${raceHead(view, now).join(" · ")} · ${stripAnsi(view.task)}`,
    "",
    styled(lineOf(columns.map(({ title }) => title)), faint),
    ...rows.map((row, index) => styled(stripAnsi(lineOf(columns.map(({ name }) => row[name]))), paintOf(view.racers[index]!))),
    "",
    ...nextSteps(view).map((line) => stripAnsi(line)),
  ];
}

function paintOf({ state, status, check }: RaceView["racers"][number]): object {
  if (state !== "ended") return {};
  return status === "ok" && check?.passed !== false ? good : bad;
}
