// Finds the position in the script from the request alone, so that retries and resumed sessions do not change it.
import type { RequestItem } from "./wires/wire.ts";

/** `turn` counts user texts, `step` the rounds of tool results after the last one. */
export type ScriptPosition = { turn: number; step: number; prompt: string };

/** With a marker, only user texts that contain it count. This is for clients that add their own user texts. */
export function findPosition(items: RequestItem[], marker = ""): ScriptPosition {
  const users = items.flatMap((item, index) => (item.type === "user" && item.text.includes(marker) ? [{ index, text: item.text }] : []));
  const last = users.at(-1);
  const after = items.slice((last?.index ?? -1) + 1);
  return { turn: users.length, step: countRounds(after), prompt: last?.text ?? "" };
}

export function callId(position: ScriptPosition, index: number): string {
  return `call_t${position.turn}s${position.step}n${index}`;
}

/** Our own ids contain the round. With ids of the client, consecutive results are one round. */
function countRounds(items: RequestItem[]): number {
  const rounds = new Set<string>();
  let runs = 0;
  let inRun = false;
  for (const item of items) {
    if (item.type === "result") {
      const round = /_t\d+(s\d+)n\d+/.exec(item.id)?.[1];
      if (round !== undefined) rounds.add(round);
      else if (!inRun) runs += 1;
    }
    inRun = item.type === "result";
  }
  return rounds.size + runs;
}
