// skein merge: shows the work of a session's worktree, and merges it into the project after confirmation.
import { pluralize } from "../../../kit/text/cut-text.ts";
import type { Api } from "../../../protocol/api/api.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { shellQuote } from "../../../kit/text/shell-quote.ts";
import { guardedText } from "../../../protocol/worktree/guarded-text.ts";
import type { WorktreeDiff } from "../../../protocol/schema/worktrees.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { jsonFlag } from "../../parse/args.ts";
import { confirm, patchText, statText } from "../../print/changes.ts";
import { jsonText } from "../../print/json.ts";
import { stripControls, styleOf } from "../../terminal/style.ts";

export const merge: Command = {
  name: "merge",
  summary: "bring the work of a session's worktree into the project",
  usage: "<session|worktree> [--stat] [--dry-run] [--yes] [--update] [--json]",
  positionals: { min: 1, max: 1 },
  flags: [
    { name: "stat", summary: "list only the changed files, with line counts" },
    { name: "dry-run", summary: "show what merge would change, and change nothing" },
    { name: "yes", short: "y", summary: "merge without asking" },
    { name: "update", summary: "the other direction: bring the project's files into the worktree, with conflict markers" },
    jsonFlag,
  ],
  notes: `It shows the difference and asks. Without a terminal it needs --yes. Changes that you
made in the project since, committed or not, are kept. If you changed the same lines,
nothing is merged: --update brings your version into the worktree, with both sides in
the files that conflict. Resolve them there, by hand or with the agent, and merge again.

Files that your git runs or obeys, such as hooks, need your answer: --yes refuses them.

merge writes files only. It makes no commit, and your index stays as it is. The worktree
stays too, for more work: \`skein worktrees clean\` removes it.

  skein run -w feat "add a parser"
  skein merge feat`,
  run: runMerge,
};

async function runMerge(args: Args, ctx: CommandContext): Promise<number> {
  const [dryRun, yes, isJson] = [args.flags["dry-run"] === true, args.flags["yes"] === true, args.flags["json"] === true];
  if (yes && dryRun) throw new Fault("usage", "--yes and --dry-run exclude each other");
  const api = await ctx.api();
  const target = { session: args.positionals[0] as string, directory: ctx.cwd };
  if (args.flags["update"] === true) return update(api, target, { args, ctx });
  const diff = await api.worktree.diff(target);
  if (!isJson) printDiff(diff, args, ctx);
  const hasWork = diff.conflicts.length === 0 && diff.changes.length > 0;
  const canAsk = !isJson && ctx.stdin.isTty && ctx.out.isTty;
  const isGuarded = diff.guarded.length > 0;
  if (yes && hasWork && isGuarded)
    throw new Fault("usage", `nothing was merged: ${guardedText(diff.guarded)}`, { hint: "leave --yes out, look at them, and confirm" });
  const isConfirmed = hasWork && !dryRun && (yes || (canAsk && (await confirm(ctx, "Merge this into the project?"))));
  // Without a change in the project it only records that the worktree is merged.
  const merges = isConfirmed || (!dryRun && diff.conflicts.length === 0 && diff.changes.length === 0);
  if (merges) await api.worktree.merge({ ...target, expected: { now: diff.now, work: diff.work }, guarded: isGuarded });
  if (isJson) ctx.out.write(jsonText({ ...diff, merged: isConfirmed }));
  else ctx.err.write(outcomeText(diff, { isConfirmed, needsYes: hasWork && !dryRun && !canAsk }));
  return diff.conflicts.length > 0 || (hasWork && !dryRun && !isConfirmed && !canAsk) ? 1 : 0;
}

function printDiff({ conflicts, changes, guarded, patch, problem }: WorktreeDiff, args: Args, ctx: CommandContext): void {
  if (args.flags["stat"]) ctx.out.write(statText(changes, styleOf(ctx.out)));
  else if (patch !== "") ctx.out.write(`${patchText(patch, ctx)}\n${ctx.out.isTty ? statText(changes, styleOf(ctx.out)) : ""}`);
  const style = styleOf(ctx.err);
  for (const path of conflicts) ctx.err.write(`${style.red("conflict")} ${stripControls(path)}\n`);
  if (guarded.length > 0) ctx.err.write(`${style.yellow("caution:")} ${stripControls(guardedText(guarded))}\n`);
  if (problem !== null) ctx.err.write(`${style.yellow("problem:")} ${stripControls(problem)}\n`);
}

function outcomeText(diff: WorktreeDiff, { isConfirmed, needsYes }: { isConfirmed: boolean; needsYes: boolean }): string {
  const { conflicts, changes, worktree, directory, project } = diff;
  const count = pluralize(changes.length, "file");
  if (conflicts.length > 0)
    return `nothing was merged: the project changed in the same lines. Both versions are kept:
  yours        ${stripControls(project)}
  the worktree ${stripControls(directory)}
bring yours into the worktree, with both sides in the files that conflict: skein merge ${worktree} --update\n`;
  if (changes.length === 0) return "the project already has all changes\n";
  if (isConfirmed) return `merged ${count} into ${stripControls(project)}; remove the worktree with: skein worktrees clean ${worktree}\n`;
  return needsYes ? `nothing was changed: add --yes to merge ${count}\n` : "nothing was changed\n";
}

async function update(
  api: Api,
  target: { session: string; directory: string },
  { args, ctx }: { args: Args; ctx: CommandContext },
): Promise<number> {
  const misplaced = ["yes", "dry-run"].find((name) => args.flags[name] === true);
  if (misplaced !== undefined) throw new Fault("usage", `--${misplaced} does not go with --update, which changes only the worktree`);
  const diff = await api.worktree.update(target);
  const { conflicts, directory, worktree } = diff;
  if (args.flags["json"]) ctx.out.write(jsonText({ ...diff, merged: false }));
  else if (conflicts.length === 0) ctx.out.write(`worktree ${worktree} has the project's files of now; its work is on top of them\n`);
  else {
    const style = styleOf(ctx.err);
    for (const path of conflicts) ctx.err.write(`${style.red("conflict")} ${stripControls(`${directory}/${path}`)}\n`);
    ctx.err.write(`both sides are in these files. Resolve them there, or let the agent do it, then merge again:
  skein run -w ${worktree} "resolve the conflict markers in ${stripControls(conflicts.join(", ")).replaceAll('"', "'")}"
  skein merge ${shellQuote(worktree)}\n`);
  }
  return conflicts.length > 0 ? 1 : 0;
}
