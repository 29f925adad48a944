// skein files: shows file changes of the project since a node or between two nodes, and restores an old state.
import { pluralize } from "../../../kit/text/cut-text.ts";
import type { Api, FilesRestorePlan } from "../../../protocol/api/api.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { jsonFlag, usageLine } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { confirm, othersText, patchText, statText } from "../../print/changes.ts";
import { stripControls, styleOf } from "../../terminal/style.ts";
import { printReport } from "../report-command.ts";

export const files: Command = {
  name: "files",
  summary: "show file changes of a branch, and restore an old state",
  usage: "diff <node> [node] [--stat] | restore <node> [--dry-run] [--yes] [--json]",
  positionals: { min: 2, max: 3 },
  verbs: ["diff", "restore"],
  flags: [
    { name: "stat", summary: "list only the changed files, with line counts" },
    { name: "dry-run", summary: "show what restore would change, and change nothing" },
    { name: "yes", short: "y", summary: "restore without asking" },
    jsonFlag,
  ],
  notes: `A turn with tools records the project before it, after each answer with calls
that may change files, and at its end. The records are stored outside of the
project: your index, refs and files are not changed. Files in .gitignore, nested
repositories and the content of files over 5 MB are not recorded, and restore
does not change them.

For a prompt or a node with tool calls, the state is that before the work that
follows; for any other node, that after it; for a session, that of its tip. Where
a state is not known, the nearest nodes with a known one are named. With one node,
diff compares with the current files. Changes by a person or another session are
listed as not by this branch. Moving in the tree never changes files; only restore
does, and it prints how to undo it.

  skein files diff 1a2b3c4d
  skein files restore 1a2b3c4d --dry-run`,
  async run(args, ctx) {
    const [verb, first, second] = args.positionals as [string, string, string | undefined];
    if (verb === "diff") return runDiff(args, ctx, { from: first, to: second ?? null });
    if (second !== undefined)
      throw new Fault("usage", `unexpected argument "${second}": restore takes one node`, { hint: usageLine(files) });
    return runRestore(args, ctx, first);
  },
};

async function runDiff(args: Args, ctx: CommandContext, { from, to }: { from: string; to: string | null }): Promise<number> {
  if (args.flags["yes"] || args.flags["dry-run"])
    throw new Fault("usage", "--yes and --dry-run belong to restore", { hint: usageLine(files) });
  const api = await ctx.api();
  const { patch, ...stat } = await api.files.diff({ from, to, directory: ctx.cwd });
  if (args.flags["stat"]) return printReport(args, ctx, { json: stat, text: (style) => statText(stat.changes, style, stat.others) });
  return printReport(args, ctx, {
    json: { ...stat, patch },
    text: () => (patch === "" ? "nothing changed\n" : patchText(patch, ctx)),
    // Remarks are printed apart from the patch, so that the patch can be applied.
    remarks: (style) => othersText(stat.others, style),
  });
}

async function runRestore(args: Args, ctx: CommandContext, to: string): Promise<number> {
  const needsConfirmation = !args.flags["yes"] && !args.flags["dry-run"];
  if (needsConfirmation && (args.flags["json"] || !ctx.stdin.isTty || !ctx.out.isTty))
    throw new Fault("usage", "restore changes files, and can't ask for confirmation without a terminal", {
      hint: "add --yes, or look first with --dry-run",
    });
  const api = await ctx.api();
  const plan = await api.files.planRestore({ to, directory: ctx.cwd });
  if (!args.flags["json"]) ctx.out.write(planText(plan, args, ctx));
  const hasChanges = plan.changes.length > 0 && !args.flags["dry-run"];
  const restored = hasChanges && (!needsConfirmation || (await confirm(ctx, "Change these files?")));
  if (restored) await applyPlan(api, plan);
  const { patch, ...stat } = plan;
  return printReport(args, ctx, {
    json: { ...stat, ...(args.flags["stat"] ? {} : { patch }), restored },
    text: () => {
      if (restored) return `${pluralize(plan.changes.length, "file")} restored; undo with: skein files restore ${plan.undo}\n`;
      return hasChanges ? "nothing was changed\n" : "";
    },
  });
}

async function applyPlan(api: Api, plan: FilesRestorePlan): Promise<void> {
  try {
    await api.files.restore(plan);
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== "file-unwritable") throw error;
    throw new Fault(error.code, error.message, {
      hint: `some files were already changed; undo with: skein files restore ${plan.undo}`,
      cause: error,
    });
  }
}

function planText({ changes, patch, kept, others }: FilesRestorePlan, args: Args, ctx: CommandContext): string {
  const style = styleOf(ctx.out);
  const keptLines = kept.map((path) => `${style.yellow("not changed")} ${stripControls(path)}\n`).join("");
  if (changes.length === 0) return `the files are already in that state\n${keptLines}`;
  const text = args.flags["stat"] ? statText(changes, style, others) : `${patchText(patch, ctx)}${othersText(others, style)}`;
  return `${text}${keptLines}`;
}
