// skein loop: repeats a task until a command succeeds. Each pass is a turn of one session; the engine decides when to stop.
import { formatDuration } from "../../../kit/text/duration.ts";
import { shortCount } from "../../../kit/text/cut-text.ts";
import { printable } from "../../../kit/text/terminal-text.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { defaultMaxRuns, type LoopTask } from "../../../protocol/loops/check-options.ts";
import type { ResultRecord } from "../../../protocol/json/records.ts";
import { toPrintedJson } from "../../../protocol/json/json-case.ts";
import type { LoopPass, LoopView } from "../../../protocol/schema/views/loop-views.ts";
import type { TurnOptions } from "../../../protocol/api/turn-options.ts";
import { costText, totalInput } from "../../../protocol/tree/usage-text.ts";
import type { Args, Command, CommandContext, Flag } from "../../parse/command.ts";
import { followTurn } from "../../print/follow-turn.ts";
import { printRecord, printWarning, type Printer } from "../../print/printer.ts";
import { itemTable, type ItemColumn } from "../../terminal/table.ts";
import { styleOf } from "../../terminal/style.ts";
import { flagReader } from "./flag-value.ts";
import { runFlagGroups, runFlags } from "./run-flags.ts";
import { startTask, type RunVariant, type StartedRun } from "./run.ts";

/** Flags of a single turn that mean nothing for several, or that the loop decides itself. */
const otherFlags = new Set([
  "check",
  "no-check",
  "fork",
  "at",
  "plan",
  "json-schema",
  "output-file",
  "ephemeral",
  "print",
  "parent-session",
]);

const summaries: Record<string, string> = {
  agent: "the agent of the passes; with several (claude,codex) the next one takes over when there is no progress",
  fresh: "start each pass with a new conversation: the task and the last output of the check",
  resume: "continue this loop after an interruption; without a session, the project's latest interrupted one",
  "max-budget-usd": "money for all passes together",
  "max-tokens": "input, output and cache-write tokens of all passes together",
  "max-steps": "model requests of all passes together",
  timeout: "time for all passes together: 90, 90s, 10m, 2h",
};

const loopFlags: readonly Flag[] = [
  { name: "until", value: "command", summary: "the command that ends the loop when it exits with 0; it runs in the sandbox" },
  { name: "max-runs", value: "n", summary: `the most passes (default ${defaultMaxRuns})` },
  ...runFlags.filter(({ name }) => !otherFlags.has(name)).map((flag) => ({ ...flag, summary: summaries[flag.name] ?? flag.summary })),
];

export const loop: Command = {
  name: "loop",
  summary: "repeat a task until a command succeeds",
  usage: '"task" --until "command" [flags]',
  positionals: { min: 0, max: 1 },
  flags: loopFlags,
  flagGroups: runFlagGroups,
  notes: `The command decides, never a model. It runs first: if it succeeds, nothing is sent to a model.
The loop stops when the command succeeds, when the budget is used up, after --max-runs passes, and when
a pass leaves the same files and the same output of the command as an earlier one.

Examples:
  skein loop "make the tests pass" --until "npm test"
  skein loop "fix the types" --until "npx tsc" --max-runs 5 --max-budget-usd 2
  skein loop "make the tests pass" --until "npm test" -a claude,codex --fresh
  skein loop --resume`,
  run: runLoop,
};

async function runLoop(args: Args, ctx: CommandContext): Promise<number> {
  const { text, on, read } = flagReader(args, ctx);
  const agents = (text("agent") ?? "").split(",").flatMap((name) => (name.trim() === "" ? [] : [name.trim()]));
  const isResuming = text("resume") !== null || on("resume");
  const until = read("until", (flag) => flag.nonEmpty());
  if (until === null && !isResuming)
    throw new Fault("usage", "there is no --until: the command that ends the loop", {
      hint: 'skein loop "make the tests pass" --until "npm test"',
    });
  const changes = { until, maxRuns: read("max-runs", (flag) => flag.count()), fresh: on("fresh") ? true : null, agents };
  const isContinued = isResuming && (args.positionals[0] ?? text("task")) === null;
  const first = agents[0] === undefined || isContinued ? {} : { agent: agents[0] };
  const { fresh: _fresh, agent: _agent, ...flags } = args.flags;
  return startTask({ ...args, flags: { ...flags, ...first } }, ctx, variantOf(changes, isContinued));
}

