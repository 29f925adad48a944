// Quits the screen. Turns that it runs in other sessions end with it, so the user is warned of them first.
import { step, type State, type UpdateResult } from "./state.ts";

export function quit(state: State): UpdateResult {
  const others = state.running.filter((id) => id !== state.session?.id);
  if (others.every((id) => state.warned.includes(id))) return step(state, { type: "quit" });
  const turns = others.length === 1 ? "a turn in another session" : `${others.length} turns in other sessions`;
  const text = `quitting stops ${turns}; quit again, or see :agents`;
  return step({ ...state, warned: others, notice: { text, isError: true } });
}
