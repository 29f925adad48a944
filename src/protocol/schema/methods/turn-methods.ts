// Methods on turns, questions and shell commands.
import { z } from "zod";
import { turnSchemas } from "../../api/turn-options.ts";
import { event } from "../events.ts";
import * as is from "../fields.ts";
import { loopView } from "../views/loop-views.ts";
import { killReport, pauseReport, turnInfo } from "../results.ts";
import { raceTask } from "../race/race.ts";
import { groupTask, teamTask } from "../team.ts";
import { ask, pendingTurn, queuedInput } from "../tree.ts";
import { inDirectory, inSession, nothing, type Method } from "./method.ts";

const { agent, ...turnParams } = turnSchemas({ z, is, groupTask, teamTask, raceTask });

export const turnMethods = {
  "loop.show": {
    params: inSession,
    result: loopView,
    summary:
      "Returns the session's latest loop: its passes, each with the outcome of its check, and why it ended. `turn.start` with `loop` starts one.",
  },
  "turn.start": {
    params: { ...inSession, prompt: is.text.nullable(), agent, ...turnParams },
    result: event,
    feed: true,
    summary: "Sends a prompt to the session's agent; null continues an interrupted turn. The turn runs to its end, also without a reader.",
  },
  "turn.queue": {
    params: { ...inSession, prompt: is.text.nullable(), agent, ...turnParams },
    result: pendingTurn,
    summary: "Leaves a turn to the hub, which starts it after the session's other turns. Returns at once, with its place.",
  },
  "turn.pending": {
    params: { session: is.nameOrNull },
    result: z.array(pendingTurn),
    summary: "Lists the turns that start later, of one session or of all; the next one of each session first.",
  },
  "turn.startPending": {
    params: { pending: is.name },
    result: event,
    feed: true,
    summary: "Starts the next pending turn of a session now. The hub does this by itself when its time has come.",
  },
  "turn.withdraw": {
    params: { pending: is.name },
    result: pendingTurn.nullable(),
    summary: "Withdraws a pending turn, by its id or the end of it. Returns null if it has started or was withdrawn before.",
  },
  "turn.check": {
    params: { ...inDirectory, agent: is.name.default("auto"), isNew: is.trueByDefault, ...turnParams },
    result: nothing,
    summary: "Fails with the reason why such a turn can't start. Writes nothing.",
  },
  "turn.watch": {
    params: { ...inSession, afterSeq: is.count.default(0), until: z.enum(["now", "idle", "never"]).default("idle") },
    result: event,
    feed: true,
    summary:
      "Sends the stored events of a session after `after_seq`, then new ones, whichever process runs the turn. Ends after the stored events (`now`), when nothing runs (`idle`), or not at all (`never`).",
  },
  "turn.list": {
    params: { endedSince: is.time.nullable().prefault(null) },
    result: z.array(turnInfo),
    summary: "Lists the turns that run on this machine, and those that ended since then. A running turn with a budget has `left`.",
  },
  "turn.steer": {
    params: { ...inSession, text: is.text },
    result: queuedInput,
    summary: "Sends a message to the session's agent. The agent gets it at its next step, or in the next turn.",
  },
  "turn.takeBack": {
    params: { ...inSession, input: is.name },
    result: queuedInput.nullable(),
    summary: "Withdraws a queued message by its id. Returns null if the agent has it already.",
  },
  "turn.pause": {
    params: { ...inSession, force: is.falseByDefault },
    result: pauseReport,
    summary: "Pauses a turn: no request, no tool, no processor time until `turn.resume`. With `force` its whole process is paused.",
  },
  "turn.resume": { params: inSession, result: pauseReport, summary: "Resumes a paused turn." },
  "turn.cancel": {
    params: { ...inSession, mayContinue: z.boolean().optional() },
    result: nothing,
    summary: "Asks the running turn of a session to stop, whichever process runs it. With `may_continue` the next hub continues it.",
  },
  "turn.kill": {
    params: { ...inSession, force: is.falseByDefault, mayContinue: z.boolean().optional() },
    result: killReport,
    summary:
      "Stops a turn, also if its process does not respond. With `force` the process is not asked first. With `may_continue` the hub continues an interrupted turn that was left to it.",
  },
  "ask.list": {
    params: { session: is.nameOrNull },
    result: z.array(ask),
    summary: "Lists questions without an answer, the oldest first; of one session or of all.",
  },
  "ask.answer": {
    params: { ask: is.name, text: is.text },
    result: ask,
    summary: "Answers a question, by its id or the end of it. A number chooses an option.",
  },
  "bash.execute": {
    params: {
      ...inSession,
      command: is.command,
      timeoutMs: is.millisecondsOrNull.default(null),
      policy: is.policy.prefault({}),
    },
    result: event,
    feed: true,
    summary:
      "Runs a command in the session, as a turn without a model. Each `tool.output` names its `stream`, and `tool.exited` has the exit code.",
  },
} satisfies Record<string, Method>;
