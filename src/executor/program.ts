// Runs a program that skein talks to over stdin and stdout, such as an MCP server, until it ends or its call is cancelled.
// The program shares the sandbox and the limits of the tools. It does not count as a bash command.
import { runProcess } from "../kit/process/run-process.ts";
import { oneLine } from "../kit/text/cut-text.ts";
import { Excerpt } from "../kit/text/excerpt.ts";
import { messageOf } from "../protocol/api/error.ts";
import type { ToolOutcome } from "../protocol/api/ports.ts";
import { findDenials } from "./denial.ts";
import { errorOutcome, type ToolContext } from "./tools/tool.ts";

const stderrHeadBytes = 1024;
const stderrTailBytes = 3072;
/** Time between SIGTERM and SIGKILL. The end of a turn waits for it. */
const killGraceMs = 500;

/** Must not throw. The outcome is an error unless the program was cancelled or exited with 0. */
export async function runProgram(command: string[], ctx: ToolContext, onStdin: (stdin: Bun.FileSink) => void): Promise<ToolOutcome> {
  const stderr = new Excerpt(stderrHeadBytes, stderrTailBytes);
  const watch = ctx.limits?.watch() ?? null;
  try {
    const end = await runProcess({
      command,
      cwd: ctx.cwd,
      env: ctx.env,
      envTag: ctx.envTag,
      ...(ctx.gate === undefined ? {} : { gate: ctx.gate }),
      timeoutMs: null,
      killGraceMs,
      signal: watch === null ? ctx.signal : AbortSignal.any([ctx.signal, watch.signal]),
      separateStreams: true,
      onStdin,
      onOutput: (chunk, stream) => {
        if (stream === "stderr") stderr.push(chunk);
        return ctx.onOutput(chunk, stream);
      },
    });
    if (ctx.signal.aborted) return { text: "was ended", isError: false };
    if (watch?.signal.aborted === true) return errorOutcome(`was ended: ${String(watch.signal.reason)}`);
    const how = end.signal === null ? `ended with exit code ${end.exitCode}` : `was killed by ${end.signal}`;
    const output = stderr.text().text;
    const denied = denialsOf(command, output, { ...ctx, exitCode: end.exitCode });
    const notes = [...denied.map(({ text }) => `[${text}]`), ...(output.trim() === "" ? [] : [output.trim()])];
    return { text: [how, ...notes].join("\n"), isError: end.exitCode !== 0, ...(denied.length > 0 ? { denied } : {}) };
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
    const reason = isMissing ? `there is no program ${command[0]}, or no directory ${ctx.cwd}` : messageOf(error);
    return errorOutcome(`can't be started: ${oneLine(reason, 300)}`);
  } finally {
    watch?.end();
  }
}

const maxDenials = 4;

function denialsOf(command: string[], output: string, ctx: ToolContext & { exitCode: number | null }): NonNullable<ToolOutcome["denied"]> {
  const { sandbox, cwd, home, exitCode } = ctx;
  if (!sandbox?.isEnforced) return [];
  return findDenials({ command: command.join(" "), output, exitCode, cwd, home }, sandbox).slice(0, maxDenials);
}
