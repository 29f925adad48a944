// skein config: lists settings with their origin, and changes them.
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { createSafely, makeDirectorySafely } from "../../../kit/files/safe-file.ts";
import { replaceFile } from "../../../kit/files/replace-file.ts";
import { createProgramSearch } from "../../../kit/process/trusted-programs.ts";
import { parseJson, type Json } from "../../../kit/text/json.ts";
import { nearestWord } from "../../../kit/text/nearest-word.ts";
import type { Api, ConfigEntry } from "../../../protocol/api/api.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { usageLine } from "../../parse/args.ts";
import { isInteractive, type Args, type Command, type CommandContext } from "../../parse/command.ts";
import { editorFrom, runEditor } from "../../terminal/editor.ts";
import { stripControls } from "../../terminal/style.ts";
import { tableText } from "../../terminal/table.ts";
import { reportCommand, type Report } from "../report-command.ts";

export const config: Command = reportCommand({
  name: "config",
  summary: "show or change settings, each with its origin",
  usage: "[get <key> | set <key> <value> [--project] | edit [--project] | path | schema] [--json]",
  positionals: { min: 0, max: 3 },
  verbs: ["get", "set", "edit", "path", "schema"],
  flags: [{ name: "project", summary: "change the project's file instead of your own" }],
  notes: `Without a verb, config lists every key with its value and origin.
The value null removes a key from the file.

Examples:
  skein config set model anthropic/claude-sonnet-4-5
  skein config set max_steps 50 --project
  skein config get model`,
  async report(args, ctx) {
    const name = args.positionals[0] ?? "list";
    const verb = verbs[name] as Verb;
    const hint = usageLine(config);
    if (args.positionals.length < verb.positionals)
      throw new Fault("usage", `config ${name} needs ${name === "set" ? "a key and a value" : "a key"}`, { hint });
    const extra = args.positionals[verb.positionals];
    if (extra !== undefined) throw new Fault("usage", `config ${name}: unexpected argument "${extra}"`, { hint });
    if (args.flags["project"] && name !== "set" && name !== "edit")
      throw new Fault("usage", "--project goes with config set and edit", { hint });
    return verb.report(await ctx.api({ lenient: verb.isLenient ?? false }), args, ctx);
  },
});

type Verb = { positionals: number; report: (api: Api, args: Args, ctx: CommandContext) => Promise<Report>; isLenient?: boolean };

const verbs: Record<string, Verb> = {
  list: { positionals: 0, report: list },
  get: { positionals: 2, report: get },
  set: { positionals: 3, report: set, isLenient: true },
  edit: { positionals: 1, report: edit, isLenient: true },
  path: { positionals: 1, report: path, isLenient: true },
  schema: { positionals: 1, report: schema, isLenient: true },
};

async function list(api: Api): Promise<Report> {
  const entries = await api.config.show();
  return {
    json: entries,
    text(style) {
      const rows = entries.map((entry) => [entry.key, valueText(entry) || style.dim("-"), style.dim(stripControls(entry.origin))]);
      return tableText(rows, { columns: [{ title: "KEY" }, { title: "VALUE" }, { title: "ORIGIN" }], paintTitle: style.dim });
    },
  };
}

/** Prints one key, or all keys below a prefix: `config get providers.acme`. */
async function get(api: Api, args: Args): Promise<Report> {
  const key = args.positionals[1] as string;
  const entries = await api.config.show();
  const entry = entries.find((candidate) => candidate.key === key);
  if (entry !== undefined) return { json: entry, text: () => `${valueText(entry)}\n` };
  const entriesBelow = entries.filter((candidate) => candidate.key.startsWith(`${key}.`));
  if (entriesBelow.length > 0)
    return { json: entriesBelow, text: () => entriesBelow.map((candidate) => `${candidate.key} ${valueText(candidate)}\n`).join("") };
  const keys = entries.map((candidate) => candidate.key);
  const nearest = nearestWord(key, keys);
  throw new Fault("usage", `nothing is set for "${key}"`, {
    hint: nearest === null ? "`skein config` lists every key" : `did you mean "${nearest}"?`,
  });
}

async function set(api: Api, args: Args): Promise<Report> {
  const [, key, value] = args.positionals as [string, string, string];
  if (key === "keys") await checkKeys(value);
  const { path: file } = await api.config.set({ key, value, scope: args.flags["project"] ? "project" : "user" });
  return { json: { key, path: file }, text: () => `${key} is ${value === "null" ? "no longer " : ""}set in ${file}\n` };
}

/** Opens the file in the user's editor. A missing file is created, so that there is one to edit. */
async function edit(api: Api, args: Args, ctx: CommandContext): Promise<Report> {
  if (!isInteractive(ctx))
    throw new Fault("usage", "config edit needs a terminal", {
      hint: "skein config set <key> <value>; `skein config path` names the files",
    });
  const paths = await api.config.paths();
  const file = args.flags["project"] ? paths.project : paths.user;
  if (!existsSync(file)) createSettings(file, args.flags["project"] === true);
  const { env, home, cwd, project } = ctx;
  const editorOptions = { env, cwd, programs: createProgramSearch({ env, home, directories: [project, cwd], writable: [] }) };
  const command = editorFrom(editorOptions);
  const exit = await ctx.lendTerminal(() => runEditor(command, file, editorOptions));
  if (exit !== 0) throw new Fault("usage", `the editor ended with ${exit}`, { hint: `the file is ${file}` });
  return { json: { path: file }, text: () => `edited ${stripControls(file)}\n` };
}

/** A tool may have replaced a directory of the project by a link, so the project's file is created without following links. */
function createSettings(file: string, isInProject: boolean): void {
  const text = "{\n}\n";
  if (!isInProject) return replaceFile(file, text, { file: 0o600, directory: 0o700 });
  makeDirectorySafely(dirname(file), 0o755);
  createSafely(file, text, 0o644);
}

/** The screen knows the names of keys and commands. A value that is no JSON object is refused later. */
async function checkKeys(text: string): Promise<void> {
  const bindings = parseJson(text);
  const isMap = (value: Json): value is Record<string, string> => Object.values(value).every((name) => typeof name === "string");
  if (bindings !== null && isMap(bindings)) (await import("../../../tui/keys/bindings.ts")).checkBindings(bindings);
}

async function path(api: Api): Promise<Report> {
  const paths = await api.config.paths();
  const rows = [
    ["user config", paths.user],
    ["project config", paths.project],
    ["config", paths.config],
    ["data", paths.data],
    ["state", paths.state],
    ["cache", paths.cache],
  ];
  return { json: paths, text: () => tableText(rows, { columns: [{}, {}] }) };
}

async function schema(api: Api): Promise<Report> {
  const json = await api.config.schema();
  return { json, text: () => `${JSON.stringify(json, null, 2)}\n` };
}

function valueText(entry: ConfigEntry): string {
  const value = entry.written ?? entry.value;
  if (value === null || (Array.isArray(value) && value.length === 0)) return "";
  return stripControls(typeof value === "string" ? value : JSON.stringify(value));
}
