// Prints docs/JSON.md: the prose of json.md with a table for every printed document. A type with an id is printed once.
import { z } from "zod";
import { exitCodes, faultExitCodes } from "../../src/protocol/api/error.ts";
import { event, hookRecord } from "../../src/protocol/schema/events.ts";
import { blameReport, writtenNotes } from "../../src/protocol/schema/views/blame-views.ts";
import { catchUpReport } from "../../src/protocol/schema/views/catch-up-views.ts";
import { foundMessage } from "../../src/protocol/schema/views/transcript-views.ts";
import { loopResult } from "../../src/protocol/schema/views/loop-views.ts";
import * as printed from "../../src/protocol/schema/printed.ts";
import * as race from "../../src/protocol/schema/race/race-views.ts";
import * as results from "../../src/protocol/schema/results.ts";
import * as setup from "../../src/protocol/schema/setup.ts";
import * as team from "../../src/protocol/schema/team-views.ts";
import * as worktrees from "../../src/protocol/schema/worktrees.ts";
import { fillTemplate, markdownTable, type SchemaNode } from "./template.ts";

type Section = readonly [title: string, intro: string, schema: z.ZodType];

const sections: readonly Section[] = [
  ["Result of a run", "`run --output-format json` prints one; `events` ends with one.", printed.result],
  ["loop", "`loop --json` prints one; the other formats end with one.", loopResult],
  [
    "Events",
    "`run --output-format events`, `logs --json` and `attach --json` print one per line. An event with `n` is transient: an increment that is not stored.",
    event,
  ],
  [
    "stream-json",
    "`run --output-format stream-json` prints lines in the format of Claude Code; skein's own fields are under `skein`.",
    printed.streamLine,
  ],
  ["import", "`import --json` prints one.", results.importReport],
  ["run --queue", "`run --queue --json` prints one at once.", printed.queuedTurn],
  ["run --detach", "`run --detach --json` prints one when the turn has started.", printed.detachedTurn],
  ["ps", "`ps --json` prints an array, the latest turn first.", results.turnInfo],
  ["asks", "`asks --json` prints an array, the oldest first; `answer --json` prints the answered one.", printed.openAsk],
  ["kill", "`kill --json` prints one.", results.killReport],
  ["pause and resume", "`pause --json` and `resume --json` print one.", results.pauseReport],
  ["hub start", "`hub start --json` prints one; `hub.json` holds the same without `outcome`.", printed.hubStarted],
  ["hub status", "`hub status --json` prints one.", printed.hubStatus],
  ["hub stop", "`hub stop --json` prints one.", printed.hubStopped],
  ["web", "`web --json` prints one, and opens no browser.", printed.webOpened],
  ["web --stop", "`web --stop --json` prints one.", printed.webStopped],
  [
    "Hook record",
    "A hook of the [configuration](CONFIG.md) gets one on stdin, or by POST. Keys and tokens are replaced by `[redacted]`, and your home directory by `~`.",
    hookRecord,
  ],
  ["purge", "`purge --json` prints one.", results.purgeReport],
  ["files diff", "`files diff --json` prints one.", printed.printedDiff],
  ["blame", "`blame --json` prints one.", blameReport],
  ["blame --notes", "`blame --notes --json` prints one.", writtenNotes],
  ["files restore", "`files restore --json` prints one.", printed.printedRestore],
  ["merge", "`merge --json` prints one.", worktrees.printedMerge],
  ["worktrees", "`worktrees --json` prints an array, the latest first.", worktrees.worktreeInfo],
  ["worktrees clean", "`worktrees clean --json` prints one.", worktrees.worktreeCleanResult],
  ["undo and redo", "`undo --json` and `redo --json` print one.", printed.printedUndo],
  ["search", "`search --json` prints an array.", results.foundNode],
  [
    "list --agents and search --agents",
    "`list --agents all --json` prints one object: `sessions` of skein, and `transcripts` of other agents that have none yet. `search --agents all --json` prints one object: `nodes` as `search`, and `messages`, each with its `transcript`.",
    foundMessage,
  ],
  ["catch-up", "`catch-up --json` prints one. `--prose` adds `summary`, the text of a model or null.", catchUpReport],
  ["diff", "`diff --json` prints one.", results.branchComparison],
  ["agents", "`agents --json` prints an array.", setup.agentInfo],
  ["roles", "`roles --json` prints one; `roles show <name> --json` prints one [Role](#role).", setup.printedRoles],
  ["mcp list", "`mcp list --json` prints an array, `mcp get <name> --json` prints one.", setup.mcpServerInfo],
  ["mcp try", "`mcp try --json` prints one.", setup.mcpTrial],
  ["doctor --agents", "`doctor --agents --json` prints one.", setup.agentsReport],
  ["fleet setup", "`fleet setup --json` prints one object.", setup.fleetSetup],
  ["hooks test", "`hooks test --json` prints an array.", setup.hookTest],
  ["race show", "`race --json` prints one at the end, `race show --json` at any time; so does the MCP tool `race`, as `race`.", race.raceView],
  ["race list", "`race list --json` prints an array, the latest first.", race.raceInfo],
  ["race adopt", "`race adopt --json` prints one.", race.raceAdoption],
  ["team list", "`team list --json` prints an array, the latest first.", team.printedTeam],
  ["team status", "`team status --json` prints one; so does the MCP tool `session_status`.", team.teamStatus],
  ["team message", "`team message --json` prints one.", team.teamMessageResult],
  ["team merge", "`team merge --json` prints one.", team.teamMerge],
  ["team clean", "`team clean --json` prints one.", team.teamCleanResult],
  ["msg send and report", "`msg send --json` and `report --json` print one.", team.mailPosted],
  ["msg read", "`msg read --json` prints an array; a file in an inbox is one.", team.mailMessage],
  ["msg list", "`msg list --json` prints one.", team.mailList],
  ["Export: first line", "`export --format jsonl` prints a transcript of the whole tree, with more fields in each line.", printed.exportHeader],
  ["Export: files", "`export --format json` prints one as `files`.", printed.exportedFiles],
  ["Export: every other line", "One part of one node; parents come before their children.", printed.exportLine],
  ["Transcript: first line", "`.skein/sessions/<time>-<short id>.jsonl`", printed.transcriptHeader],
  ["Transcript: every other line", "One part of one node. A crash can leave an incomplete last line; readers ignore it.", printed.transcriptLine],
];

