// skein skills: lists the skills for the agent, and problems in skill files.
import { jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { jsonText } from "../../print/json.ts";
import { stripControls, styleOf } from "../../terminal/style.ts";
import { cutToWidth } from "../../terminal/table.ts";

export const skills: Command = {
  name: "skills",
  summary: "list the skills that the agent finds here",
  usage: "[--json]",
  positionals: { min: 0, max: 0 },
  flags: [jsonFlag],
  notes: "docs/SKILLS.md explains how to write one. Problems are listed on stderr.",
  run: runSkills,
};

async function runSkills(args: Args, ctx: CommandContext): Promise<number> {
  const api = await ctx.api();
  const list = await api.skills.list({ directory: ctx.cwd });
  if (args.flags["json"]) {
    ctx.out.write(jsonText(list));
    return 0;
  }
  const style = styleOf(ctx.out);
  const width = ctx.out.isTty ? ctx.out.columns : Number.POSITIVE_INFINITY;
  for (const skill of list.skills) {
    const marks = [skill.scope, ...(skill.trusted ? [] : ["not trusted"]), ...(skill.hidden ? ["not for the model"] : [])].join(", ");
    ctx.out.write(`${style.bold(stripControls(skill.name))} ${style.dim(`(${marks})`)}\n`);
    ctx.out.write(`  ${cutToWidth(stripControls(skill.description), width - 2)}\n  ${style.dim(stripControls(skill.path))}\n`);
  }
  if (list.skills.length === 0) ctx.out.write("no skills here: add one as .skein/skills/<name>/SKILL.md\n");
  const errStyle = styleOf(ctx.err);
  for (const problem of list.problems)
    ctx.err.write(`${errStyle.yellow("problem:")} ${stripControls(problem.path)}: ${stripControls(problem.message)}\n`);
  return 0;
}
