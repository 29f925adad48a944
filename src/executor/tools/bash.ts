// The bash tool: one command in a shell of its own. All output goes to the listener; the model gets its head and
// tail within a bound, and always learns how the command ended.
import { statSync } from "node:fs";
import type { ToolOutcome } from "../../protocol/ports.ts";
import { formatDuration } from "../../kit/duration.ts";
import { Excerpt } from "../../kit/excerpt.ts";
import { type ProcessEnd, runProcess } from "../../kit/spawn.ts";
import { definitions } from "./definitions.ts";
import { failure, type Tool, type ToolRun } from "./tool.ts";

const headBytes = 8 << 10;
// With room for the line that says how it ended, head and tail stay within 32 KB.
const tailBytes = (24 << 10) - 256;

export const bashTool: Tool = {
  definition: definitions.bash,
  run: async (input, run) => {
    const seconds = input.timeout as number | undefined;
    if (seconds !== undefined && seconds <= 0) return failure(`bash: "timeout" must be more than 0 seconds`);
    const excerpt = new Excerpt(headBytes, tailBytes);
    try {
      const end = await runProcess({
        command: ["bash", "-c", String(input.command)],
        cwd: run.cwd,
        env: run.env,
        mark: run.mark,
        timeoutMs: seconds === undefined ? null : seconds * 1000,
        signal: run.signal,
        onOutput: (chunk) => {
          excerpt.push(chunk);
          return run.onOutput(chunk);
        },
      });
      return outcomeOf(end, excerpt, seconds);
    } catch (error) {
      return failure(startProblem(error, run));
    }
  },
};

function outcomeOf(end: ProcessEnd, excerpt: Excerpt, seconds: number | undefined): ToolOutcome {
  const ending = endingOf(end, seconds);
  const output = excerpt.text().text.replace(/\r?\n$/, "") || "(no output)";
  return {
    text: ending ? `${output}\n${ending}` : output,
    isError: ending !== null,
    exitCode: end.exitCode,
    durationMs: Math.round(end.durationMs),
    bytes: end.bytes,
  };
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
