// skein roles: lists the roles, their origin, and problems in role files.
import { Fault } from "../../../protocol/api/error.ts";
import { promptTokens, type Role } from "../../../protocol/api/role.ts";
import { roleRecord } from "../../../protocol/json/records.ts";
import { stripControls, type Style } from "../../terminal/style.ts";
import { itemTable, type ItemColumn } from "../../terminal/table.ts";
import { problemText, reportCommand } from "../report-command.ts";

export const roles = reportCommand({
  name: "roles",
  summary: "list the roles that an agent can have here, or show one",
  usage: "[show <name>] [--names] [--json]",
  positionals: { min: 0, max: 2 },
  flags: [{ name: "names", summary: "print only names, one per line (for shell completion)" }],
  notes: `A role is a prompt with limits on tools, policy, time and memory; it adds no rights.
PROMPT is the estimated number of tokens it adds to every request. docs/ROLES.md
explains how to write a role. Problems are listed on stderr.

Examples:
  skein run --role codereviewer "look at the last commit"
  skein roles show engineer`,
  async report({ positionals: [verb, name], flags }, ctx) {
    if (verb !== undefined && verb !== "show")
      throw new Fault("usage", `\`skein roles\` takes show, not "${verb}"`, { hint: `skein roles show ${verb}` });
    if (verb === "show" && name === undefined) throw new Fault("usage", "`skein roles show` needs the name of a role");
    if (verb === "show" && flags["names"]) throw new Fault("usage", "--names works only with the list of roles");
    const api = await ctx.api();
    if (name !== undefined) {
      const role = await api.roles.find({ name, directory: ctx.cwd });
      return { json: roleRecord(role), text: (style) => roleText(role, style) };
    }
    const list = await api.roles.list({ directory: ctx.cwd });
    const json = { ...list, roles: list.roles.map(roleRecord) };
    if (flags["names"]) return { json, text: () => list.roles.map((role) => `${stripControls(role.name)}\n`).join("") };
    const width = ctx.out.isTty ? { width: ctx.out.columns } : {};
    const restricted = list.roles.filter(({ ignored }) => ignored.length > 0);
    return {
      json,
      text: (style) => itemTable(list.roles, columns, { paintTitle: style.dim, ...width }),
      remarks: (style) =>
        [
          ...list.problems.map((problem) => problemText(problem, style)),
          ...restricted.map((role) => `${style.yellow("ignored:")} ${stripControls(ignoredText(role))}\n`),
        ].join(""),
    };
  },
});

const columns: readonly ItemColumn<Role>[] = [
  { title: "ROLE", cell: ({ name }) => stripControls(name) },
  { title: "TOOLS", cell: (role) => stripControls(toolsText(role, ",")) },
  { title: "POLICY", cell: policyText },
  { title: "TIME", align: "right", cell: ({ timeoutMs }) => timeText(timeoutMs) },
  { title: "MB", align: "right", cell: ({ maxMemoryMb }) => String(maxMemoryMb) },
  { title: "PROMPT", align: "right", cell: (role) => String(promptTokens(role)) },
  { title: "FROM", cell: originText },
  { title: "WHAT IT DOES", cell: ({ description }) => stripControls(description) },
];

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

function originText({ origin, specialises }: Role): string {
  if (specialises === null) return origin;
  return `${origin} over ${specialises === "built-in" ? "built-in" : "user"}`;
}

/** Formats a time as role files write it. */
function timeText(ms: number): string {
  return ms % 60_000 === 0 ? `${ms / 60_000}m` : `${ms / 1000}s`;
}

function ignoredText({ name, ignored }: Role): string {
  return `${name}: ${ignored.join(", ")}; \`skein trust\` allows them`;
}
