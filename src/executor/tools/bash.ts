// The bash tool: one command in a shell of its own. All output goes to the listener; the model gets its head and
// tail within a bound, and always learns how the command ended.
import { statSync } from "node:fs";
import type { Denial } from "../../protocol/api/policy.ts";
import type { ToolOutcome } from "../../protocol/api/ports.ts";
import { formatDuration } from "../../kit/text/duration.ts";
import { Excerpt } from "../../kit/text/excerpt.ts";
import { byteLength, cutText } from "../../kit/text/cut-text.ts";
import { type ProcessEnd, runProcess } from "../../kit/process/run-process.ts";
import { findDenials } from "../denial.ts";
import { definitions } from "./definitions.ts";
import { errorOutcome, deniedOutcome, type Tool, type ToolRun } from "./tool.ts";

const headBytes = 8 << 10;
// With room for the line that says how it ended, head and tail stay within 32 KB.
const tailBytes = (24 << 10) - 256;
const mostDenials = 4;
/** Only a command with one of these is worth the guard's look. */
const suspicious =
  /\b(?:rm|dd|mk\w*fs|mkswap|shred|wipefs|blkdiscard|tee|cp|chmod|chown|chgrp)\b|-delete|\/dev\/(?!null\b)|\(\s*\)|\bfunction\b/;

export const bashTool: Tool = {
  definition: definitions.bash,
  run: async (input, run) => {
    const seconds = input.timeout as number | undefined;
    if (seconds !== undefined && seconds <= 0) return errorOutcome(`bash: "timeout" must be more than 0 seconds`);
    const command = String(input.command);
    const refused = suspicious.test(command) ? (await import("../command-guard.ts")).refuseDestructive(command, run) : null;
    if (refused !== null) return deniedOutcome("command", refused);
    const excerpt = new Excerpt(headBytes, tailBytes);
    const watch = run.limits?.watch() ?? null;
    const leaveGate = watch === null ? null : run.gate?.add(watch);
    try {
      const end = await runProcess({
        command: ["bash", "-c", command],
        cwd: run.cwd,
        env: run.env,
        envTag: run.envTag,
        ...(run.gate === undefined ? {} : { gate: run.gate }),
        timeoutMs: seconds === undefined ? null : seconds * 1000,
        signal: watch === null ? run.signal : AbortSignal.any([run.signal, watch.signal]),
        onOutput: (chunk) => {
          excerpt.push(chunk);
          return run.onOutput(chunk);
        },
      });
      return outcomeOf({ command, end, output: excerpt.text().text, seconds, stopped: watch?.why() ?? null }, run);
    } catch (error) {
      return errorOutcome(startProblem(error, run));
    } finally {
      leaveGate?.();
      watch?.pause();
    }
  },
};

type FinishedCommand = { command: string; end: ProcessEnd; output: string; seconds: number | undefined; stopped: string | null };

function outcomeOf(ran: FinishedCommand, run: ToolRun): ToolOutcome {
  const { end, seconds, stopped } = ran;
  const ending = stopped === null ? endingOf(end, seconds) : `${stopped}; everything that was running was ended`;
  const denied = denialsOf(ran, run);
  const notes = denied.map(({ text }) => `[${text}]`);
  const output = withRoomFor(notes, ran.output.replace(/\r?\n$/, "")) || "(no output)";
  if (stopped !== null) denied.unshift({ what: "process", text: stopped });
  return {
    text: [output, ...notes, ...(ending === null ? [] : [ending])].join("\n"),
    isError: ending !== null,
    exitCode: end.exitCode,
    durationMs: Math.round(end.durationMs),
    bytes: end.bytes,
    ...(denied.length > 0 ? { denied } : {}),
  };
}

function withRoomFor(notes: string[], output: string): string {
  if (notes.length === 0) return output;
  return cutText(output, headBytes + tailBytes - byteLength(notes.join("\n")), { keep: "both" }).text;
}

function denialsOf({ command, end, output, stopped }: FinishedCommand, { sandbox: bounds, cwd, home }: ToolRun): Denial[] {
  if (!bounds?.isEnforced || end.aborted || stopped !== null) return [];
  return findDenials({ command, output, exitCode: end.exitCode, cwd, home }, bounds).slice(0, mostDenials);
}

/** Null for a command that ended with 0. */
function endingOf(end: ProcessEnd, seconds: number | undefined): string | null {
  if (end.timedOut) return `timed out after ${formatDuration((seconds ?? 0) * 1000)}; it was stopped with all it had started`;
  if (end.aborted) return "cancelled; it was stopped with all it had started";
  if (end.signal !== null) return `killed by ${end.signal}`;
  return end.exitCode === 0 ? null : `exit code ${end.exitCode}`;
}

function startProblem(error: unknown, run: ToolRun): string {
  const reason = error instanceof Error ? error.message : String(error);
  if (/too long|E2BIG/i.test(reason)) return "can't run bash: the command is too long; write it to a file and run that";
  try {
    if (statSync(run.cwd).isDirectory()) return `can't run bash: ${reason}`;
  } catch {
    // Said below.
  }
  return `can't run bash: the directory ${run.cwd} does not exist`;
}
