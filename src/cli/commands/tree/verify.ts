// skein verify: checks the integrity of the store.
import { pluralize } from "../../../kit/text/cut-text.ts";
import { jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { jsonText } from "../../print/json.ts";
import { stripControls, styleOf } from "../../terminal/style.ts";

export const verify: Command = {
  name: "verify",
  summary: "check the whole store, and list damaged data",
  usage: "[--repair] [--json]",
  positionals: { min: 0, max: 0 },
  flags: [{ name: "repair", summary: "repair what can be repaired, then check" }, jsonFlag],
  notes: `The exit code is 0 without problems, else 1. --repair completes transcripts from
the store, releases sessions held by processes that have exited, rebuilds a damaged
full-text index and deletes files that belong to nothing.`,
  run: runVerify,
};

async function runVerify(args: Args, ctx: CommandContext): Promise<number> {
  const api = await ctx.api();
  const progress = ctx.err.isTty ? { onProgress: (checked: number) => ctx.err.write(`\r${checked.toLocaleString("en-US")} checked`) } : {};
  const report = await api.store
    .verify({ repair: args.flags["repair"] === true, ...progress })
    .finally(() => ctx.err.isTty && ctx.err.write("\r\x1b[K"));
  const ok = report.problems.length === 0;
  if (args.flags["json"]) {
    ctx.out.write(jsonText({ ok, ...report }));
    return ok ? 0 : 1;
  }
  const style = styleOf(ctx.out);
  const totals = (["session", "turn", "node", "handle", "transcript"] as const)
    .map((noun) => pluralize(report[`${noun}s`], noun))
    .join(", ");
  for (const item of report.repaired ?? []) ctx.out.write(`${style.green("repaired")} ${stripControls(item.message)}\n`);
  for (const problem of report.problems)
    ctx.out.write(`${style.red(stripControls(problem.kind))} ${stripControls(problem.subject)}: ${stripControls(problem.message)}\n`);
  ctx.out.write(ok ? `${style.green("ok")}: ${totals}\n` : `${style.red(pluralize(report.problems.length, "problem"))} in ${totals}\n`);
  return ok ? 0 : 1;
}