export function printJsonDocs(): string {
  const types = new Map<string, SchemaNode>();
  const documents = sections.map(([title, intro, schema]) => {
    const json = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as SchemaNode;
    for (const [name, type] of Object.entries(json.$defs ?? {})) types.set(name, type);
    const id = schema.meta()?.id;
    if (id !== undefined && !types.has(id)) types.set(id, json);
    const body = id === undefined ? tablesOf(json) : `One ${typeLink(id)}.`;
    return `## ${title}\n\n${intro}\n\n${body}`;
  });
  const sorted = [...types].toSorted(([a], [b]) => a.localeCompare(b));
  return fillTemplate("json", {
    notice: "Written from `tools/docs/json.md` and the schemas in `src/protocol/schema`.",
    documents: documents.join("\n\n"),
    types: sorted.map(([name, type]) => `### ${name}\n\n${tablesOf(type)}`).join("\n\n"),
    "exit-codes": markdownTable(
      ["status", "code"],
      Object.entries({ ...exitCodes, usage: faultExitCodes.usage, config: faultExitCodes.config })
        .toSorted(([, a], [, b]) => a - b)
        .map(([status, code]) => [status, `${code}${status === "cancelled" ? ", or 143 after SIGTERM" : ""}`]),
    ),
  });
}

/** One table. For a union also a row for each variant, with the fields that not all variants share. */
function tablesOf(schema: SchemaNode): string {
  const variants = variantsOf(schema);
  if (variants.length === 1) return fieldTable(fieldRows(variants[0]!, ""));
  const discriminator = ["type", "kind", "status"].find((name) => variants.every((variant) => variant.properties?.[name]?.const !== undefined))!;
  const rows = variants.map((variant) => fieldRows(variant, "").filter(([name]) => name !== `\`${discriminator}\``));
  const isShared = (row: string[]) => rows.every((others) => others.some((other) => Bun.deepEquals(other, row)));
  const shared = rows[0]!.filter(isShared);
  const variantRows = variants.map((variant, index) => {
    const further = rows[index]!.filter((row) => !isShared(row)).map(([name, type, note]) => `${name} ${type}${note === "" ? "" : ` (${note})`}`);
    return [`\`${String(variant.properties![discriminator]!.const)}\``, further.join("<br>")];
  });
  const sharedTable = shared.length === 0 ? [] : [`Every variant has:\n\n${fieldTable(shared)}`];
  return [...sharedTable, markdownTable([`\`${discriminator}\``, shared.length === 0 ? "fields" : "further fields"], variantRows)].join("\n\n");
}

function variantsOf(schema: SchemaNode): SchemaNode[] {
  const variants = schema.oneOf ?? schema.anyOf;
  return variants === undefined ? [schema] : variants.flatMap(variantsOf);
}

function fieldTable(rows: string[][]): string {
  return markdownTable(["field", "type", ""], rows);
}

function fieldRows(object: SchemaNode, prefix: string): string[][] {
  return Object.entries(object.properties ?? {}).flatMap(([name, field]) => {
    if (field.hubOnly === true) return [];
    const optional = object.required?.includes(name) ? "" : "optional";
    const note = [optional, field.description ?? ""].filter((text) => text !== "").join("; ");
    const inner = innerObject(field);
    const row = [`\`${prefix}${name}\``, typeText(field), note];
    return inner === null ? [row] : [row, ...fieldRows(inner.object, `${prefix}${name}${inner.suffix}.`)];
  });
}

/** The object without an id inside of a field or of the items of an array, if there is exactly one. */
function innerObject(field: SchemaNode): { object: SchemaNode; suffix: string } | null {
  if (field.properties !== undefined) return { object: field, suffix: "" };
  if (field.type === "array" && field.items?.properties !== undefined) return { object: field.items, suffix: "[]" };
  const objects = (field.anyOf ?? []).filter((variant) => variant.properties !== undefined);
  return objects.length === 1 ? { object: objects[0]!, suffix: "" } : null;
}

function typeText(field: SchemaNode): string {
  if (field.$ref !== undefined) return typeLink(decodeURIComponent(field.$ref.split("/").at(-1)!));
  if (field.allOf !== undefined) return field.allOf.map(typeText).join(" and ");
  if (field.const !== undefined) return `\`${JSON.stringify(field.const)}\``;
  if (field.enum !== undefined) return enumText(field.enum);
  if (field.anyOf !== undefined) return field.anyOf.map(typeText).join(" or ");
  if (field.oneOf !== undefined) return "one of several objects";
  if (field.type === "array") return `array of ${field.items === undefined ? "anything" : typeText(field.items)}`;
  return Array.isArray(field.type) ? field.type.join(" or ") : (field.type ?? "anything");
}

const statusCount = Object.keys(exitCodes).length;

/** The statuses of a turn are listed under the exit codes. */
function enumText(values: unknown[]): string {
  if (values.length === statusCount) return "[status](#exit-codes)";
  return values.map((value) => `\`${String(value)}\``).join(", ");
}

function typeLink(name: string): string {
  return `[${name}](#${name.toLowerCase().replaceAll(" ", "-")})`;
}
