// skein files: what changed in the project since a node or between two, and bringing an old state back.
import type { Api, FilesRestorePlan } from "../../../protocol/api/api.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { jsonFlag, usageLine } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { jsonText } from "../../print/json.ts";
import { confirm, patchText, statText } from "../../print/changes.ts";
import { stripControls, styleOf } from "../../terminal/style.ts";

export const files: Command = {
  name: "files",
  summary: "what a branch changed in files, and bring an old state back",
  usage: "diff <node> [node] [--stat] | restore <node> [--dry-run] [--yes] [--json]",
  positionals: { min: 2, max: 3 },
  verbs: ["diff", "restore"],
  flags: [
    { name: "stat", summary: "only which files changed, and how many lines" },
    { name: "dry-run", summary: "show what restore would change, and change nothing" },
    { name: "yes", short: "y", summary: "restore without asking" },
    jsonFlag,
  ],
  notes: `A turn that has tools records the project before and after it, outside of the
project: your index, refs and files stay as they are. Files that .gitignore
names, other repositories inside of the project and the content of files over
5 MB are not recorded, and restore leaves them alone.

A node is a prompt (the files before its turn) or any other node (the files
after it); a session means its tip. With one node, diff compares with now.
Moving in the tree never changes files; only restore does, and it prints how to
undo it.

  skein files diff 1a2b3c4d
  skein files restore 1a2b3c4d --dry-run`,
  run: runFiles,
};

async function runFiles(args: Args, ctx: CommandContext): Promise<number> {
  const [verb, first, second] = args.positionals as [string, string, string | undefined];
  return verb === "diff" ? diff(args, ctx, first, second ?? null) : restore(args, ctx, first, second);
}

async function diff(args: Args, ctx: CommandContext, from: string, to: string | null): Promise<number> {
  if (args.flags["yes"] || args.flags["dry-run"])
    throw new Fault("usage", "--yes and --dry-run belong to restore", { hint: usageLine(files) });
  const found = await (await ctx.api()).files.diff({ from, to, directory: ctx.cwd });
  const { patch, ...without } = found;
  if (args.flags["json"]) ctx.out.write(jsonText(args.flags["stat"] ? without : found));
  else if (args.flags["stat"]) ctx.out.write(statText(found.changes, styleOf(ctx.out)));
  else ctx.out.write(patch === "" ? "nothing changed\n" : patchText(patch, ctx));
  return 0;
}

async function restore(args: Args, ctx: CommandContext, to: string, extra: string | undefined): Promise<number> {
  if (extra !== undefined) throw new Fault("usage", `restore takes one node: "${extra}" is too much`, { hint: usageLine(files) });
  const isAsking = !args.flags["yes"] && !args.flags["dry-run"];
  if (isAsking && (args.flags["json"] || !ctx.stdin.isTty || !ctx.out.isTty))
    throw new Fault("usage", "restore changes files, and there is nobody to ask", { hint: "add --yes, or look first with --dry-run" });
  const api = await ctx.api();
  const plan = await api.files.planRestore({ to, directory: ctx.cwd });
  if (!args.flags["json"]) show(plan, args, ctx);
  const wanted = plan.changes.length > 0 && !args.flags["dry-run"];
  const restored = wanted && (!isAsking || (await confirm(ctx, "Change these files?"))) && (await carryOut(api, plan));
  if (args.flags["json"]) {
    const { patch, ...without } = plan;
    ctx.out.write(jsonText({ ...without, ...(args.flags["stat"] ? {} : { patch }), restored }));
  } else if (restored) {
    const count = plan.changes.length;
    ctx.out.write(`${count} ${count === 1 ? "file" : "files"} restored; undo with: skein files restore ${plan.undo}\n`);
  } else if (wanted) ctx.out.write("nothing was changed\n");
  return 0;
}

async function carryOut(api: Api, plan: FilesRestorePlan): Promise<true> {
  try {
    await api.files.restore(plan);
    return true;
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== "file-unwritable") throw error;
    throw new Fault(error.code, error.message, {
      hint: `what was changed already can be undone with: skein files restore ${plan.undo}`,
      cause: error,
    });
  }
}

function show(plan: FilesRestorePlan, args: Args, ctx: CommandContext): void {
  const style = styleOf(ctx.out);
  if (plan.changes.length === 0) ctx.out.write("the files are as they were then\n");
  else ctx.out.write(args.flags["stat"] ? statText(plan.changes, style) : patchText(plan.patch, ctx));
  for (const path of plan.kept) ctx.out.write(`${style.yellow("left as it is")} ${stripControls(path)}\n`);
}
