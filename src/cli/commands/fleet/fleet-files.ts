// skein fleet pull: brings the files of a session of the fleet into the project's repository, as a commit below refs/skein.
import { toPrintedJson } from "../../../protocol/json/json-case.ts";
import { stripControls } from "../../terminal/style.ts";
import { findSession } from "../../parse/find-session.ts";
import type { Args, CommandContext } from "../../parse/command.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { Report } from "../report-command.ts";

export async function pull(args: Args, ctx: CommandContext): Promise<Report> {
  const wanted = args.positionals[1];
  if (wanted === undefined)
    throw new Fault("usage", "which session?", { hint: "`skein fleet status --all` lists them: skein fleet pull <session>" });
  const fleet = await ctx.fleet();
  const session = await findSession(await ctx.api(), ctx, wanted);
  const pulled = await fleet.pull(session.id, ctx.project);
  const { ref, commit, files, leftOut } = pulled;
  const count = files === 1 ? "1 changed file" : `${files} changed files`;
  return {
    json: toPrintedJson(pulled),
    text: `${count} in commit ${commit.slice(0, 12)}\n`,
    remarks: (style) =>
      style.dim(`your files, index and branches are as they were
  git diff HEAD...${ref}    shows the changes
  git cherry-pick ${ref}    takes them over\n`) +
      leftOut.map((path) => `${style.yellow("not part of it:")} ${stripControls(path)}, which is too large to travel\n`).join(""),
  };
}
