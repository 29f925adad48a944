// skein auth status: prints which credential would be used for each vendor and agent. Never prints its value.
import type { VendorAuth, AgentAuth } from "../../../protocol/api/api.ts";
import { jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { jsonText } from "../../print/json.ts";
import { stripControls, showsUnicode, styleOf } from "../../terminal/style.ts";
import { tableText } from "../../terminal/table.ts";

export const auth: Command = {
  name: "auth",
  summary: "show which key or sign-in is used for each vendor, never its value",
  usage: "status [--json]",
  positionals: { min: 1, max: 1 },
  verbs: ["status"],
  flags: [jsonFlag],
  run: runAuth,
};

async function runAuth(args: Args, ctx: CommandContext): Promise<number> {
  const api = await ctx.api();
  const vendors = (await api.auth.status()).toSorted((a, b) => Number(b.ready) - Number(a.ready));
  if (args.flags["json"]) {
    ctx.out.write(jsonText(vendors));
    return 0;
  }
  const style = styleOf(ctx.out);
  const marks = showsUnicode(ctx.env) ? { yes: "✓", no: "✗" } : { yes: "+", no: "-" };
  const vendorCells = (vendorAuth: VendorAuth): string[] =>
    vendorAuth.ready
      ? [
          style.green(marks.yes),
          stripControls(vendorAuth.vendor),
          stripControls(vendorAuth.source ?? "no key needed"),
          style.dim(stripControls(vendorAuth.baseUrl)),
        ]
      : [style.dim(marks.no), stripControls(vendorAuth.vendor), style.dim("not set"), style.dim(stripControls(vendorAuth.hint))];
  const agentCells = ({ agent, kind, source, note }: AgentAuth): string[] => {
    const remark = [kind === "key" ? "a key of its own" : "its own sign-in", ...(note === "" ? [] : [note])].join("; ");
    return [style.green(marks.yes), `  ${stripControls(agent)}`, stripControls(source), style.dim(stripControls(remark))];
  };
  ctx.out.write(
    tableText(
      vendors.flatMap((vendor) => [vendorCells(vendor), ...(vendor.agents ?? []).map(agentCells)]),
      { columns: [{}, { title: "VENDOR" }, { title: "KEY" }, { title: "WHERE" }], paintTitle: style.dim },
    ),
  );
  return 0;
}
