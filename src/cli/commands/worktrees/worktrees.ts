// skein worktrees: lists the worktrees of sessions with their unmerged work, and removes merged ones.
import { pluralize } from "../../../kit/text/cut-text.ts";
import { formatDuration } from "../../../kit/text/duration.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import type { WorktreeCleanResult } from "../../../protocol/schema/worktrees.ts";
import type { WorktreeInfo } from "../../../protocol/worktree/ports.ts";
import { checkVerb } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { jsonFlag } from "../../parse/args.ts";
import { confirm, statText } from "../../print/changes.ts";
import { sizeText } from "../../terminal/size-text.ts";
import { stripControls, styleOf, type Style } from "../../terminal/style.ts";
import { tableText } from "../../terminal/table.ts";
import { printReport } from "../report-command.ts";

export const worktrees: Command = {
  name: "worktrees",
  summary: "list the worktrees of sessions, and remove merged ones",
  usage: "[list [--all] | clean [name] [--dry-run] [--force]] [--json]",
  positionals: { min: 0, max: 2 },
  verbs: ["list", "clean"],
  flags: [
    { name: "all", summary: "those of all projects" },
    { name: "dry-run", summary: "only print what clean would remove" },
    { name: "force", summary: "remove the named worktree with its unmerged work" },
    { name: "yes", short: "y", summary: "with --force: do not ask" },
    jsonFlag,
  ],
  notes: `A worktree is a copy of the project's files in .skein/worktrees, in which a session
works: \`skein run -w [name] "task"\`. \`skein merge\` brings its work into the project.

clean removes worktrees whose work is merged, and those in which nothing was changed. It
never removes one in which a turn runs. Unmerged work is removed only by name, with
--force, after it was shown. The conversations stay.`,
  async run(args, ctx) {
    if (args.positionals[0] === "clean") {
      checkVerb(worktrees, args, { positionals: 2, flags: ["dry-run", "force", "yes", "json"] });
      return clean(args, ctx, args.positionals[1] ?? null);
    }
    if (args.positionals.length > 0) checkVerb(worktrees, args, { positionals: 1, flags: ["all", "json"] });
    return list(args, ctx);
  },
};

async function list(args: Args, ctx: CommandContext): Promise<number> {
  const api = await ctx.api();
  const everywhere = args.flags["all"] === true;
  const infos = await api.worktree.list({ project: everywhere ? null : ctx.project });
  return printReport(args, ctx, { json: infos, text: (style) => listText(infos, { style, width: ctx.out.columns, everywhere }) });
}

const columns = [
  { title: "NAME" },
  { title: "STATE" },
  { title: "CHANGED", align: "right" as const },
  { title: "SIZE", align: "right" as const },
  { title: "AGE", align: "right" as const },
  { title: "SESSION" },
  { title: "BASE" },
  { title: "PATH" },
];

function listText(infos: readonly WorktreeInfo[], shown: { style: Style; width: number; everywhere: boolean }): string {
  if (infos.length === 0) return 'no session works in a worktree (skein run -w "task")\n';
  const rows = infos.map((info) => cells(info, shown));
  const problems = infos.flatMap(({ name, problem }) => (problem === null ? [] : [`${name}: ${stripControls(problem)}\n`]));
  return `${tableText(rows, { columns, width: shown.width, paintTitle: shown.style.dim })}${problems.join("")}`;
}

function cells(info: WorktreeInfo, { style, everywhere }: { style: Style; everywhere: boolean }): string[] {
  const [session] = info.sessions;
  const others = info.sessions.length > 1 ? ` +${info.sessions.length - 1}` : "";
  const label = session === undefined ? "purged" : `${stripControls(session.name ?? shortId(session.id))}${others}`;
  return [
    info.name,
    paintState(info, style),
    info.changedFiles === null ? "-" : pluralize(info.changedFiles, "file"),
    info.bytes === null ? "-" : sizeText(info.bytes),
    formatDuration(Math.max(0, Date.now() - info.createdAt)),
    label,
    info.base.slice(0, 8),
    stripControls(everywhere ? info.directory : info.directory.slice(info.project.length + 1)),
  ];
}

function paintState({ state, sessions }: WorktreeInfo, style: Style): string {
  if (sessions.some(({ running }) => running)) return style.green("at work");
  if (state === "unmerged") return style.yellow(state);
  return state === "merged" || state === "clean" ? style.dim(state) : style.red(state);
}

async function clean(args: Args, ctx: CommandContext, name: string | null): Promise<number> {
  const api = await ctx.api();
  const [dryRun, force] = [args.flags["dry-run"] === true, args.flags["force"] === true];
  const project = ctx.project;
  if (force && name !== null && !dryRun && args.flags["yes"] !== true) {
    if (args.flags["json"] || !ctx.stdin.isTty || !ctx.out.isTty)
      throw new Fault("usage", "--force removes unmerged work, and can't ask for confirmation without a terminal", {
        hint: `add --yes, or look first: skein merge ${name} --dry-run`,
      });
    const { changes } = await api.worktree.diff({ session: name, directory: ctx.cwd });
    ctx.out.write(statText(changes, styleOf(ctx.out)));
    if (!(await confirm(ctx, `Remove worktree ${name} with this work?`))) {
      ctx.err.write("nothing was removed\n");
      return 0;
    }
  }
  const result = await api.worktree.clean({ project, name, dryRun, force });
  return printReport(args, ctx, {
    json: result,
    text: (style) => cleanText(result, style),
    remarks: (style) => result.problems.map((problem) => `${style.red("problem")}: ${stripControls(problem)}\n`).join(""),
    exitCode: result.problems.length > 0 || (name !== null && result.skipped.length > 0) ? 1 : 0,
  });
}

function cleanText({ dryRun, removed, skipped }: WorktreeCleanResult, style: Style): string {
  const lines = removed.map(({ name, directory, bytes }) => {
    const size = bytes === null ? "" : `, ${sizeText(bytes)}`;
    return `${dryRun ? "would remove" : "removed"} ${name}  ${style.dim(`${stripControls(directory)}${size}`)}\n`;
  });
  const kept = skipped.map(({ name, reason }) => `${style.yellow("kept")} ${name}: ${stripControls(reason)}\n`);
  return lines.length + kept.length === 0 ? "there is no worktree to remove\n" : [...lines, ...kept].join("");
}
