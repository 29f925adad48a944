// skein auth status: which credential would be used for each vendor, and by agents of their own; never its value.
import type { AuthRow, OwnCredential } from "../../protocol/api.ts";
import { jsonFlag } from "../args.ts";
import type { Args, Command, Door } from "../command.ts";
import { jsonText } from "../json.ts";
import { plain, showsUnicode, styleOf } from "../style.ts";
import { tableText } from "../table.ts";

export const auth: Command = {
  name: "auth",
  summary: "which key or sign-in would be used for each vendor, never its value",
  usage: "status [--json]",
  positionals: { min: 1, max: 1 },
  verbs: ["status"],
  flags: [jsonFlag],
  run: runAuth,
};

async function runAuth(args: Args, door: Door): Promise<number> {
  const api = await door.api();
  const rows = (await api.auth.status()).toSorted((a, b) => Number(b.ready) - Number(a.ready));
  if (args.flags["json"]) {
    door.out.write(jsonText(rows));
    return 0;
  }
  const style = styleOf(door.out);
  const marks = showsUnicode(door.env) ? { yes: "✓", no: "✗" } : { yes: "+", no: "-" };
  const cells = (row: AuthRow): string[] =>
    row.ready
      ? [style.green(marks.yes), plain(row.vendor), plain(row.source ?? "no key needed"), style.dim(plain(row.baseUrl))]
      : [style.dim(marks.no), plain(row.vendor), style.dim("not set"), style.dim(plain(row.hint))];
  const own = ({ agent, kind, source, note }: OwnCredential): string[] => {
    const words = [kind === "key" ? "a key of its own" : "its own sign-in", ...(note === "" ? [] : [note])].join("; ");
    return [style.green(marks.yes), `  ${plain(agent)}`, plain(source), style.dim(plain(words))];
  };
  door.out.write(
    tableText(
      rows.flatMap((row) => [cells(row), ...(row.agents ?? []).map(own)]),
      { columns: [{}, { title: "VENDOR" }, { title: "KEY" }, { title: "WHERE" }], paintTitle: style.dim },
    ),
  );
  return 0;
}
