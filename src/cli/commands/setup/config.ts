// skein config: lists settings with their origin, and changes them.
import { Fault } from "../../../protocol/api/error.ts";
import type { Api, ConfigEntry } from "../../../protocol/api/api.ts";
import { nearestWord } from "../../../kit/text/nearest-word.ts";
import { jsonFlag, usageLine } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { jsonText } from "../../print/json.ts";
import { stripControls, styleOf } from "../../terminal/style.ts";
import { tableText } from "../../terminal/table.ts";

export const config: Command = {
  name: "config",
  summary: "show or change settings, each with its origin",
  usage: "[get <key> | set <key> <value> [--project] | path | schema] [--json]",
  positionals: { min: 0, max: 3 },
  verbs: ["get", "set", "path", "schema"],
  flags: [{ name: "project", summary: "change the project's file instead of your own" }, jsonFlag],
  notes: `Without a verb, config lists every key with its value and origin.
The value null removes a key from the file.

Examples:
  skein config set model anthropic/claude-sonnet-4-5
  skein config set max_steps 50 --project
  skein config get model`,
  run: runConfig,
};

type Verb = { positionals: number; text: (api: Api, args: Args, ctx: CommandContext) => Promise<string>; isLenient?: boolean };

const verbs: Record<string, Verb> = {
  list: { positionals: 0, text: list },
  get: { positionals: 2, text: get },
  set: { positionals: 3, text: set, isLenient: true },
  path: { positionals: 1, text: path, isLenient: true },
  schema: { positionals: 1, text: schema, isLenient: true },
};

async function runConfig(args: Args, ctx: CommandContext): Promise<number> {
  const name = args.positionals[0] ?? "list";
  const verb = verbs[name] as Verb;
  if (args.positionals.length < verb.positionals)
    throw new Fault("usage", `config ${name} needs ${name === "set" ? "a key and a value" : "a key"}`, { hint: usageLine(config) });
  const extra = args.positionals[verb.positionals];
  if (extra !== undefined) throw new Fault("usage", `config ${name}: "${extra}" is too much`, { hint: usageLine(config) });
  if (args.flags["project"] && name !== "set") throw new Fault("usage", "--project goes with config set", { hint: usageLine(config) });
  ctx.out.write(await verb.text(await ctx.api({ lenient: verb.isLenient ?? false }), args, ctx));
  return 0;
}

async function list(api: Api, args: Args, ctx: CommandContext): Promise<string> {
  const entries = await api.config.show();
  if (args.flags["json"]) return jsonText(entries);
  const style = styleOf(ctx.out);
  const cells = entries.map((entry) => [entry.key, valueText(entry) || style.dim("-"), style.dim(stripControls(entry.origin))]);
  return tableText(cells, { columns: [{ title: "KEY" }, { title: "VALUE" }, { title: "ORIGIN" }], paintTitle: style.dim });
}

/** Prints one key, or all keys below a prefix: `config get providers.acme`. */
async function get(api: Api, args: Args): Promise<string> {
  const key = args.positionals[1] as string;
  const entries = await api.config.show();
  const matches = entries.filter((entry) => entry.key === key || entry.key.startsWith(`${key}.`));
  const [first] = matches;
  if (first === undefined) {
    const near = nearestWord(
      key,
      entries.map((entry) => entry.key),
    );
    throw new Fault("usage", `nothing is set for "${key}"`, {
      hint: near === null ? "`skein config` lists every key" : `did you mean "${near}"?`,
    });
  }
  if (args.flags["json"]) return jsonText(first.key === key ? first : matches);
  return first.key === key ? `${valueText(first)}\n` : matches.map((entry) => `${entry.key} ${valueText(entry)}\n`).join("");
}

async function set(api: Api, args: Args): Promise<string> {
  const [, key, value] = args.positionals as [string, string, string];
  const scope = args.flags["project"] ? ("project" as const) : ("user" as const);
  const { path: file } = await api.config.set({ key, value, scope });
  if (args.flags["json"]) return jsonText({ key, path: file });
  return value === "null" ? `${key} is no longer set in ${file}\n` : `${key} is set in ${file}\n`;
}

async function path(api: Api, args: Args): Promise<string> {
  const paths = await api.config.paths();
  if (args.flags["json"]) return jsonText(paths);
  const rows = [
    ["user config", paths.user],
    ["project config", paths.project],
    ["config", paths.config],
    ["data", paths.data],
    ["state", paths.state],
    ["cache", paths.cache],
  ];
  return tableText(rows, { columns: [{}, {}] });
}

async function schema(api: Api): Promise<string> {
  return `${JSON.stringify(await api.config.schema(), null, 2)}\n`;
}

function valueText(entry: ConfigEntry): string {
  const value = entry.written ?? entry.value;
  if (value === null || (Array.isArray(value) && value.length === 0)) return "";
  return stripControls(typeof value === "string" ? value : JSON.stringify(value));
}
