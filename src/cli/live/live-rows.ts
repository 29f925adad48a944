// Renders activities as rows: one with a spinner and the elapsed time for each, and the last lines of its output below.
// All rows together fit a part of the screen, however much runs.
import { oneLine } from "../../kit/text/cut-text.ts";
import { formatElapsed } from "../../kit/text/duration.ts";
import { shortId } from "../../protocol/tree/node.ts";
import type { LiveSize } from "../terminal/live-region.ts";
import { stripControls, type Style } from "../terminal/style.ts";
import { cutToWidth } from "../terminal/table.ts";
import type { Activity } from "./activity.ts";
import type { OutputTail } from "./output-tail.ts";

export type SubSession = { id: string; call: string; agent: string; task: string; since: number; activity: Activity };
export type LiveView = { main: Activity; subSessions: Iterable<SubSession> };
export type RowStyle = { style: Style; isUnicode: boolean };

/** Something that runs, with the output to show below it. */
type Item = { text: string; since: number; tail: OutputTail | null };

const frames = { unicode: "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", ascii: "|/-\\" };
const framesPerSecond = 8;
/** A shorter wait shows nothing, so that the screen is quiet. */
const minWaitMs = 300;
/** While text streams, the text itself shows that something happens. */
const minStallMs = 2_000;
const maxTailRows = 5;
const maxLabelChars = 400;
const maxTaskChars = 40;

export function liveRows({ main, subSessions }: LiveView, now: number, size: LiveSize, { style, isUnicode }: RowStyle): string[] {
  if (main.isPaused || main.asks.size > 0) return [];
  const subs = [...subSessions].filter(({ activity }) => activity.who !== null);
  const items = [...callItems(main, subs), ...subs.map((sub) => subItem(sub, now)), ...waitItems(main, now)];
  if (items.length === 0) return [];
  const maxRows = Math.max(1, Math.min(16, Math.floor(size.rows / 2)));
  const shown = items.slice(0, items.length > maxRows ? Math.max(1, maxRows - 1) : items.length);
  const withTail = shown.filter(({ tail }) => tail !== null).length;
  const tailRows = withTail === 0 ? 0 : Math.min(maxTailRows, Math.floor((maxRows - shown.length) / withTail));
  const glyphs = isUnicode ? frames.unicode : frames.ascii;
  const spinner = glyphs[Math.floor((now / 1000) * framesPerSecond) % glyphs.length] ?? "";
  const rows = shown.flatMap((item) => itemRows(item, { now, columns: size.columns, tailRows, style, spinner }));
  return shown.length < items.length ? [...rows, style.dim(`  and ${items.length - shown.length} more`)] : rows;
}

type ItemLayout = { now: number; columns: number; tailRows: number; style: Style; spinner: string };

function itemRows({ text, since, tail }: Item, { now, columns, tailRows, style, spinner }: ItemLayout): string[] {
  const elapsed = ` · ${formatElapsed(now - since)}`;
  const label = cutToWidth(text, Math.max(1, columns - elapsed.length - 4));
  const head = `${style.cyan(spinner)} ${label}${style.dim(elapsed)}`;
  return [head, ...(tail?.rows(tailRows, columns - 5).map((row) => style.dim(`    ${row}`)) ?? [])];
}

/** A call that has not started waits for the snapshot. A call with a sub-session is shown as the sub-session. */
function callItems({ calls, recordingSince }: Activity, subs: readonly SubSession[]): Item[] {
  const delegating = new Set(subs.map(({ call }) => call));
  return [...calls].flatMap(([id, { name, argument, since, isStarted, tail }]) =>
    delegating.has(id) || (!isStarted && recordingSince !== null) ? [] : [{ text: callText(name, argument), since, tail }],
  );
}

function callText(name: string, argument: string): string {
  return stripControls(oneLine(`${name} ${argument}`, maxLabelChars));
}

function subItem({ id, agent, task, since, activity }: SubSession, now: number): Item {
  const call = [...activity.calls.values()].at(-1);
  const [wait] = waitItems(activity, now);
  const doing = call === undefined ? wait?.text : callText(call.name, call.argument);
  const text = [
    `${shortId(id)} ${stripControls(agent)}`,
    stripControls(oneLine(task, maxTaskChars)),
    ...(doing === undefined ? [] : [doing]),
  ];
  return { text: text.join(" · "), since, tail: activity.tail };
}

function waitItems(activity: Activity, now: number): Item[] {
  const { recordingSince, waitingSince, thinkingSince, isStreaming, isAnswered, calls } = activity;
  const items: Item[] = [];
  if (recordingSince !== null) items.push({ text: "recording files", since: recordingSince, tail: null });
  if (waitingSince === null || calls.size > 0 || (isAnswered && recordingSince !== null)) return items;
  const who = stripControls(activity.who ?? "");
  if (thinkingSince !== null) return [...items, { text: `${who} is thinking`, since: thinkingSince, tail: null }];
  if (now - waitingSince < (isStreaming ? minStallMs : minWaitMs)) return items;
  return [...items, { text: `waiting for ${who}`, since: waitingSince, tail: null }];
}
