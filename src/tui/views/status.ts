// The status bar: `[MODE] [ACTIVITY] [i:1234(c:800) o:567 | total i:9999 o:2345 $0.42] [NET: off] [SANDBOX: on]`. Where that is
// too wide the counts get shorter and then fewer, then the activity goes; mode and walls always stand there.
import { shortCount } from "../../kit/text/cut-text.ts";
import { fit, type Row } from "../layout/wrap.ts";
import type { State } from "../model/state.ts";
import { costText, totalInput, tokensText } from "../../protocol/tree/usage-text.ts";

export function statusText(state: State): string {
  const around = (...between: string[]) =>
    [state.mode.toUpperCase(), ...between, `NET: ${netText(state)}`, `SANDBOX: ${state.sandbox}`].map((part) => `[${part}]`).join(" ");
  const activity = activityText(state);
  const texts = [...spentTexts(state).map((spent) => around(activity, spent)), around(activity), around()];
  return texts.find((text) => text.length <= state.size.columns) ?? texts.at(-1)!;
}

/** What is done, and whether it is planning or the execution of a plan. */
function activityText({ asks, activity, isPlanning, session, runner, isLost }: State): string {
  const kind = isPlanning ? "plan" : session?.plan === undefined ? null : "execute";
  const doing = isLost ? "no hub" : asks.length > 0 ? "asking" : activity;
  if (doing === null) return kind ?? "idle";
  const now = runner === null ? doing : `${doing}, ${runner}`;
  return kind === null ? now : `${kind}: ${now}`;
}

/** While a turn runs what it really has, then what the next one is to have; what could not be held the last time can't be held now. */
function netText({ activity, turnNet: held, net }: State): string {
  if (held === null) return net;
  if (held.asked === net) return held.net;
  return activity === null ? net : `${held.net}, next ${net}`;
}

/** The whole first, then with less and less. */
function spentTexts({ usage, total }: State): string[] {
  const cost = costText(total.costUsd, { digits: 2, isTight: true });
  const both = (count: (tokens: number) => string, word: string) =>
    `${tokensText(usage, count)} | ${word}i:${count(totalInput(total.usage))} o:${count(total.usage.output)} ${cost}`;
  return [both(String, "total "), both(shortCount, "total "), both(shortCount, ""), `${tokensText(usage, shortCount)} | ${cost}`, cost];
}

export function statusRow(state: State): Row {
  const { columns } = state.size;
  return [{ text: fit(statusText(state), columns).padEnd(columns), style: { inverse: true } }];
}
