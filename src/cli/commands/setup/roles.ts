// skein roles: lists the roles, their origin, and problems in role files.
import { Fault } from "../../../protocol/api/error.ts";
import { roleRecord } from "../../../protocol/json/records.ts";
import { promptTokens, type Role, type RoleList } from "../../../protocol/api/role.ts";
import { jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { stripControls, styleOf, type Style } from "../../terminal/style.ts";
import { tableText } from "../../terminal/table.ts";

export const roles: Command = {
  name: "roles",
  summary: "list the roles that an agent can have here, or show one",
  usage: "[show <name>] [--names] [--json]",
  positionals: { min: 0, max: 2 },
  flags: [{ name: "names", summary: "print only names, one per line (for shell completion)" }, jsonFlag],
  notes: `A role is a prompt with limits on tools, policy, time and memory; it adds no rights.
PROMPT is the estimated number of tokens it adds to every request. docs/ROLES.md
explains how to write one. Problems are listed on stderr.

Examples:
  skein run --role codereviewer "look at the last commit"
  skein roles show engineer`,
  run: runRoles,
};

async function runRoles({ positionals: [verb, name], flags }: Args, ctx: CommandContext): Promise<number> {
  if (verb !== undefined && verb !== "show")
    throw new Fault("usage", `\`skein roles\` knows show, not "${verb}"`, { hint: `skein roles show ${verb}` });
  if (verb === "show" && name === undefined) throw new Fault("usage", "`skein roles show` needs the name of a role");
  if (verb === "show" && flags["names"]) throw new Fault("usage", "--names works only with the list of roles");
  const api = await ctx.api();
  if (name !== undefined) return printRole(await api.roles.find({ name, directory: ctx.cwd }), flags["json"] === true, ctx);
  const list = await api.roles.list({ directory: ctx.cwd });
  if (flags["names"]) for (const role of list.roles) ctx.out.write(`${stripControls(role.name)}\n`);
  else if (flags["json"]) ctx.out.write(json({ ...list, roles: list.roles.map(roleRecord) }));
  else printRoles(list, ctx);
  return 0;
}

function printRoles({ roles: list, problems }: RoleList, ctx: CommandContext): void {
  const style = styleOf(ctx.out);
  const width = ctx.out.isTty ? { width: ctx.out.columns } : {};
  ctx.out.write(tableText(list.map(cells), { columns, paintTitle: style.dim, ...width }));
  const errStyle = styleOf(ctx.err);
  for (const { path, message } of problems)
    ctx.err.write(`${errStyle.yellow("problem:")} ${stripControls(path)}: ${stripControls(message)}\n`);
  for (const role of list.filter(({ ignored }) => ignored.length > 0))
    ctx.err.write(`${errStyle.yellow("ignored:")} ${stripControls(ignoredText(role))}\n`);
}

const columns = [
  { title: "ROLE" },
  { title: "TOOLS" },
  { title: "POLICY" },
  { title: "TIME", align: "right" as const },
  { title: "MB", align: "right" as const },
  { title: "PROMPT", align: "right" as const },
  { title: "FROM" },
  { title: "WHAT IT DOES" },
];

function cells(role: Role): string[] {
  const texts = [
    role.name,
    toolsText(role, ","),
    policyText(role),
    timeText(role.timeoutMs),
    String(role.maxMemoryMb),
    String(promptTokens(role)),
    role.specialises === null ? role.origin : `${role.origin} over ${role.specialises === "built-in" ? "built-in" : "user"}`,
    role.description,
  ];
  return texts.map(stripControls);
}

function printRole(role: Role, asJson: boolean, ctx: CommandContext): number {
  ctx.out.write(asJson ? json(roleRecord(role)) : roleText(role, styleOf(ctx.out)));
  return 0;
}

function roleText(role: Role, style: Style): string {
  const facts: [string, string][] = [
    ["from", [role.path ?? role.origin, ...(role.specialises === null ? [] : [`over ${role.specialises}`])].join(", ")],
    ["agent", role.agent ?? "as the turn"],
    ["model", role.model ?? "as the turn"],
    ["tools", toolsText(role, ", ")],
    ["policy", policyText(role)],
    ["time", `${timeText(role.timeoutMs)}${role.idleMs === null ? "" : `, ${timeText(role.idleMs)} without output`}`],
    ["memory", `${role.maxMemoryMb} MB in a team`],
    ["can", role.capabilities.join(", ")],
    ["reads", role.reads.join(", ")],
    ["writes", role.writes.join(", ")],
    ["prompt", `about ${promptTokens(role)} tokens`],
    ...role.notes.map((note): [string, string] => ["note", note]),
    ...(role.ignored.length === 0 ? [] : [["ignored", ignoredText(role)] as [string, string]]),
  ];
  const lines = facts
    .filter(([, value]) => value !== "")
    .map(([title, value]) => `${style.dim(title.padEnd(8))} ${stripControls(value)}\n`);
  return `${style.bold(stripControls(role.name))}  ${stripControls(role.description)}\n${lines.join("")}${role.prompt === "" ? "" : `\n${stripControls(role.prompt)}\n`}`;
}

function toolsText({ tools }: Role, separator: string): string {
  return tools === null ? "as the turn" : tools.length === 0 ? "none" : tools.join(separator);
}

function policyText({ policy, net }: Role): string {
  return `${policy ?? "as the turn"}${net === null ? "" : `, net ${net}`}`;
}

/** In the notation of a role file. */
function timeText(ms: number): string {
  return ms % 60_000 === 0 ? `${ms / 60_000}m` : `${ms / 1000}s`;
}

function ignoredText({ name, ignored }: Role): string {
  return `${name}: ${ignored.join(", ")}; \`skein trust\` allows them`;
}

function json(record: unknown): string {
  return `${JSON.stringify(record, null, 2)}\n`;
}
