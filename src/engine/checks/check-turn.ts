// Runs the check of a turn whose agent has ended well, as the last part of the turn. The check decides how the turn ends:
// `ok`, or `check-failed` with the reason. The output is stored as a node of the turn.
import { cutText } from "../../kit/text/cut-text.ts";
import { formatDuration } from "../../kit/text/duration.ts";
import { outputEvents } from "../../kit/flow/output-events.ts";
import { resumeCommand, type TurnError } from "../../protocol/api/error.ts";
import type { CommandRunner, CommandTurn } from "../../protocol/api/ports.ts";
import type { HandlePart, Node } from "../../protocol/tree/node.ts";
import type { CheckOutcome, Turn, TurnCheck, TurnEnd } from "../../protocol/tree/turn.ts";
import type { Store } from "../../store/store.ts";
import type { RunningTurn } from "../turn/running-turns.ts";
import { checkNode, runCheck } from "./run-check.ts";

const call = "check";
/** The end of an output usually has the failures and their sum. */
const maxPromptBytes = 16 << 10;

export type CheckedTurn = {
  runCommand: CommandRunner;
  running: RunningTurn;
  check: TurnCheck;
  turn: CommandTurn;
  end: TurnEnd;
  /** The error of a turn whose check failed; its kind is the status of the turn. */
  failureOf: (outcome: CheckOutcome) => Promise<TurnError>;
};

/** Returns the end of the turn. A turn that is stopped during its check has no outcome. */
export async function checkWork(checked: CheckedTurn): Promise<{ end: TurnEnd; checked?: CheckOutcome }> {
  const { running, check, turn, end } = checked;
  const { recorder, deadline, gate, store, lease } = running;
  await gate.whenOpen();
  recorder.publishTransient({ type: "tool.started", call, name: "check", input: { command: check.command } });
  const events = outputEvents((text) => recorder.publishTransient({ type: "tool.output", call, text }));
  const runCommand: CommandRunner = (at, options) => checked.runCommand(at, { ...options, pausable: (pausable) => gate.add(pausable) });
  // The check has its own time limit. A test run may print nothing for long.
  const resumeIdle = deadline.holdIdle();
  try {
    const result = await runCheck(
      { runCommand, store, lease },
      { command: check.command, timeoutMs: check.timeoutMs, turn, signal: deadline.signal, onOutput: events.push },
    );
    events.flush();
    const { excerpt: _excerpt, handle: _handle, ...outcome } = result;
    const { exitCode, durationMs, passed } = outcome;
    recorder.publishTransient({ type: "tool.exited", call, exitCode, signal: null, durationMs });
    if (deadline.signal.aborted) return { end: { ...end, status: "cancelled" } };
    await recorder.addNode(checkNode(result));
    if (passed) return { end, checked: outcome };
    const error = await checked.failureOf(outcome);
    return { end: { ...end, status: error.kind, error }, checked: outcome };
  } finally {
    resumeIdle();
  }
}

/** "exit code 1", or how else the command ended. */
export function endingText({ exitCode, durationMs }: Pick<CheckOutcome, "exitCode" | "durationMs">): string {
  return exitCode === null ? `stopped after ${formatDuration(durationMs)}` : `exit code ${exitCode}`;
}

/** `repairs` are left: the output goes back to the agent. */
export function checkFailure(outcome: CheckOutcome, { repairs }: Pick<TurnCheck, "repairs">): TurnError {
  const message = `the check failed: \`${outcome.command}\`, ${endingText(outcome)}`;
  if (repairs > 0) return { kind: "check-failed", message: `${message}; its output goes back to the agent` };
  return { kind: "check-failed", message, hint: `continue with \`${resumeCommand}\`: the agent gets the output once more` };
}

/** The prompt that sends the output of a failed check to the agent. */
export function repairPrompt(output: CheckOutput): string {
  return `The check \`${output.command}\` failed (${output.ending}). Find the cause and fix it.\n\n${fencedOutput(output)}`;
}

export type CheckOutput = { command: string; ending: string; text: string; identifier: string };

/** The output of a turn's check, as a prompt can have it. Null if the turn has none. */
export async function readCheckOutput(store: Store, turn: Turn): Promise<CheckOutput | null> {
  const node = await findCheckNode(store, turn);
  const part = node?.parts.find((candidate): candidate is HandlePart => candidate.kind === "handle");
  if (node?.note?.about !== "check" || part === undefined) return null;
  const { check } = node.note;
  const text = cutText(part.excerpt.slice(part.excerpt.indexOf("\n") + 1), maxPromptBytes, { keep: "both" }).text;
  return { command: check.command, ending: endingText(check), text, identifier: part.handle.identifier };
}

/** Findings of the guards may follow the check, so it is not always the last node. */
export async function findCheckNode(store: Store, { id, tip }: Turn): Promise<Node | undefined> {
  return (await store.path(tip)).findLast(({ turn, note }) => turn === id && note?.about === "check");
}

/** The fence is longer than any in the output, so that no line of it passes for the task. */
export function fencedOutput({ text, identifier }: CheckOutput): string {
  let fence = "```";
  while (text.includes(fence)) fence += "`";
  return `Output of the check (whole: bash:${identifier}):\n${fence}\n${text}\n${fence}`;
}
