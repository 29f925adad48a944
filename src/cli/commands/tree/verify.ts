// skein verify: is everything that was stored still whole?
import { pluralize } from "../../../kit/text/cut-text.ts";
import { jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { jsonText } from "../../print/json.ts";
import { stripControls, styleOf } from "../../terminal/style.ts";

export const verify: Command = {
  name: "verify",
  summary: "check the whole store, and list what is damaged",
  usage: "[--repair] [--json]",
  positionals: { min: 0, max: 0 },
  flags: [{ name: "repair", summary: "mend what can be mended, then check" }, jsonFlag],
  notes: `Exit code 0 when all is well, 1 when there are problems. --repair fills
transcripts from the store, releases sessions that dead processes hold, makes a
damaged full-text index again and removes files that belong to nothing.`,
  run: runVerify,
};

async function runVerify(args: Args, door: CommandContext): Promise<number> {
  const api = await door.api();
  const progress = door.err.isTty
    ? { onProgress: (checked: number) => door.err.write(`\r${checked.toLocaleString("en-US")} checked`) }
    : {};
  const report = await api.store
    .verify({ repair: args.flags["repair"] === true, ...progress })
    .finally(() => door.err.isTty && door.err.write("\r\x1b[K"));
  const ok = report.problems.length === 0;
  if (args.flags["json"]) {
    door.out.write(jsonText({ ok, ...report }));
    return ok ? 0 : 1;
  }
  const style = styleOf(door.out);
  const all = (["session", "turn", "node", "handle", "transcript"] as const).map((noun) => pluralize(report[`${noun}s`], noun)).join(", ");
  for (const item of report.repaired ?? []) door.out.write(`${style.green("repaired")} ${stripControls(item.message)}\n`);
  for (const problem of report.problems)
    door.out.write(`${style.red(stripControls(problem.kind))} ${stripControls(problem.subject)}: ${stripControls(problem.message)}\n`);
  door.out.write(ok ? `${style.green("ok")}: ${all}\n` : `${style.red(pluralize(report.problems.length, "problem"))} in ${all}\n`);
  return ok ? 0 : 1;
}
