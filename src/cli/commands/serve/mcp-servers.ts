// skein mcp add, list, get, remove, try, login and logout: the MCP servers that the native agent can use.
import { basename } from "node:path";
import { parseJson } from "../../../kit/text/json.ts";
import { nearestWord } from "../../../kit/text/nearest-word.ts";
import type { Api, McpServerInfo } from "../../../protocol/api/api.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { checkVerb } from "../../parse/args.ts";
import type { Args, Command, CommandContext, Flag } from "../../parse/command.ts";
import { stripControls } from "../../terminal/style.ts";
import { tableText } from "../../terminal/table.ts";
import { printReport, type Report } from "../report-command.ts";

export const serverFlags: readonly Flag[] = [
  { name: "env", short: "e", value: "NAME=value", repeat: true, summary: "with add: a variable of the server; =$NAME reads yours" },
  { name: "header", short: "H", value: "Name: value", repeat: true, summary: "with add: a header for a URL; ${NAME} reads a variable" },
  { name: "cwd", value: "dir", summary: "with add: the server's working directory" },
  { name: "transport", short: "t", value: "kind", choices: ["stdio", "http", "sse"], summary: "with add: sse for an old server" },
  { name: "other-agents", summary: "with add: for agents such as claude and codex too, not only native" },
  {
    name: "scope",
    short: "s",
    value: "where",
    choices: ["user", "project"],
    summary: "with add and remove: the config file (default user)",
  },
];

type Verb = {
  positionals: number;
  flags: readonly string[];
  report: (api: Api, args: Args, ctx: CommandContext) => Promise<Report>;
};

const anyNumber = Number.MAX_SAFE_INTEGER;

const serverVerbs: Record<string, Verb> = {
  add: { positionals: anyNumber, flags: ["env", "header", "cwd", "transport", "other-agents", "scope", "json"], report: add },
  list: { positionals: 1, flags: ["json"], report: list },
  get: { positionals: 2, flags: ["json"], report: get },
  remove: { positionals: 2, flags: ["scope", "json"], report: remove },
  try: { positionals: 4, flags: ["json"], report: tryServer },
  login: { positionals: 2, flags: ["json"], report: async (api, args, ctx) => (await import("./mcp-login.ts")).login(api, args, ctx) },
  logout: { positionals: 2, flags: ["json"], report: async (api, args) => (await import("./mcp-login.ts")).logout(api, args) },
};

export const serverVerbNames: readonly string[] = Object.keys(serverVerbs);

/** Runs the verb of the first positional. `command` is the whole command, for its usage. */
export async function runServerVerb(command: Command, args: Args, ctx: CommandContext): Promise<number> {
  const verb = serverVerbs[args.positionals[0] as string] as Verb;
  checkVerb(command, args, verb);
  if (verb.positionals > 1 && args.positionals[1] === undefined)
    throw new Fault("usage", `mcp ${args.positionals[0]} needs the name of a server`, {
      hint:
        args.positionals[0] === "add" ? "skein mcp add <name> -- <command>, or skein mcp add <name> <url>" : "`skein mcp list` lists them",
    });
  const isRepair = args.positionals[0] === "add" || args.positionals[0] === "remove";
  return printReport(args, ctx, await verb.report(await ctx.api({ lenient: isRepair }), args, ctx));
}

async function add(api: Api, args: Args): Promise<Report> {
  const [, name = "", target, ...rest] = args.positionals;
  if (target === undefined)
    throw new Fault("usage", "mcp add needs a command or a URL", { hint: `skein mcp add ${name} -- <program> [arguments]` });
  const described = target.startsWith("{") ? fromJson(target) : fromWords(args, target, rest);
  const server = args.flags["other-agents"] === true ? { ...described, other_agents: true } : described;
  const scope = args.flags["scope"] === "project" ? "project" : "user";
  const { path } = await api.mcp.set({ name, server, scope });
  return {
    json: { name, path },
    text: () => `added ${name} to ${stripControls(path)}\n`,
    remarks: (style) => style.dim(`${installerRemark(described["command"])}try it: skein mcp try ${name}\n`),
  };
}

/** Programs that load a package at each start, with the hosts that they need. */
const installers: Record<string, string> = {
  npx: "registry.npmjs.org",
  bunx: "registry.npmjs.org",
  pnpx: "registry.npmjs.org",
  uvx: "pypi.org,files.pythonhosted.org",
  pipx: "pypi.org,files.pythonhosted.org",
};

function installerRemark(command: unknown): string {
  const program = typeof command === "string" ? basename(command) : "";
  const hosts = installers[program];
  if (hosts === undefined) return "";
  return `${program} loads the package at its start, and servers have no network: install the package and name its program, or allow --net ${hosts}\n`;
}

function fromJson(text: string): Record<string, unknown> {
  const server = parseJson(text);
  if (server === null)
    throw new Fault("usage", "the server is not a JSON object", { hint: 'such as \'{"command": "my-server", "args": ["--dir", "."]}\'' });
  return server;
}

