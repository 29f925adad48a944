// skein doctor: checks this machine, and prints what to do about each problem.
import type { TrialProgress } from "../../../protocol/api/agents.ts";
import type { DoctorCheck, DoctorReport } from "../../../protocol/api/api.ts";
import { exitCodes } from "../../../protocol/api/error.ts";
import { jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { agentsReportText } from "../../print/trial-report.ts";
import { progressLine } from "../../terminal/progress.ts";
import { stripControls, showsUnicode, type Style } from "../../terminal/style.ts";
import { printReport } from "../report-command.ts";

export const doctor: Command = {
  name: "doctor",
  summary: "check this machine, and show what to do next",
  usage: "[--agents] [--json]",
  positionals: { min: 0, max: 0 },
  flags: [{ name: "agents", summary: "instead of this machine, check every installed agent offline" }, jsonFlag],
  notes: `The exit code is 1 if a required check fails, else 0.

--agents runs the program of each installed agent against a scripted model on this
machine, with a temporary home and no real key. It checks:
  - a tool call that changes a file
  - the choice of the model
  - resume and fork of the agent's own sessions
  - the errors after a bad key and a rate limit
  - that no process is left after a stop during a call
skein stores the result for this version of the agent. Later turns use resume and
fork only if they worked. \`skein agents\` shows the result. The exit code is 1 if an
installed agent fails a check.`,
  async run(args, ctx) {
    if (args.flags["agents"]) return runTrials(args, ctx);
    const api = await ctx.api({ lenient: true });
    const report = await api.doctor.check();
    const marks = showsUnicode(ctx.env) ? { good: "✓", bad: "✗", minor: "○" } : { good: "+", bad: "x", minor: "-" };
    return printReport(args, ctx, { json: report, text: (style) => reportText(report, marks, style), exitCode: report.ok ? 0 : 1 });
  },
};

type Marks = { good: string; bad: string; minor: string };

function reportText({ checks, ok }: DoctorReport, marks: Marks, style: Style): string {
  const width = Math.max(0, ...checks.map((check) => check.name.length));
  const texts = checks.map((check) => checkText(check, { width, style, marks })).join("");
  if (ok) return `${texts}\n${style.green("ready")}: try skein run "explain what this project does", or skein demo\n`;
  const failed = checks.find((check) => !check.ok && !check.optional);
  const remedy = failed?.hint?.split("\n")[0] ?? failed?.detail ?? "a required check failed";
  return `${texts}\n${style.red("not ready")}: ${stripControls(remedy).replace(/[:;.]$/, "")}.\n`;
}

async function runTrials(args: Args, ctx: CommandContext): Promise<number> {
  const api = await ctx.api({ lenient: true });
  const abortController = new AbortController();
  let exitCode = exitCodes.cancelled;
  ctx.onStop((signal) => {
    if (signal === "SIGTERM") exitCode = 143;
    abortController.abort();
  });
  const line = progressLine(ctx);
  const startedAt = Date.now();
  let latest: TrialProgress | null = null;
  const show = () => line.show(latest === null ? "starting ..." : progressText(latest, Date.now() - startedAt));
  const ticker = setInterval(show, 1_000);
  show();
  try {
    const report = await api.doctor.tryAgents({
      signal: abortController.signal,
      onProgress: (progress) => {
        latest = progress;
        show();
      },
    });
    line.clear();
    const text = (style: Style) => agentsReportText(report, style, showsUnicode(ctx.env));
    return await printReport(args, ctx, { json: report, text, exitCode: report.ok ? 0 : 1 });
  } catch (error) {
    if (abortController.signal.aborted) return exitCode;
    throw error;
  } finally {
    clearInterval(ticker);
    line.clear();
  }
}

function progressText({ agent, check, done, of }: TrialProgress, ms: number): string {
  return `${done} of ${of} tried, ${Math.round(ms / 1000)} s ... ${agent}: ${check ?? "done"}`;
}

function checkText(check: DoctorCheck, { width, style, marks }: { width: number; style: Style; marks: Marks }): string {
  const mark = check.ok ? style.green(marks.good) : check.optional ? style.yellow(marks.minor) : style.red(marks.bad);
  const hints = check.ok || check.hint === undefined ? [] : check.hint.split("\n");
  const hintLines = hints.map((line) => `${" ".repeat(width + 4)}${style.dim(stripControls(line))}\n`).join("");
  return `${mark} ${check.name.padEnd(width)}  ${stripControls(check.detail)}\n${hintLines}`;
}
