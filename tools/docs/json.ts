// Prints docs/JSON.md from the schemas.
import { z } from "zod";
import { exitCodes } from "../../src/protocol/api/error.ts";
import { agent, agentsReport, agentTrial, contractCheck } from "../../src/protocol/schema/agent-records.ts";
import { hubStarted, hubStatus, hubStopped } from "../../src/protocol/schema/hub-records.ts";
import * as records from "../../src/protocol/schema/records.ts";
import { mailList, mailMessage, mailPosted, teamCleaned, teamMember, teamMerge, teamPosted, teamRow, teamStatus } from "../../src/protocol/schema/team-records.ts";
import { role, roles } from "../../src/protocol/schema/role-records.ts";
import { comparison, exportHeader, exportLine, foundNode } from "../../src/protocol/schema/tree-records.ts";

type Json = {
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  description?: string;
  properties?: Record<string, Json>;
  required?: string[];
  items?: Json;
  anyOf?: Json[];
  oneOf?: Json[];
};

const sections: [string, string, z.ZodType][] = [
  ["Result", "`run --output-format json` prints one of these; `events` ends with one.", records.result],
  [
    "Events",
    "`run --output-format events`, `logs --json` and `attach --json` print one per line. A record with `n` is passing: an increment that is not stored.",
    records.event,
  ],
  [
    "stream-json",
    "`run --output-format stream-json` prints lines in the shape Claude Code made common; ours rides under `skein`.",
    records.streamLine,
  ],
  ["Import", "`import --json` prints one of these.", records.importReport],
  ["run --detach", "`run --detach --json` prints one of these when the turn has begun.", records.detachedTurn],
  ["ps", "`ps --json` prints an array of these, the latest turn first.", records.turnInfo],
  ["asks", "`asks --json` prints an array of these, the oldest first; `answer --json` prints the one that was answered.", records.openAsk],
  ["kill", "`kill --json` prints one of these.", records.killReport],
  ["pause and resume", "`pause --json` and `resume --json` print one of these.", records.pauseReport],
  ["hub start", "`hub start --json` prints one of these; `hub.json` holds the same but for `outcome`.", hubStarted],
  ["hub status", "`hub status --json` prints one of these.", hubStatus],
  ["hub stop", "`hub stop --json` prints one of these.", hubStopped],
  ["purge", "`purge --json` prints one of these.", records.purge],
  ["Files: difference", "`files diff --json` prints one of these.", records.filesDiff],
  ["Files: restore", "`files restore --json` prints one of these.", records.filesRestore],
  ["search", "`search --json` prints an array of these.", foundNode],
  ["diff", "`diff --json` prints one of these.", comparison],
  ["agents", "`agents --json` prints an array of these.", agent],
  ["roles", "`roles --json` prints one of these.", roles],
  ["role", "`roles show <name> --json` prints one of these.", role],
  ["doctor --agents", "`doctor --agents --json` prints one of these.", agentsReport],
  ["doctor --agents: an agent", "Each of `agents`.", agentTrial],
  ["doctor --agents: a check", "Each of an agent's `checks`, always in this order.", contractCheck],
  ["team list", "`team list --json` prints an array of these, the latest first.", teamRow],
  ["team status", "`team status --json` prints one of these; so does the MCP tool `session_status`.", teamStatus],
  ["team status: a member", "Each of a phase's `members`.", teamMember],
  ["team message", "`team message --json` prints one of these.", teamPosted],
  ["team merge", "`team merge --json` prints one of these.", teamMerge],
  ["team clean", "`team clean --json` prints one of these.", teamCleaned],
  ["msg send and report", "`msg send --json` and `report --json` print one of these.", mailPosted],
  ["msg read", "`msg read --json` prints an array of these; a file in an inbox is one.", mailMessage],
  ["msg list", "`msg list --json` prints one of these.", mailList],
  ["Export: first line", "`export --format jsonl` prints a transcript of the whole tree, with more in each line.", exportHeader],
  ["Export: every other line", "One part of one node; parents come before their children.", exportLine],
  ["Transcript: first line", "`.skein/sessions/<time>-<short id>.jsonl`", records.transcriptHeader],
  [
    "Transcript: every other line",
    "One part of one node. A torn last line can be left by a crash; readers ignore it.",
    records.transcriptLine,
  ],
];

export function printJsonDocs(): string {
  const lines = [
    "# What skein prints as JSON",
    "",
    "Printed from `src/protocol/schema/records.ts`; `npm run docs` rewrites it. Keys are snake_case, times ISO 8601 in UTC. Fields are only ever added.",
    "",
  ];
  for (const [title, intro, schema] of sections) {
    lines.push(`## ${title}`, "", intro, "");
    const json = z.toJSONSchema(schema) as Json;
    for (const variant of json.oneOf ?? json.anyOf ?? [json]) lines.push(...recordLines(variant), "");
  }
  lines.push(
    "## Exit codes",
    "",
    "By how the turn ended (`status`); `usage` and `config` are faults before a turn.",
    "",
    "| status | code |",
    "|---|---|",
  );
  for (const [status, code] of Object.entries(exitCodes))
    lines.push(`| ${status} | ${code}${status === "cancelled" ? ", or 143 after SIGTERM" : ""} |`);
  return `${lines.join("\n")}\n`;
}

function recordLines(record: Json): string[] {
  const type = record.properties?.["type"]?.const as string | undefined;
  const subtype = record.properties?.["subtype"]?.const as string | undefined;
  const title = type === undefined ? [] : [`### ${type}${subtype === undefined ? "" : ` / ${subtype}`}`, ""];
  return [...title, "| field | type | |", "|---|---|---|", ...fieldLines(record, "")];
}

function fieldLines(record: Json, prefix: string): string[] {
  return Object.entries(record.properties ?? {}).flatMap(([name, field]) => {
    const optional = record.required?.includes(name) ? "" : "optional";
    const inner = nested(field);
    const note = [optional, field.description ?? ""].filter((word) => word !== "").join("; ");
    const row = `| \`${prefix}${name}\` | ${typeName(field)} | ${note} |`;

    return inner === null || prefix.split(".").length > 2 ? [row] : [row, ...fieldLines(inner, `${prefix}${name}.`)];
  });
}

/** The object inside a field, if there is exactly one. */
function nested(field: Json): Json | null {
  if (field.properties !== undefined) return field;
  const objects = (field.anyOf ?? []).filter((variant) => variant.properties !== undefined);
  return objects.length === 1 ? (objects[0] as Json) : null;
}

function typeName(field: Json): string {
  if (field.const !== undefined) return `\`${JSON.stringify(field.const)}\``;
  if (field.enum !== undefined) return field.enum.map((value) => `\`${String(value)}\``).join(", ");
  if (field.anyOf !== undefined) return field.anyOf.map(typeName).join(" or ");
  if (field.oneOf !== undefined) return "one of several objects";
  if (field.type === "array") return `array of ${field.items === undefined ? "anything" : typeName(field.items)}`;
  return Array.isArray(field.type) ? field.type.join(" or ") : (field.type ?? "anything");
}
