// skein auth status: prints which credential would be used for each vendor and agent. Never prints its value.
import type { VendorAuth, AgentAuth } from "../../../protocol/api/api.ts";
import { stripControls, showsUnicode, type Style } from "../../terminal/style.ts";
import { tableText } from "../../terminal/table.ts";
import { reportCommand } from "../report-command.ts";

export const auth = reportCommand({
  name: "auth",
  summary: "show which key or sign-in is used for each vendor, never its value",
  usage: "status [--json]",
  positionals: { min: 1, max: 1 },
  verbs: ["status"],
  async report(_args, ctx) {
    const api = await ctx.api();
    const vendors = (await api.auth.status()).toSorted((a, b) => Number(b.ready) - Number(a.ready));
    const marks = showsUnicode(ctx.env) ? { yes: "✓", no: "✗" } : { yes: "+", no: "-" };
    return { json: vendors, text: (style) => authTable(vendors, marks, style) };
  },
});

function authTable(vendors: readonly VendorAuth[], marks: { yes: string; no: string }, style: Style): string {
  const row = (isReady: boolean, name: string, key: string, details: string): string[] => {
    const credential = stripControls(key);
    const mark = isReady ? style.green(marks.yes) : style.dim(marks.no);
    return [mark, name, isReady ? credential : style.dim(credential), style.dim(stripControls(details))];
  };
  const vendorRow = ({ vendor, ready, source, baseUrl, hint }: VendorAuth) =>
    row(ready, stripControls(vendor), ready ? (source ?? "no key needed") : "not set", ready ? baseUrl : hint);
  const agentRow = ({ agent, kind, source, note }: AgentAuth) => {
    const origin = kind === "key" ? "a key of its own" : "its own sign-in";
    return row(true, `  ${stripControls(agent)}`, source, note === "" ? origin : `${origin}; ${note}`);
  };
  const rows = vendors.flatMap((vendor) => [vendorRow(vendor), ...(vendor.agents ?? []).map(agentRow)]);
  return tableText(rows, { columns: [{}, { title: "VENDOR" }, { title: "KEY" }, { title: "WHERE" }], paintTitle: style.dim });
}
