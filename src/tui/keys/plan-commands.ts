// Commands for plans, questions and suspending the screen. `commands.ts` adds them to the one table.
import { showAsks } from "../model/asks.ts";
import type { ScreenCommand } from "./commands.ts";
import { step, withNotice, type Effect, type State, type UpdateResult } from "../model/state.ts";

export const planCommands: readonly ScreenCommand[] = [
  {
    name: "plan",
    summary: "plan in a new session; again: go back",
    leader: "p",
    typed: "",
    // The user types next what to plan.
    run: (state) => step({ ...state, mode: state.isPlanning ? state.mode : "insert" }, { type: "plan", isOn: !state.isPlanning }),
  },
  {
    name: "exec",
    summary: "execute the plan in a new session",
    leader: "x",
    typed: "",
    run: (state) => whileIdle(state, { type: "execute plan" }),
  },
  {
    name: "edit-plan",
    summary: "edit the plan in $VISUAL or $EDITOR",
    keys: ["ctrl+g"],
    everywhere: true,
    leader: "e",
    typed: "",
    run: (state) => step(state, { type: "edit plan" }),
  },
  {
    name: "steps",
    summary: "show the plan and its progress",
    leader: "P",
    typed: "",
    run: (state) => step(state, { type: "show plan" }),
  },
  {
    name: "asks",
    summary: "show the questions that wait for an answer",
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
  return step(withNotice(state, "a turn is running; Ctrl+C stops it", "error"));
}
