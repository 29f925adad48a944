// skein mcp: serves agents, models and sessions as MCP tools to another program, over stdio or HTTP. Its verbs manage the
// servers that skein itself uses.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { cacheConnections, waitsText } from "./connections.ts";
import type { McpServerDeps } from "../../../mcp/server/mcp-server.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { refuseNesting } from "../../../protocol/api/nesting.ts";
import { checkVerb, countFlag, jsonFlag, usageLine } from "../../parse/args.ts";
import { type Args, type Command, type CommandContext, isInteractive } from "../../parse/command.ts";
import { connectHubFor } from "../run/detach.ts";
import { flagReader } from "../run/flag-value.ts";
import { runServerVerb, serverFlags, serverVerbNames } from "./mcp-servers.ts";

export const mcp: Command = {
  name: "mcp",
  summary: "serve skein to other programs as MCP tools; add MCP servers to the native agent",
  usage:
    "[--project dir] [--http [--port n]] [--hand-back-after time] | install <client> [--print] [--remove] | add <name> (<url> | -- <command>) | list | get <name> | remove <name> | try <name> [tool] [arguments] | login <name> | logout <name>",
  positionals: { min: 0, max: 1_000 },
  verbs: ["install", ...serverVerbNames],
  flags: [
    { name: "project", value: "dir", summary: "the project, if not the client's first root or the working directory" },
    { name: "http", summary: "serve on 127.0.0.1 with a token, instead of stdin and stdout" },
    { name: "port", value: "n", summary: "with --http: use this port instead of 4454 or the next free one" },
    { name: "toolset", value: "name", choices: ["core", "team"], summary: "the set of tools; team adds tools for several agents at once" },
    { name: "hand-back-after", value: "time", summary: "time after which a call returns while its work continues" },
    { name: "print", summary: "with install: print the change and its file, and write nothing" },
    { name: "remove", summary: "with install: remove skein from the configuration" },
    ...serverFlags,
    jsonFlag,
  ],
  notes: `The server uses stdin and stdout until the client closes them. docs/MCP.md lists the
tools and explains how to add skein to a client. Turns run in the hub, which is
started if necessary. They continue when the client exits, and \`skein show\`,
\`attach\` and \`chat\` use the same sessions. A call returns before the client's time
limit: skein has the limits of some clients, and assumes 45s for others.
--hand-back-after sets the time for all clients.

install adds skein to the configuration of a program: claude, claude-desktop, codex,
gemini, opencode, cursor or zed. With --project it changes that project's file
instead of your own. --toolset and --hand-back-after become arguments of the server.

add, list, get, remove, try, login and logout are about the servers that skein's
native agent uses (docs/MCP-SERVERS.md). A server on stdio runs in the sandbox of the
turn; try starts it there. login signs in to a server with a URL in your browser.

Examples:
  skein mcp add files -- mcp-server-filesystem .
  skein mcp add github -e TOKEN='$GITHUB_TOKEN' -- github-mcp-server stdio
  skein mcp add docs https://example.com/mcp -H 'X-Token: \${DOCS_TOKEN}'
  skein mcp try files list_directory '{"path": "."}'`,
  async run(args, ctx) {
    const [verb] = args.positionals;
    if (verb !== undefined && serverVerbNames.includes(verb)) return runServerVerb(mcp, args, ctx);
    if (verb === "install") return install(args, ctx);
    const serverFlag = serverFlags.find(({ name }) => args.flags[name] !== undefined);
    if (serverFlag !== undefined) throw new Fault("usage", `--${serverFlag.name} goes with mcp add`, { hint: usageLine(mcp) });
    const misplaced = ["print", "remove", "json"].find((flag) => args.flags[flag] !== undefined);
    if (misplaced !== undefined) throw new Fault("usage", `--${misplaced} goes with mcp install`, { hint: usageLine(mcp) });
    refuseNesting(ctx.enclosingSession());
    const deps = await createServerDeps(args, ctx);
    if (args.flags["http"]) return serveHttp(args, ctx, deps);
    if (args.flags["port"] !== undefined) throw new Fault("usage", "--port goes with --http");
    if (isInteractive(ctx)) ctx.err.write(waitsText("mcp", "a client"));
    const { serveOverStdio } = await import("../../../mcp/server/mcp-server.ts");
    await serveOverStdio(deps, ctx.onStop);
    return 0;
  },
};

async function serveHttp(args: Args, ctx: CommandContext, deps: McpServerDeps): Promise<number> {
  const port = countFlag(args, "port", null, 65_535);
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

async function install(args: Args, ctx: CommandContext): Promise<number> {
  checkVerb(mcp, args, { positionals: 2, flags: ["project", "http", "port", "toolset", "hand-back-after", "print", "remove", "json"] });
  const misplaced = ["http", "port"].find((flag) => args.flags[flag] !== undefined);
  if (misplaced !== undefined) throw new Fault("usage", `--${misplaced} does not go with mcp install: clients start the server on stdio`);
  const { toolset, project } = await createServerDeps(args, ctx);
  const handBack = args.flags["hand-back-after"];
  const serverArgs = [
    ...(args.flags["toolset"] === undefined ? [] : ["--toolset", toolset]),
    ...(handBack === undefined ? [] : ["--hand-back-after", String(handBack)]),
  ];
  const [{ installServer }, { installClients }] = await Promise.all([import("./install.ts"), import("../../../mcp/install/clients.ts")]);
  return installServer(args, ctx, { command: "mcp", clients: installClients, project, serverArgs });
}

async function createServerDeps(args: Args, ctx: CommandContext): Promise<McpServerDeps> {
  const toolset = args.flags["toolset"] === "team" ? "team" : "core";
  return {
    version: ctx.version,
    toolset,
    agentNames: await ctx.externalAgentNames(),
    project: parseProject(args, ctx),
    workingDirectory: isProject(ctx.project) ? ctx.cwd : null,
    projectOf: ctx.projectOf,
    connect: cacheConnections((directory) => connectHubFor(ctx, { cwd: directory })),
    handBackAfterMs: flagReader(args, ctx).read("hand-back-after", (flag) => flag.duration()),
    log: (line) => ctx.err.write(`skein mcp: ${line}\n`),
  };
}

function parseProject(args: Args, ctx: CommandContext): string | null {
  const directory = flagReader(args, ctx).read("project", (flag) => flag.existingDirectory());
  if (directory === "/") throw new Fault("usage", "--project can't be /");
  return directory;
}

function isProject(directory: string): boolean {
  return [".skein", ".git"].some((name) => existsSync(join(directory, name)));
}
