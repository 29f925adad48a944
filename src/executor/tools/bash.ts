// The bash tool: runs one command in a new shell. All output goes to `onOutput`.
// The model gets the head and the tail of the output, and always how the command ended.
import { statPath } from "../../kit/files/path-status.ts";
import { type ProcessEnd, runProcess } from "../../kit/process/run-process.ts";
import { byteLength, cutText } from "../../kit/text/cut-text.ts";
import { formatDuration } from "../../kit/text/duration.ts";
import { Excerpt } from "../../kit/text/excerpt.ts";
import { messageOf } from "../../protocol/api/error.ts";
import type { Denial } from "../../protocol/api/policy.ts";
import type { ToolOutcome } from "../../protocol/api/ports.ts";
import { findDenials } from "../denial.ts";
import { deniedOutcome, errorOutcome, type RunTool, type ToolContext } from "./tool.ts";

const headBytes = 8 << 10;
// Leaves 256 bytes for the line that says how the command ended, so that the text stays within 32 KB.
const tailBytes = (24 << 10) - 256;
const maxDenials = 4;
/** Only commands that match are checked by the command guard, which is loaded for them. */
const suspicious =
  /\b(?:rm|dd|mk\w*fs|mkswap|shred|wipefs|blkdiscard|tee|cp|chmod|chown|chgrp)\b|-delete|\/dev\/(?!null\b)|\(\s*\)|\bfunction\b/;

export const runBash: RunTool = async (input, ctx) => {
  const seconds = input.timeout as number | undefined;
  if (seconds !== undefined && seconds <= 0) return errorOutcome(`bash: "timeout" must be more than 0 seconds`);
  const command = String(input.command);
  const refusal = suspicious.test(command) ? (await import("../command-guard.ts")).findRefusalReason(command, ctx) : null;
  if (refusal !== null) return deniedOutcome("command", refusal);
  const excerpt = new Excerpt(headBytes, tailBytes);
  const watch = ctx.limits?.watch() ?? null;
  try {
    const end = await runProcess({
      command: ["bash", "-c", command],
      cwd: ctx.cwd,
      env: ctx.env,
      envTag: ctx.envTag,
      ...(ctx.gate === undefined ? {} : { gate: ctx.gate }),
      timeoutMs: seconds === undefined ? null : seconds * 1000,
      signal: watch === null ? ctx.signal : AbortSignal.any([ctx.signal, watch.signal]),
      separateStreams: ctx.separateStreams === true,
      onOutput: (chunk, stream) => {
        excerpt.push(chunk);
        return ctx.onOutput(chunk, stream);
      },
    });
    return outcomeOf(
      {
        command,
        end,
        output: excerpt.text().text,
        seconds,
        earlierLimit: watch?.earlier ?? null,
        exceededLimit: watch?.signal.aborted ? String(watch.signal.reason) : null,
      },
      ctx,
    );
  } catch (error) {
    return errorOutcome(startProblem(error, ctx));
  } finally {
    watch?.end();
  }
};

type FinishedCommand = {
  command: string;
  end: ProcessEnd;
  output: string;
  seconds: number | undefined;
  /** The limit that background processes exceeded before this command. */
  earlierLimit: string | null;
  exceededLimit: string | null;
};

function outcomeOf(finished: FinishedCommand, ctx: ToolContext): ToolOutcome {
  const { end, seconds, earlierLimit, exceededLimit } = finished;
  const ending = exceededLimit === null ? endingOf(end, seconds) : `${exceededLimit}; everything that was running was ended`;
  const denials = denialsOf(finished, ctx);
  const notes = denials.map(({ text }) => `[${text}]`);
  if (earlierLimit !== null) notes.push(`[before this command, background processes were ${earlierLimit}]`);
  const output = shortenFor(notes, finished.output.replace(/\r?\n$/, "")) || "(no output)";
  if (exceededLimit !== null) denials.unshift({ what: "process", text: exceededLimit });
  return {
    text: [output, ...notes, ...(ending === null ? [] : [ending])].join("\n"),
    isError: ending !== null,
    exitCode: end.exitCode,
    signal: end.signal,
    durationMs: Math.round(end.durationMs),
    bytes: end.bytes,
    ...(denials.length > 0 ? { denied: denials } : {}),
  };
}

/** Cuts the output so that the notes fit below it. */
function shortenFor(notes: string[], output: string): string {
  if (notes.length === 0) return output;
  return cutText(output, headBytes + tailBytes - byteLength(notes.join("\n")), { keep: "both" }).text;
}

function denialsOf({ command, end, output, exceededLimit }: FinishedCommand, { sandbox, cwd, home }: ToolContext): Denial[] {
  if (!sandbox?.isEnforced || end.aborted || exceededLimit !== null) return [];
  return findDenials({ command, output, exitCode: end.exitCode, cwd, home }, sandbox).slice(0, maxDenials);
}

/** Null for exit code 0. */
function endingOf(end: ProcessEnd, seconds: number | undefined): string | null {
  if (end.timedOut) return `timed out after ${formatDuration((seconds ?? 0) * 1000)}; all its processes were stopped`;
  if (end.aborted) return "cancelled; all its processes were stopped";
  if (end.signal !== null) return `killed by ${end.signal}`;
  return end.exitCode === 0 ? null : `exit code ${end.exitCode}`;
}

function startProblem(error: unknown, { cwd }: ToolContext): string {
  const reason = messageOf(error);
  if (/too long|E2BIG/i.test(reason)) return "can't run bash: the command is too long; write it to a file and run that";
  return `can't run bash: ${statPath(cwd)?.isDirectory() ? reason : `the directory ${cwd} does not exist`}`;
}
