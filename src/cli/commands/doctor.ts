// skein doctor: what works on this machine, what does not, and what to do about it.
import type { Check } from "../../protocol/api.ts";
import { jsonFlag } from "../args.ts";
import type { Args, Command, Door } from "../command.ts";
import { jsonText } from "../json.ts";
import { plain, showsUnicode, styleOf, type Style } from "../style.ts";

export const doctor: Command = {
  name: "doctor",
  summary: "check this machine, and say what to do next",
  usage: "[--json]",
  positionals: { min: 0, max: 0 },
  flags: [jsonFlag],
  notes: `Exit code 0 when everything that is needed works, else 1.`,
  run: runDoctor,
};

async function runDoctor(args: Args, door: Door): Promise<number> {
  const api = await door.api({ lenient: true });
  const report = await api.doctor.check();
  if (args.flags["json"]) {
    door.out.write(jsonText(report));
    return report.ok ? 0 : 1;
  }
  const style = styleOf(door.out);
  const marks = showsUnicode(door.env) ? { good: "✓", bad: "✗", minor: "○" } : { good: "+", bad: "x", minor: "-" };
  const width = Math.max(0, ...report.checks.map((check) => check.name.length));
  for (const check of report.checks) door.out.write(checkText(check, width, style, marks));
  const next = report.checks.find((check) => !check.ok && !check.optional)?.hint?.split("\n")[0];
  if (report.ok) door.out.write(`\n${style.green("ready")}: try skein run "explain what this project does", or skein demo\n`);
  else door.out.write(`\n${style.red("not ready")}${next === undefined ? "" : `: ${plain(next)}`}\n`);
  return report.ok ? 0 : 1;
}

function checkText(check: Check, width: number, style: Style, marks: { good: string; bad: string; minor: string }): string {
  const mark = check.ok ? style.green(marks.good) : check.optional ? style.yellow(marks.minor) : style.red(marks.bad);
  const hints = check.ok || check.hint === undefined ? [] : check.hint.split("\n");
  const below = hints.map((line) => `${" ".repeat(width + 4)}${style.dim(plain(line))}\n`).join("");
  return `${mark} ${check.name.padEnd(width)}  ${plain(check.detail)}\n${below}`;
}
