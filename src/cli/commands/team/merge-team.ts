// skein team merge: shows what a team's work would change in the project, and brings it in once a person has agreed.
import type { Api } from "../../../protocol/api/api.ts";
import { pluralize } from "../../../kit/text/cut-text.ts";
import { exitCodes, Fault } from "../../../protocol/api/error.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import type { ResultRecord } from "../../../protocol/json/records.ts";
import { configuredTurn } from "../../../protocol/api/turn-options.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
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
  if (!isJson) show(diff, args, ctx);
  const isWanted = diff.conflicts.length === 0 && diff.changes.length > 0 && !args.flags["dry-run"];
  const isAllowed = isWanted && (args.flags["yes"] === true || (canAsk && (await confirm(ctx, "Bring this into the project?"))));
  const merged = isAllowed && (await merge(api, session, ctx));
  if (isJson) ctx.out.write(jsonText({ ...diff, merged }));
  else tell(diff, { session, isWanted, isAllowed, canAsk }, ctx);
  return diff.conflicts.length > 0 ? 1 : 0;
}

function show({ conflicts, changes, patch }: TeamDiff, args: Args, ctx: CommandContext): void {
  const style = styleOf(ctx.out);
  if (args.flags["stat"]) ctx.out.write(statText(changes, style));
  else if (patch !== "") ctx.out.write(`${patchText(patch, ctx)}\n${ctx.out.isTty ? statText(changes, style) : ""}`);
  for (const path of conflicts) ctx.err.write(`${styleOf(ctx.err).red("conflict")} ${stripControls(path)}\n`);
}

type How = { session: Session; isWanted: boolean; isAllowed: boolean; canAsk: boolean };

function tell({ conflicts, changes, work }: TeamDiff, { session, isWanted, isAllowed, canAsk }: How, ctx: CommandContext): void {
  const count = pluralize(changes.length, "file");
  if (isAllowed)
    ctx.err.write(`${count} changed in the project; \`skein files diff ${shortId(session.id)}\` and \`restore\` know the state before\n`);
  else if (conflicts.length > 0)
    ctx.err.write(`the project was changed in the same places since: nothing was brought in; the team's commit is ${work}\n`);
  else if (changes.length === 0) ctx.err.write("the project has all of it already\n");
  else if (isWanted && !canAsk) ctx.err.write(`nothing was changed: add --yes to bring in ${count}\n`);
  else ctx.err.write("nothing was changed\n");
}

async function merge(api: Api, session: Session, ctx: CommandContext): Promise<boolean> {
  const result = await mergeTurn(api, session, { event: (event) => printWarning(ctx, event), finish: () => {} });
  if (result.status === "ok") return true;
  throw new Fault("file-unwritable", `the work was not brought in: ${result.error?.message ?? result.status}`, {
    hint: result.error?.hint ?? `skein team status ${shortId(session.id)} shows the rest`,
  });
}

async function mergeTurn(api: Api, session: Session, printer: Printer): Promise<ResultRecord> {
  const turn = configuredTurn(await api.config.values());
  const events = api.turn.start({ ...turn, session: session.id, agent: null, prompt: null, team: { work: "merge" } });
  return explainBusyTeam(session, followTurn(events, printer));
}

/** After a run that was told to: what changes is shown, in the format of the run. */
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
