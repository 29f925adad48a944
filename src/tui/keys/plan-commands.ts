// The commands of plan mode and of questions, and those that leave the screen for a moment: rows of the one table in `commands.ts`.
import { showAsks } from "../model/asks.ts";
import type { ScreenCommand } from "./commands.ts";
import { step, withNotice, type Effect, type State, type UpdateResult } from "../model/state.ts";

export const planCommands: readonly ScreenCommand[] = [
  {
    name: "plan",
    summary: "plan in a session of its own; again: back",
    leader: "p",
    typed: "",
    // What to plan is typed next.
    run: (state) => step({ ...state, mode: state.isPlanning ? state.mode : "insert" }, { type: "plan", isOn: !state.isPlanning }),
  },
  {
    name: "exec",
    summary: "carry the plan out in a new session",
    leader: "x",
    typed: "",
    run: (state) => whileIdle(state, { type: "execute plan" }),
  },
  {
    name: "edit-plan",
    summary: "the plan in $VISUAL or $EDITOR",
    keys: ["ctrl+g"],
    everywhere: true,
    leader: "e",
    typed: "",
    run: (state) => step(state, { type: "edit plan" }),
  },
  {
    name: "steps",
    summary: "the plan, and what is done of it",
    leader: "P",
    typed: "",
    run: (state) => step(state, { type: "show plan" }),
  },
  {
    name: "asks",
    summary: "the questions that wait for an answer",
    keys: ["tab"],
    leader: "q",
    typed: "",
    run: showAsks,
  },
  {
    name: "suspend",
    summary: "back to the shell; fg returns",
    keys: ["ctrl+z"],
    everywhere: true,
    typed: "",
    run: (state) => step(state, { type: "suspend" }),
  },
];

function whileIdle(state: State, effect: Effect): UpdateResult {
  if (state.activity === null) return step(state, effect);
  return step(withNotice(state, "a turn is running here; Ctrl+C stops it", "error"));
}
