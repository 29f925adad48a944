// The status bar of the vi preset: `[MODE] [ACTIVITY] [i:1234(c:800) o:567 | total i:9999 o:2345 $0.42] [NET: off] [SANDBOX: on]`. On a
// narrow screen the counts are shortened; then those of the turn go, then the totals, then the activity. Mode, network
// and sandbox always stay.
import { formatElapsed } from "../../kit/text/duration.ts";
import { shortCount } from "../../kit/text/cut-text.ts";
import { bad, good } from "../layout/styles.ts";
import { styled, fit, type Row } from "../layout/wrap.ts";
import type { State } from "../model/state.ts";
import { costText, totalInput } from "../../protocol/tree/usage-text.ts";

export function statusText(state: State): string {
  const withParts = (...middleParts: string[]) =>
    [state.mode.toUpperCase(), ...middleParts, `NET: ${netText(state)}`, `SANDBOX: ${state.sandbox}`].map((part) => `[${part}]`).join(" ");
  const activity = activityText(state);
  const texts = [...spentTexts(state).map((spent) => withParts(activity, spent)), withParts(activity), withParts()];
  return texts.find((text) => text.length <= state.size.columns) ?? texts.at(-1)!;
}

/** The activity, and whether the session plans or executes a plan. */
function activityText(state: State): string {
  const { isPlanning, session, runner, activity, clock } = state;
  const kind = isPlanning ? "plan" : session?.plan === undefined ? null : "execute";
  const name = activityName(state);
  if (name === null) return kind ?? "idle";
  const waitedMs = activity === "waiting" && clock?.activity === activity ? clock.now - clock.activitySince : 0;
  const work = name === "waiting" && waitedMs >= 1000 ? `waiting ${formatElapsed(waitedMs)}` : name;
  const workText = runner === null ? work : `${work}, ${runner}`;
  return kind === null ? workText : `${kind}: ${workText}`;
}

/** The current work. Null while nothing runs. */
export function activityName({ asks, activity, isRecordingFiles, isHubLost }: State): string | null {
  if (isHubLost) return "no hub";
  if (asks.length > 0) return "asking";
  // A call that waits for the snapshot does not run yet.
  return isRecordingFiles && !["writing", "thinking", "stopping", null].includes(activity) ? "recording files" : activity;
}

/** The enforced network of the running turn, or the requested one of the next. If both requests are equal, enforcement will be equal too. */
export function netText({ activity, turnNet, net }: State): string {
  if (turnNet === null) return net;
  if (turnNet.requested === net) return turnNet.net;
  return activity === null ? net : `${turnNet.net}, next ${net}`;
}

/** From the longest text to the shortest. */
function spentTexts({ usage, total }: State): string[] {
  const cost = costText(total, { digits: 2, isTight: true });
  const cached = (count: (tokens: number) => string) => (usage.cacheRead > 0 ? `(c:${count(usage.cacheRead)})` : "");
  const format = (count: (tokens: number) => string, label: string) =>
    `i:${count(totalInput(usage))}${cached(count)} o:${count(usage.output)} | ${label}i:${count(totalInput(total.usage))} o:${count(total.usage.output)} ${cost}`;
  const totals = `i:${shortCount(totalInput(total.usage))} o:${shortCount(total.usage.output)} ${cost}`;
  return [format(String, "total "), format(shortCount, "total "), format(shortCount, ""), `total ${totals}`, totals, cost];
}

/** The network's part is green if tools can reach anything, else red. */
export function statusRow(state: State): Row {
  const { columns } = state.size;
  const text = fit(statusText(state), columns).padEnd(columns);
  const badge = /\[NET: [^\]]*\]/.exec(text);
  if (badge === null) return [styled(text, { inverse: true })];
  const end = badge.index + badge[0].length;
  const color = badge[0].startsWith("[NET: off") ? bad : good;
  return [
    styled(text.slice(0, badge.index), { inverse: true }),
    styled(badge[0], { ...color, inverse: true }),
    styled(text.slice(end), { inverse: true }),
  ];
}
