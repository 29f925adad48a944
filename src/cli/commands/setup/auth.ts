// skein auth status: which credential would be used for each vendor, and by agents of their own; never its value.
import type { VendorAuth, AgentAuth } from "../../../protocol/api/api.ts";
import { jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { jsonText } from "../../print/json.ts";
import { stripControls, showsUnicode, styleOf } from "../../terminal/style.ts";
import { tableText } from "../../terminal/table.ts";

export const auth: Command = {
  name: "auth",
  summary: "which key or sign-in would be used for each vendor, never its value",
  usage: "status [--json]",
  positionals: { min: 1, max: 1 },
  verbs: ["status"],
  flags: [jsonFlag],
  run: runAuth,
};

async function runAuth(args: Args, ctx: CommandContext): Promise<number> {
  const api = await ctx.api();
  const rows = (await api.auth.status()).toSorted((a, b) => Number(b.ready) - Number(a.ready));
  if (args.flags["json"]) {
    ctx.out.write(jsonText(rows));
    return 0;
  }
  const style = styleOf(ctx.out);
  const marks = showsUnicode(ctx.env) ? { yes: "✓", no: "✗" } : { yes: "+", no: "-" };
  const cells = (row: VendorAuth): string[] =>
    row.ready
      ? [
          style.green(marks.yes),
          stripControls(row.vendor),
          stripControls(row.source ?? "no key needed"),
          style.dim(stripControls(row.baseUrl)),
        ]
      : [style.dim(marks.no), stripControls(row.vendor), style.dim("not set"), style.dim(stripControls(row.hint))];
  const own = ({ agent, kind, source, note }: AgentAuth): string[] => {
    const words = [kind === "key" ? "a key of its own" : "its own sign-in", ...(note === "" ? [] : [note])].join("; ");
    return [style.green(marks.yes), `  ${stripControls(agent)}`, stripControls(source), style.dim(stripControls(words))];
  };
  ctx.out.write(
    tableText(
      rows.flatMap((row) => [cells(row), ...(row.agents ?? []).map(own)]),
      { columns: [{}, { title: "VENDOR" }, { title: "KEY" }, { title: "WHERE" }], paintTitle: style.dim },
    ),
  );
  return 0;
}
