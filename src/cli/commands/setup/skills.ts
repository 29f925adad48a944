// skein skills: lists the skills for the agent, and problems in skill files.
import { stripControls } from "../../terminal/style.ts";
import { cutToWidth } from "../../terminal/table.ts";
import { problemText, reportCommand } from "../report-command.ts";

export const skills = reportCommand({
  name: "skills",
  summary: "list the skills that the agent finds here",
  usage: "[--json]",
  notes: "docs/SKILLS.md explains how to write a skill. Problems are listed on stderr.",
  async report(_args, ctx) {
    const api = await ctx.api();
    const list = await api.skills.list({ directory: ctx.cwd });
    const width = ctx.out.isTty ? ctx.out.columns : Number.POSITIVE_INFINITY;
    return {
      json: list,
      text(style) {
        if (list.skills.length === 0) return "no skills here: add one as .skein/skills/<name>/SKILL.md\n";
        const texts = list.skills.map(({ name, scope, trusted, hidden, description, path }) => {
          const marks = [scope, ...(trusted ? [] : ["not trusted"]), ...(hidden ? ["not for the model"] : [])].join(", ");
          const summary = cutToWidth(stripControls(description), width - 2);
          return `${style.bold(stripControls(name))} ${style.dim(`(${marks})`)}\n  ${summary}\n  ${style.dim(stripControls(path))}\n`;
        });
        return texts.join("");
      },
      remarks: (style) => list.problems.map((problem) => problemText(problem, style)).join(""),
    };
  },
});
