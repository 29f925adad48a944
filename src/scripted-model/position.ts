// Where in the script a request stands, read from the request alone: no state, so retries and resumed sessions
// can't derail it.
import type { RequestItem } from "./wires/wire.ts";

/** `turn` counts user texts, `step` the rounds of tool results after the last one. */
export type ScriptPosition = { turn: number; step: number; prompt: string };

/** With a marker only user texts that contain it count; for clients that add user texts of their own. */
export function findPosition(items: RequestItem[], marker = ""): ScriptPosition {
  const users = items.flatMap((item, index) => (item.type === "user" && item.text.includes(marker) ? [{ index, text: item.text }] : []));
  const last = users.at(-1);
  const after = items.slice((last?.index ?? -1) + 1);
  return { turn: users.length, step: countRounds(after), prompt: last?.text ?? "" };
}

export function callId(position: ScriptPosition, index: number): string {
  return `call_t${position.turn}s${position.step}n${index}`;
}

/** Our own ids say their round; with ids made by the client a round is a run of results after a call. */
function countRounds(items: RequestItem[]): number {
  const named = new Set<string>();
  let unnamed = 0;
  let inRun = false;
  for (const item of items) {
    if (item.type === "result") {
      const round = /_t\d+(s\d+)n\d+/.exec(item.id)?.[1];
      if (round !== undefined) named.add(round);
      else if (!inRun) unnamed += 1;
    }
    inRun = item.type === "result";
  }
  return named.size + unnamed;
}
