// skein mcp: skein's agents, models and sessions as tools of another program, over stdio or HTTP.
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseDuration } from "../../../kit/text/duration.ts";
import { absolutePath } from "../../../kit/files/absolute-path.ts";
import { cacheConnections } from "../../../mcp/server/connections.ts";
import type { McpServerDeps } from "../../../mcp/server/mcp-server.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { refuseNesting } from "../../../protocol/api/nesting.ts";
import { jsonFlag, usageLine } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { connectHubFor } from "../run/detach.ts";

export const mcp: Command = {
  name: "mcp",
  summary: "serve agents, models and sessions to other programs as MCP tools",
  usage: "[--project dir] [--http [--port n]] [--hand-back-after time] | install <client> [--print] [--remove]",
  positionals: { min: 0, max: 2 },
  verbs: ["install"],
  flags: [
    { name: "project", value: "dir", summary: "the project, instead of the client's first root or the working directory" },
    { name: "http", summary: "serve on 127.0.0.1 with a token, instead of stdin and stdout" },
    { name: "port", value: "n", summary: "with --http: exactly this port instead of 4454 or the next free one" },
    { name: "toolset", value: "name", choices: ["core", "team"], summary: "which tools; team also has those for several agents at once" },
    { name: "hand-back-after", value: "time", summary: "how long a call may take before it returns with its work still running" },
    { name: "print", summary: "with install: show what would be written and where, and write nothing" },
    { name: "remove", summary: "with install: take it out again" },
    jsonFlag,
  ],
  notes: `It speaks on stdin and stdout until the client closes them; docs/MCP.md has the tools
and how to add it to a client. Turns run in the hub, which is started if it does not
run: they go on when the client ends, and \`skein show\`, \`attach\` and \`chat\` see the
same sessions. How long a client waits for a call is known for some and 45s for the
rest; --hand-back-after says it for all.

install adds it to a program's own configuration: claude, claude-desktop, codex,
gemini, opencode, cursor or zed. --project means that project's file instead of your
own; --toolset and --hand-back-after are what the server will be started with.`,
  run: runMcp,
};

async function runMcp(args: Args, ctx: CommandContext): Promise<number> {
  if (args.positionals[0] === "install") return install(args, ctx);
  const misplaced = ["print", "remove", "json"].find((flag) => args.flags[flag] !== undefined);
  if (misplaced !== undefined) throw new Fault("usage", `--${misplaced} goes with mcp install`, { hint: usageLine(mcp) });
  refuseNesting(ctx.enclosingSession());
  const parts = await partsOf(args, ctx);
  if (args.flags["http"]) return stayOnHttp(args, ctx, parts);
  if (args.flags["port"] !== undefined) throw new Fault("usage", "--port goes with --http");
  const { serveOverStdio } = await import("../../../mcp/server/mcp-server.ts");
  await serveOverStdio(parts, ctx.onStop);
  return 0;
}

async function stayOnHttp(args: Args, ctx: CommandContext, deps: McpServerDeps): Promise<number> {
  const port = args.flags["port"] === undefined ? null : portIn(String(args.flags["port"]));
  const tokenFile = join(ctx.state, "mcp.token");
  const { serveOverHttp } = await import("../../../mcp/server/http.ts");
  const server = serveOverHttp({ ...deps, port, tokenFile });
  ctx.out.write(`${server.url}\n`);
  ctx.err.write(`the token is in ${tokenFile}: send it as "Authorization: Bearer <token>"\n`);
  const stopped = Promise.withResolvers<void>();
  ctx.onStop(() => stopped.resolve());
  await stopped.promise;
  await server.close();
  return 0;
}

function portIn(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65_535) throw new Fault("usage", "--port is a number from 1 to 65535");
  return port;
}

async function install(args: Args, ctx: CommandContext): Promise<number> {
  const misplaced = ["http", "port"].find((flag) => args.flags[flag] !== undefined);
  if (misplaced !== undefined) throw new Fault("usage", `--${misplaced} does not go with mcp install: clients start it on stdio`);
  const { toolset, project } = await partsOf(args, ctx);
  const handBack = args.flags["hand-back-after"];
  const serverArgs = [
    ...(args.flags["toolset"] === undefined ? [] : ["--toolset", toolset]),
    ...(handBack === undefined ? [] : ["--hand-back-after", String(handBack)]),
  ];
  const { installServer: installIn } = await import("./mcp-install.ts");
  return installIn(args, ctx, { project, serverArgs });
}

async function partsOf(args: Args, ctx: CommandContext): Promise<McpServerDeps> {
  const toolset = args.flags["toolset"] === "team" ? "team" : "core";
  return {
    version: ctx.version,
    toolset,
    agentNames: await ctx.externalAgentNames(),
    project: projectIn(args, ctx),
    workingDirectory: isProject(ctx.project) ? ctx.cwd : null,
    projectOf: ctx.projectOf,
    connect: cacheConnections((directory) => connectHubFor(ctx, { cwd: directory })),
    handBackAfterMs: handBackIn(args.flags["hand-back-after"]),
    log: (line) => ctx.err.write(`skein mcp: ${line}\n`),
  };
}

function projectIn(args: Args, { cwd, home }: CommandContext): string | null {
  const given = args.flags["project"];
  if (typeof given !== "string") return null;
  const directory = absolutePath(given, { cwd, home });
  if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) throw new Fault("usage", `--project: no directory ${directory}`);
  if (directory === "/") throw new Fault("usage", "--project can't be the whole machine");
  return directory;
}

function isProject(directory: string): boolean {
  return [".skein", ".git"].some((name) => existsSync(join(directory, name)));
}

function handBackIn(text: Args["flags"][string]): number | null {
  if (text === undefined) return null;
  const ms = parseDuration(String(text));
  if (ms === null || ms === 0) throw new Fault("usage", `--hand-back-after can't be "${String(text)}"`, { hint: "a time like 45s or 5m" });
  return ms;
}