function fromWords(args: Args, target: string, rest: string[]): Record<string, unknown> {
  const type = args.flags["transport"];
  const isUrl = /^https?:\/\//i.test(target) && type !== "stdio";
  const misplaced = (isUrl ? ["env", "cwd"] : ["header"]).find((flag) => args.flags[flag] !== undefined);
  if (misplaced !== undefined) throw new Fault("usage", `--${misplaced} does not go with a ${isUrl ? "URL" : "command"}`);
  if (isUrl && rest[0] !== undefined) throw new Fault("usage", `unexpected argument "${rest[0]}" after the URL`);
  const env = pairs(args, "env", "=");
  const headers = pairs(args, "header", ":");
  const typed = type === undefined ? {} : { type };
  if (isUrl) return { ...typed, url: target, ...(headers === null ? {} : { headers }) };
  const cwd = args.flags["cwd"];
  return {
    ...typed,
    command: target,
    ...(rest.length === 0 ? {} : { args: rest }),
    ...(env === null ? {} : { env }),
    ...(cwd === undefined ? {} : { cwd }),
  };
}

function pairs(args: Args, flag: string, separator: string): Record<string, string> | null {
  const words = args.flags[flag];
  if (!Array.isArray(words)) return null;
  return Object.fromEntries(
    words.map((word) => {
      const at = word.indexOf(separator);
      if (at <= 0) throw new Fault("usage", `--${flag} takes ${flag === "env" ? "NAME=value" : '"Name: value"'}`);
      return [word.slice(0, at).trim(), word.slice(at + 1).trim()];
    }),
  );
}

/** A list starts no server, so it can't say that a server works. */
const stateWords: Record<McpServerInfo["state"], string> = {
  ready: "enabled",
  disabled: "disabled",
  untrusted: "untrusted",
  invalid: "invalid",
};

async function list(api: Api): Promise<Report> {
  const servers = await api.mcp.list();
  return {
    json: servers,
    text(style) {
      if (servers.length === 0) return "no MCP servers; add one: skein mcp add <name> -- <command>, or skein mcp add <name> <url>\n";
      const rows = servers.map(({ name, state, target, origin }) => [
        name,
        state === "ready" ? style.green(stateWords[state]) : style.yellow(stateWords[state]),
        stripControls(target),
        style.dim(stripControls(origin)),
      ]);
      const columns = [{ title: "NAME" }, { title: "STATE" }, { title: "SERVER" }, { title: "ORIGIN" }];
      return tableText(rows, { columns, paintTitle: style.dim });
    },
  };
}

async function get(api: Api, args: Args): Promise<Report> {
  const server = await findServer(api, args);
  const fields: [string, string][] = [
    ["server", server.target],
    ["state", server.problem === null ? stateWords[server.state] : `${stateWords[server.state]}: ${server.problem}`],
    ["variables", server.variables.join(", ")],
    ["headers", server.headerNames.join(", ")],
    ["agents", server.otherAgents ? "native and all others that can use it" : "native"],
    ["origin", server.origin],
  ];
  const lines = fields.filter(([, value]) => value !== "").map(([label, value]) => `${label.padEnd(10)}${stripControls(value)}\n`);
  return { json: server, text: () => `${server.name}\n${lines.join("")}` };
}

async function remove(api: Api, args: Args): Promise<Report> {
  const { name, origin } = await findServer(api, args);
  const paths = await api.config.paths();
  const scope = args.flags["scope"] === "project" ? "project" : "user";
  if (origin !== paths[scope])
    throw new Fault("usage", `${name} is not in ${paths[scope]}`, {
      hint: removalHint(name, origin, paths),
    });
  const { path } = await api.mcp.set({ name, server: null, scope });
  return { json: { name, path }, text: () => `removed ${name} from ${stripControls(path)}\n` };
}

function removalHint(name: string, origin: string, paths: { user: string; project: string }): string {
  if (origin === paths.project) return `skein mcp remove ${name} --scope project`;
  return origin === paths.user ? `skein mcp remove ${name}` : `it is in ${origin}; edit that file`;
}

async function tryServer(api: Api, args: Args, ctx: CommandContext): Promise<Report> {
  const [, name = "", tool = null, json = "{}"] = args.positionals;
  const input = parseJson(json);
  if (input === null)
    throw new Fault("usage", "the arguments of the tool must be a JSON object", {
      hint: `skein mcp try ${name} ${tool} '{"key": "value"}'`,
    });
  const trial = await api.mcp.try({ name, tool, input, directory: ctx.cwd });
  const images = trial.images === 0 ? "" : `[${trial.images} ${trial.images === 1 ? "image" : "images"}]\n`;
  return { json: trial, text: () => `${trial.text.split("\n").map(stripControls).join("\n")}\n${images}`, exitCode: trial.isError ? 1 : 0 };
}

async function findServer(api: Api, args: Args): Promise<McpServerInfo> {
  const servers = await api.mcp.list();
  const name = args.positionals[1] as string;
  const server = servers.find((candidate) => candidate.name === name);
  if (server !== undefined) return server;
  const nearest = nearestWord(
    name,
    servers.map((candidate) => candidate.name),
  );
  const hint = nearest === null ? "`skein mcp list` lists them" : `did you mean "${nearest}"?`;
  throw new Fault("usage", `there is no MCP server "${name}"`, { hint });
}
