// skein auth: `status` prints which credential is used for each vendor and agent, never its value. `login` prints how to get
// one: skein itself stores no key and signs in nowhere.
import { nearestWord } from "../../../kit/text/nearest-word.ts";
import type { AgentInfo } from "../../../protocol/api/agents.ts";
import type { Api, VendorAuth, AgentAuth } from "../../../protocol/api/api.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { checkVerb } from "../../parse/args.ts";
import { stripControls, showsUnicode, type Style } from "../../terminal/style.ts";
import { tableText } from "../../terminal/table.ts";
import { reportCommand, type Report } from "../report-command.ts";

export const auth: Command = reportCommand({
  name: "auth",
  summary: "show which key or sign-in each vendor and agent uses, or needs",
  usage: "status | login [vendor|agent] [--json]",
  positionals: { min: 1, max: 2 },
  verbs: ["status", "login"],
  notes: `status prints where each key comes from, never its value. login prints which
variable each vendor's key belongs in, where to get the key, and how to sign in to
each agent. skein stores no key: set the variable in your shell's profile, or
providers.<vendor>.api_key in your config.

  skein auth login anthropic
  skein auth login codex`,
  async report(args, ctx) {
    const api = await ctx.api({ lenient: true });
    const isLogin = args.positionals[0] === "login";
    checkVerb(auth, args, { positionals: isLogin ? 2 : 1, flags: ["json"] });
    if (isLogin) return loginReport(args, ctx, api);
    const vendors = (await api.auth.status()).toSorted((a, b) => Number(b.ready) - Number(a.ready));
    return { json: vendors, text: (style) => authTable(vendors, marksFor(ctx), style) };
  },
});

type Marks = { yes: string; no: string };

function marksFor(ctx: CommandContext): Marks {
  return showsUnicode(ctx.env) ? { yes: "✓", no: "✗" } : { yes: "+", no: "-" };
}

async function loginReport(args: Args, ctx: CommandContext, api: Api): Promise<Report> {
  const [vendors, allAgents] = await Promise.all([api.auth.status(), api.agents.list()]);
  const agents = allAgents.filter(({ kind }) => kind === "cli");
  const [, wanted] = args.positionals;
  const isWanted = (name: string) => wanted === undefined || name === wanted.toLowerCase();
  const json = {
    vendors: vendors.filter(({ vendor }) => isWanted(vendor)),
    agents: agents
      .filter(({ name }) => isWanted(name))
      .map(({ name, installed, signIn, credentials, missing, hint }) => ({
        name,
        installed,
        signIn,
        isReady: missing === null,
        credentials,
        hint,
      })),
  };
  const names = [...new Set([...vendors.map(({ vendor }) => vendor), ...agents.map(({ name }) => name)])];
  if (json.vendors.length + json.agents.length === 0) {
    const nearest = nearestWord(wanted!, names);
    throw new Fault("usage", `there is no vendor or agent "${wanted}"`, {
      hint: nearest === null ? `one of: ${names.join(", ")}` : `did you mean "${nearest}"?`,
    });
  }
  return { json, text: (style) => loginText(json, marksFor(ctx), style), remarks: (style) => style.dim(loginRemark) };
}

const loginRemark = "skein stores no key: set the variable in your shell's profile, then check with `skein doctor`\n";

type LoginList = {
  vendors: VendorAuth[];
  agents: (Pick<AgentInfo, "name" | "installed" | "signIn" | "credentials" | "hint"> & { isReady: boolean })[];
};

function loginText({ vendors, agents }: LoginList, marks: Marks, style: Style): string {
  const mark = (isReady: boolean) => (isReady ? style.green(marks.yes) : style.dim(marks.no));
  const vendorRows = vendors.map(({ vendor, ready, source, keyVariable, keyUrl }) => {
    const missing = ready || keyVariable === null ? "no key needed" : `export ${keyVariable}=...`;
    const key = source !== null ? `${source} is set` : missing;
    return [mark(ready), stripControls(vendor), stripControls(key), style.dim(keyUrl ?? "")];
  });
  const agentRows = agents.map(({ name, installed, isReady, signIn, credentials, hint }) => {
    const source = credentials.find(({ kind }) => kind !== "none")?.source;
    const state = isReady ? `uses ${source ?? "its own sign-in"}` : installed ? "sign in, or use a key" : "not installed";
    return [mark(isReady), name, stripControls(state), style.dim(stripControls(installed ? (signIn ?? "") : (hint ?? "")))];
  });
  const table = (rows: string[][], titles: [string, string, string]) =>
    tableText(rows, { columns: [{}, ...titles.map((title) => ({ title }))], paintTitle: style.dim });
  const tables = [table(vendorRows, ["VENDOR", "KEY", "GET IT AT"]), table(agentRows, ["AGENT", "STATE", "SIGN IN OR INSTALL"])];
  return tables.filter((text) => text !== "").join("\n");
}

function authTable(vendors: readonly VendorAuth[], marks: Marks, style: Style): string {
  const row = (isReady: boolean, name: string, key: string, details: string): string[] => {
    const credential = stripControls(key);
    const mark = isReady ? style.green(marks.yes) : style.dim(marks.no);
    return [mark, name, isReady ? credential : style.dim(credential), style.dim(stripControls(details))];
  };
  const vendorRow = ({ vendor, ready, source, keyVariable, baseUrl, hint }: VendorAuth) => {
    const missing = keyVariable === null ? "not running" : "not set";
    return row(ready, stripControls(vendor), ready ? (source ?? "no key needed") : missing, ready ? baseUrl : hint);
  };
  const agentRow = ({ agent, kind, source, note }: AgentAuth) => {
    const origin = kind === "key" ? "a key of its own" : "its own sign-in";
    return row(true, `  ${stripControls(agent)}`, source, note === "" ? origin : `${origin}; ${note}`);
  };
  const rows = vendors.flatMap((vendor) => [vendorRow(vendor), ...(vendor.agents ?? []).map(agentRow)]);
  return tableText(rows, { columns: [{}, { title: "VENDOR" }, { title: "KEY" }, { title: "WHERE" }], paintTitle: style.dim });
}
