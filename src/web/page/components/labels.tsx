// Small labels that several views use: agents by colour, states, costs, times.
import { formatElapsed } from "../../../kit/text/duration.ts";
import type { Cost } from "../../../protocol/tree/usage.ts";
import { costText } from "../../../protocol/tree/usage-text.ts";
import { useNow } from "../state/store.ts";
import { exactTime, relativeTime } from "../text/times.ts";
import { showDirections } from "../text/plain-text.ts";

const knownAgents = ["native", "claude", "codex", "gemini", "opencode", "pi", "team", "race", "group", "shell"];

/** Each agent has one colour on all views: a class `agent-0` to `agent-9`. */
export function agentColor(agent: string): string {
  const known = knownAgents.indexOf(agent);
  if (known >= 0) return `agent-${known}`;
  let sum = 0;
  for (const character of agent) sum = (sum * 31 + character.codePointAt(0)!) % 997;
  return `agent-${sum % 10}`;
}

export function AgentLabel({ agent, model }: { agent: string; model?: string | null }) {
  return (
    <span class={`agent ${agentColor(agent)}`}>
      <span class="dot" aria-hidden="true" />
      <span class="agent-name">{showDirections(agent)}</span>
      {model ? <span class="model">{showDirections(model.replace(/^[^/]+\//, ""))}</span> : null}
    </span>
  );
}

/** States and statuses that need attention are marked by colour and by word. */
const toneOfState: Record<string, string> = {
  running: "busy",
  paused: "wait",
  asking: "ask",
  waiting: "wait",
  queued: "wait",
  interrupted: "bad",
  planning: "busy",
  checking: "busy",
  ended: "quiet",
  completed: "good",
  passed: "good",
  ok: "good",
  cancelled: "quiet",
  "needs-input": "ask",
};

export function StateLabel({ state }: { state: string }) {
  return <span class={`state ${toneOfState[state] ?? "bad"}`}>{state}</span>;
}

export function CostLabel(cost: Cost) {
  return (
    <span class="number" title={cost.costIsPartial === true ? "a part has no known price" : undefined}>
      {costText(cost, { isTight: true })}
    </span>
  );
}

export function Elapsed({ since }: { since: number }) {
  const now = useNow(1000);
  return <span class="number">{formatElapsed(now - since)}</span>;
}

export function Ago({ at }: { at: number }) {
  const now = useNow(30_000);
  return (
    <time dateTime={new Date(at).toISOString()} title={exactTime(at)}>
      {relativeTime(at, now)}
    </time>
  );
}
