// Leaving the screen. Turns that it runs in sessions that are not shown end with it: nobody leaves without being told so.
import { step, type State, type UpdateResult } from "./state.ts";

export function quit(state: State): UpdateResult {
  const left = state.running.filter((id) => id !== state.session?.id);
  if (left.every((id) => state.warned.includes(id))) return step(state, { type: "quit" });
  const turns = left.length === 1 ? "a turn in another session" : `${left.length} turns in other sessions`;
  const text = `leaving stops ${turns}: again does it, :agents shows ${left.length === 1 ? "it" : "them"}`;
  return step({ ...state, warned: left, notice: { text, isError: true } });
}
