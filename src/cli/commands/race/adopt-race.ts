// skein race adopt: merges the work of one agent of a race into the project, and grafts the conclusions of the others.
import { pluralize } from "../../../kit/text/cut-text.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { RaceAdoption } from "../../../protocol/race/views.ts";
import { guardedText } from "../../../protocol/worktree/guarded-text.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import type { Args, CommandContext } from "../../parse/command.ts";
import { statText } from "../../print/changes.ts";
import { jsonText } from "../../print/json.ts";
import { stripControls, styleOf } from "../../terminal/style.ts";
import { findRacer } from "./find-race.ts";

export async function adoptRace(args: Args, ctx: CommandContext): Promise<number> {
  const wanted = args.positionals[1];
  if (wanted === undefined)
    throw new Fault("usage", "race adopt needs the session of an agent", {
      hint: "`skein race show` lists them: skein race adopt <session>",
    });
  const api = await ctx.api();
  const session = await findRacer(api, ctx, wanted);
  const adoption = await api.race.adopt({ session, dryRun: args.flags["dry-run"] === true });
  if (args.flags["json"]) ctx.out.write(jsonText(adoption));
  else printAdoption(adoption, ctx);
  return adoption.conflicts.length + adoption.guarded.length > 0 ? 1 : 0;
}

function printAdoption(adoption: RaceAdoption, ctx: CommandContext): void {
  const { changes, conflicts, guarded, problems, grafted, continuesIn, session, adopted } = adoption;
  const style = styleOf(ctx.err);
  ctx.out.write(statText(changes, styleOf(ctx.out)));
  for (const path of conflicts) ctx.err.write(`${style.red("conflict")} ${stripControls(path)}\n`);
  if (conflicts.length > 0)
    ctx.err.write(
      `nothing was adopted: the project has changed in the same places; skein merge ${shortId(session)} helps with the conflict\n`,
    );
  if (!adopted && conflicts.length === 0 && guarded.length > 0)
    ctx.err.write(
      `nothing was adopted: ${stripControls(guardedText(guarded))}; look at them and confirm: skein merge ${shortId(session)}\n`,
    );
  if (!adopted) return;
  for (const problem of problems) ctx.err.write(style.yellow(`not grafted: ${stripControls(problem)}\n`));
  const count = `${pluralize(changes.length, "file")} changed in the project, ${pluralize(grafted.length, "conclusion")} grafted`;
  ctx.err.write(`${count}; session ${shortId(continuesIn)} continues there: skein run -c "..."\n`);
}
