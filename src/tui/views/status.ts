// The status bar: `[MODE] [ACTIVITY] [i:1234(c:800) o:567 | total i:9999 o:2345 $0.42] [NET: off] [SANDBOX: on]`.
import { fit, type Row } from "../cards/wrap.ts";
import type { State } from "../state.ts";
import { inputOf, tokensText } from "../tokens.ts";

export function statusText(state: State): string {
  const { usage, costUsd } = state.total;
  const cost = costUsd === null ? "$?" : `$${costUsd.toFixed(2)}`;
  const total = `total i:${inputOf(usage)} o:${usage.output} ${cost}`;
  const activity = state.asks.length > 0 ? "asking" : (state.activity ?? "idle");
  return `[${state.mode.toUpperCase()}] [${activity}] [${tokensText(state.usage)} | ${total}] [NET: ${state.net}] [SANDBOX: ${state.sandbox}]`;
}

export function statusRow(state: State): Row {
  const { columns } = state.size;
  return [{ text: fit(statusText(state), columns).padEnd(columns), look: { inverse: true } }];
}
