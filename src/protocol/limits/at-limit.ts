// The choice of a turn at a vendor's limit: it stops, waits, or is handed to another agent.
import type { TurnError } from "../api/error.ts";
import { Fault } from "../api/error.ts";

/** `agent` as in `TurnOptions`: an agent, a vendor or a model. */
export type Successor = { agent: string; model: string | null };

/**
 * `stop`: the turn ends. `wait`: the hub keeps the turn until the limit ends. `agents`: the next agent of the list that is
 * ready continues the turn.
 */
export type AtLimit = { how: "stop" } | { how: "wait" } | { how: "agents"; agents: Successor[] };

export const maxSuccessors = 20;

/** Parses `stop`, `wait`, or `agent[:model]` with commas between. Throws a usage fault that completes "--at-limit". */
export function parseAtLimit(text: string): AtLimit {
  const words = text.split(",").map((word) => word.trim());
  const [first = ""] = words;
  if (words.length === 1 && (first === "stop" || first === "wait")) return { how: first };
  const isList = words.every((word) => word !== "" && word !== "stop" && word !== "wait" && !/\s/.test(word));
  if (!isList || words.length > maxSuccessors) throw new Fault("usage", atLimitExpected(text), { hint: "such as: codex,claude:opus" });
  return { how: "agents", agents: words.map(parseSuccessor) };
}

/** The text that `parseAtLimit` accepts. */
export function formatAtLimit(atLimit: AtLimit): string {
  return atLimit.how === "agents" ? atLimit.agents.map(formatSuccessor).join(",") : atLimit.how;
}

export function formatSuccessor({ agent, model }: Successor): string {
  return model === null ? agent : agent === "native" && model.includes("/") ? model : `${agent}:${model}`;
}

/** True for an end of a turn that another choice than `stop` can avoid. */
export function isLimitError(error: Pick<TurnError, "kind"> | null | undefined): boolean {
  return error?.kind === "rate-limited" || error?.kind === "overloaded";
}

/** `vendor/id:effort` is a model of the native agent; otherwise the agent ends at the first colon. */
function parseSuccessor(word: string): Successor {
  const colon = word.indexOf(":");
  const agent = colon === -1 ? word : word.slice(0, colon);
  if (agent.includes("/")) return { agent: "native", model: word };
  const model = colon === -1 ? "" : word.slice(colon + 1);
  if (agent === "" || (colon !== -1 && model === "")) throw new Fault("usage", atLimitExpected(word), { hint: "such as: claude:opus" });
  return { agent, model: model === "" ? null : model };
}

function atLimitExpected(text: string): string {
  return `takes stop, wait, or agents with commas between them, not "${text}"`;
}