type LoopChanges = { until: string | null; maxRuns: number | null; fresh: boolean | null; agents: string[] };

function variantOf(changes: LoopChanges, isContinued: boolean): RunVariant {
  const { until, maxRuns, fresh, agents } = changes;
  return {
    async change(turn, { api, flags, session }): Promise<TurnOptions> {
      const stored = isContinued ? await api.loop.show({ session: session.id }) : null;
      const task: LoopTask = {
        until: until ?? stored?.until ?? "",
        maxRuns: maxRuns ?? stored?.maxRuns ?? defaultMaxRuns,
        fresh: fresh ?? stored?.fresh ?? false,
        agents,
      };
      const hasPolicyFlag = Object.values(flags.policy).some((value) => value !== null && (!Array.isArray(value) || value.length > 0));
      const { turns } = stored === null || hasPolicyFlag ? { turns: [] } : await api.session.tree({ session: session.id });
      const policy = turns.findLast((earlier) => earlier.session === session.id && earlier.loop !== undefined)?.policy;
      return { ...turn, check: null, fresh: false, loop: task, ...(policy === undefined ? {} : { policy }) };
    },
    follow: followLoop,
  };
}

/** Prints the passes as they run, then the table of all passes, or the loop as a record. */
async function followLoop(run: StartedRun): Promise<ResultRecord> {
  const { api, ctx, flags, session, events } = run;
  const result = await followTurn(events, passPrinter(run));
  const view = await api.loop.show({ session: session.id });
  if (flags.format === "text" && !flags.on("quiet")) ctx.err.write(tableOf(view, ctx));
  if (flags.format !== "text") printRecord(ctx, loopRecord(view, result));
  return result;
}

/** With --json, stdout has only the record of the loop. */
function passPrinter({ ctx, flags, printer }: StartedRun): Printer {
  return flags.format === "json" ? { event: (event) => printWarning(ctx, event), finish: () => {} } : printer;
}

function loopRecord(view: LoopView, { status, result, error }: ResultRecord) {
  return { type: "loop", status, result, ...(toPrintedJson(view) as object), ...(error === undefined ? {} : { error }) };
}

function tableOf(view: LoopView, ctx: CommandContext): string {
  const style = styleOf(ctx.err);
  const table = itemTable(view.passes, columns, { paintTitle: style.dim, width: ctx.err.isTty ? ctx.err.columns : undefined });
  const paint = view.reason === "passed" ? style.green : style.yellow;
  return `\n${table}${paint(printable(view.why ?? view.state))}\n`;
}

const columns: readonly ItemColumn<LoopPass>[] = [
  { title: "pass", align: "right", cell: ({ pass }) => (pass === 0 ? "–" : String(pass)) },
  { title: "agent", cell: ({ agent, pass }) => (pass === 0 ? "" : printable(agent)) },
  { title: "files", align: "right", cell: ({ files, pass }) => (pass === 0 ? "" : files === null ? "?" : String(files)) },
  { title: "check", cell: ({ check, status }) => checkText(check, status) },
  { title: "tokens", align: "right", cell: ({ usage, pass }) => (pass === 0 ? "" : shortCount(totalInput(usage) + usage.output)) },
  { title: "cost", align: "right", cell: (pass) => (pass.pass === 0 ? "" : costText(pass)) },
  { title: "time", align: "right", cell: ({ durationMs }) => formatDuration(durationMs) },
  { title: "output", cell: ({ output }) => output ?? "" },
];

function checkText(check: LoopPass["check"], status: LoopPass["status"]): string {
  if (check === null) return status ?? "runs";
  return check.passed ? "passed" : check.exitCode === null ? "stopped" : `exit code ${check.exitCode}`;
}
