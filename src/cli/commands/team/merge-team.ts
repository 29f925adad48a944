// skein team merge: shows the changes of a team's work, and merges them into the project after confirmation.
import type { Api } from "../../../protocol/api/api.ts";
import { pluralize } from "../../../kit/text/cut-text.ts";
import { exitCodes, Fault } from "../../../protocol/api/error.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import type { ResultRecord } from "../../../protocol/json/records.ts";
import { configuredTurn } from "../../../protocol/api/turn-options.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import { guardedText } from "../../../protocol/worktree/guarded-text.ts";
import type { TeamDiff } from "../../../protocol/team/views.ts";
import type { Args, CommandContext } from "../../parse/command.ts";
import { followTurn } from "../../print/follow-turn.ts";
import { jsonText } from "../../print/json.ts";
import { confirm, patchText, statText } from "../../print/changes.ts";
import { printerFor, printWarning, type OutputFormat, type Printer } from "../../print/printer.ts";
import { stripControls, styleOf } from "../../terminal/style.ts";
import { findTeam, explainBusyTeam } from "./find-team.ts";

export async function mergeTeam(args: Args, ctx: CommandContext): Promise<number> {
  if (args.flags["yes"] && args.flags["dry-run"]) throw new Fault("usage", "--yes and --dry-run exclude each other");
  const api = await ctx.api();
  const session = await findTeam(api, ctx, args.positionals[1]);
  const diff = await api.team.diff({ session: session.id });
  const isJson = args.flags["json"] === true;
  const canAsk = !isJson && ctx.stdin.isTty && ctx.out.isTty;
  if (!isJson) printDiff(diff, args, ctx);
  const canMerge = diff.conflicts.length === 0 && diff.changes.length > 0 && !args.flags["dry-run"];
  const isConfirmed = canMerge && (args.flags["yes"] === true || (canAsk && (await confirm(ctx, "Merge this into the project?"))));
  const merged = isConfirmed && (await merge(api, session, ctx));
  if (isJson) ctx.out.write(jsonText({ ...diff, merged }));
  else printOutcome(diff, { session, canMerge, isConfirmed, canAsk }, ctx);
  return diff.conflicts.length > 0 ? 1 : 0;
}

function printDiff({ conflicts, changes, guarded, patch }: TeamDiff, args: Args, ctx: CommandContext): void {
  const style = styleOf(ctx.out);
  if (args.flags["stat"]) ctx.out.write(statText(changes, style));
  else if (patch !== "") ctx.out.write(`${patchText(patch, ctx)}\n${ctx.out.isTty ? statText(changes, style) : ""}`);
  for (const path of conflicts) ctx.err.write(`${styleOf(ctx.err).red("conflict")} ${stripControls(path)}\n`);
  if (guarded.length > 0) ctx.err.write(`${styleOf(ctx.err).yellow("caution:")} ${stripControls(guardedText(guarded))}\n`);
}

type MergeDecision = { session: Session; canMerge: boolean; isConfirmed: boolean; canAsk: boolean };

function printOutcome({ conflicts, changes, work }: TeamDiff, decision: MergeDecision, ctx: CommandContext): void {
  const count = pluralize(changes.length, "file");
  const id = shortId(decision.session.id);
  if (decision.isConfirmed)
    ctx.err.write(`${count} changed in the project; compare with \`skein files diff ${id}\`, undo with \`skein files restore ${id}\`\n`);
  else if (conflicts.length > 0)
    ctx.err.write(`nothing was merged: the project has changed in the same places; the team's commit is ${work}\n`);
  else if (changes.length === 0) ctx.err.write("the project already has all changes\n");
  else if (decision.canMerge && !decision.canAsk) ctx.err.write(`nothing was changed: add --yes to merge ${count}\n`);
  else ctx.err.write("nothing was changed\n");
}

async function merge(api: Api, session: Session, ctx: CommandContext): Promise<boolean> {
  const result = await mergeTurn(api, session, { event: (event) => printWarning(ctx, event), finish: () => {} });
  if (result.status === "ok") return true;
  throw new Fault("file-unwritable", `the work was not merged: ${result.error?.message ?? result.status}`, {
    hint: result.error?.hint ?? `skein team status ${shortId(session.id)} shows the details`,
  });
}

async function mergeTurn(api: Api, session: Session, printer: Printer): Promise<ResultRecord> {
  const turn = configuredTurn(await api.config.values());
  const events = api.turn.start({ ...turn, session: session.id, agent: null, prompt: null, team: { work: "merge" } });
  return explainBusyTeam(session, followTurn(events, printer));
}

/** For `team run --merge`: prints the changes in the format of the run, and merges them. */
export async function mergeAfterRun(api: Api, session: Session, ctx: CommandContext, format: OutputFormat): Promise<number> {
  const { merge: state } = await api.team.show({ session: session.id });
  if (state === "nothing") {
    ctx.err.write("the team has changed nothing in the project\n");
    return 0;
  }
  if (format === "text") ctx.err.write(statText((await api.team.diff({ session: session.id })).changes, styleOf(ctx.err)));
  const result = await mergeTurn(api, session, await printerFor(format, ctx, { stream: false, tools: [] }));
  return exitCodes[result.status];
}
