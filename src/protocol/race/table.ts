// A race as the cells of a table, without colours. The command line and the screen show the same table.
import { oneLine, pluralize, shortCount } from "../../kit/text/cut-text.ts";
import { formatElapsed } from "../../kit/text/duration.ts";
import type { RacerView, RaceView } from "../schema/race/race-views.ts";
import { shortId } from "../tree/node.ts";
import { costText } from "../tree/usage-text.ts";
import { checkText, hasPassed } from "./race.ts";

export type RaceColumn = "agent" | "state" | "check" | "files" | "lines" | "tokens" | "cost" | "time" | "session" | "remark";

/** The columns of a race. `check` is only there if the race has one. */
export function raceColumns({ check }: Pick<RaceView, "check">): { name: RaceColumn; title: string; align: "left" | "right" }[] {
  const column = (name: RaceColumn, align: "left" | "right" = "left") => ({
    name,
    title: name === "remark" ? "" : name.toUpperCase(),
    align,
  });
  return [
    column("agent"),
    column("state"),
    ...(check === null ? [] : [column("check")]),
    ...(["files", "lines", "tokens", "cost", "time"] as const).map((name) => column(name, "right")),
    column("session"),
    column("remark"),
  ];
}

export function racerCells(view: RaceView, racer: RacerView, now: number): Record<RaceColumn, string> {
  const isStarted = racer.startedAt !== null;
  const { files, added, removed } = racer;
  return {
    agent: racer.model === null ? racer.key : `${racer.key}:${racer.model}`,
    state: racer.state === "ended" ? (racer.status ?? "ended") : racer.state,
    check: racer.check === null ? "" : checkText(racer.check),
    files: files === null ? "?" : String(files.length),
    lines: files === null ? "?" : `+${added} -${removed}`,
    tokens: shortCount(racer.tokens),
    cost: costText(racer, { isTight: true }),
    time: isStarted ? formatElapsed(Math.max(0, (racer.endedAt ?? now) - racer.startedAt!)) : "",
    session: isStarted ? shortId(racer.sessionId) : "",
    remark: remarkOf(view, racer),
  };
}

function remarkOf(view: RaceView, racer: RacerView): string {
  if (view.adopted?.session === racer.sessionId) return "adopted";
  if (view.proposed === racer.key) return "proposed";
  const ask = racer.asks.at(-1);
  return oneLine(ask === undefined ? (racer.error ?? "") : `asks: ${ask.question}`, 200);
}

/** `running · 12 s · 3.2k tokens · $0.0123` */
export function raceHead(view: RaceView, now: number): string[] {
  const elapsed = formatElapsed((view.endedAt ?? now) - view.startedAt);
  return [view.state, elapsed, `${shortCount(view.tokens)} tokens`, costText(view)];
}

/** The commands that make sense next. */
export function nextSteps(view: RaceView): string[] {
  const label = view.name ?? shortId(view.sessionId);
  if (view.state === "interrupted") return [`skein race resume ${label}   continues the agents that did not end`];
  if (view.state !== "ended" || view.adopted !== null) return [];
  const passing = view.racers.filter(hasPassed);
  const best = view.racers.find(({ key }) => key === view.proposed) ?? passing[0];
  if (best === undefined) return [];
  const other = passing.find(({ key }) => key !== best.key);
  const reason = view.proposed === null ? "" : `: it passed and changed the fewest lines, in ${pluralize(best.files?.length ?? 0, "file")}`;
  return [
    `skein race adopt ${shortId(best.sessionId)}   adopts ${best.key}${reason}`,
    ...(other === undefined ? [] : [`skein diff ${shortId(best.sessionId)} ${shortId(other.sessionId)}   compares two of them`]),
  ];
}
