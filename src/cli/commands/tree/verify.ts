// skein verify: checks the integrity of the store.
import { groupDigits, pluralize } from "../../../kit/text/cut-text.ts";
import { progressLine } from "../../terminal/progress.ts";
import { stripControls } from "../../terminal/style.ts";
import { reportCommand } from "../report-command.ts";

export const verify = reportCommand({
  name: "verify",
  summary: "check the whole store, and list damaged data",
  usage: "[--repair] [--json]",
  flags: [{ name: "repair", summary: "repair what can be repaired, then check" }],
  notes: `The exit code is 0 without problems, else 1. --repair completes transcripts from
the store, releases sessions held by processes that have exited, rebuilds a damaged
full-text index and deletes files that belong to nothing.`,
  async report(args, ctx) {
    const api = await ctx.api();
    const progress = progressLine(ctx);
    const onProgress = (checked: number) => progress.show(`${groupDigits(checked)} checked`);
    const report = await api.store.verify({ repair: args.flags["repair"] === true, onProgress }).finally(progress.clear);
    const { problems, repaired = [] } = report;
    const ok = problems.length === 0;
    const nouns = ["session", "turn", "node", "handle", "transcript"] as const;
    const totals = nouns.map((noun) => pluralize(report[`${noun}s`], noun)).join(", ");
    return {
      json: { ok, ...report },
      exitCode: ok ? 0 : 1,
      text: (style) => {
        const repairs = repaired.map(({ message }) => `${style.green("repaired")} ${stripControls(message)}\n`);
        const found = problems.map(
          ({ kind, subject, message }) => `${style.red(stripControls(kind))} ${stripControls(subject)}: ${stripControls(message)}\n`,
        );
        const verdict = ok ? `${style.green("ok")}: ${totals}\n` : `${style.red(pluralize(problems.length, "problem"))} in ${totals}\n`;
        return [...repairs, ...found, verdict].join("");
      },
    };
  },
});
