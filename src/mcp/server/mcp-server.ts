// The MCP server of one client: serves the tools and resources through an Api, which may be in another process.
import {
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
  type CallToolResult,
  type McpRequestContext,
  type ServerContext,
  type Tool as ToolListEntry,
} from "@modelcontextprotocol/server";
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { nearestWord } from "../../kit/text/nearest-word.ts";
import type { Api } from "../../protocol/api/api.ts";
import { Fault, messageOf } from "../../protocol/api/error.ts";
import { parseToolInput, toolListSchema } from "../../protocol/schema/mcp.ts";
import { createCaller, readClientInfo } from "./caller.ts";
import { createElicitation, endCallWithQuestion, readSuspendedCall, resumeCall } from "./elicit.ts";
import { findDirectory } from "./find-directory.ts";
import { listResources, readResource, resourceKinds } from "./resources.ts";
import type { ToolAnswer, CallContext, Toolset } from "../tools/tool.ts";
import { toolsFor, type AnyTool } from "../tools/index.ts";

export type McpServerDeps = {
  version: string;
  toolset: Toolset;
  /** Names of the agents' CLIs, for the description of work_with. */
  agentNames: readonly string[];
  /** `--project`, absolute; null if the client decides. */
  project: string | null;
  /** The working directory if it is in a project, else null. */
  workingDirectory: string | null;
  projectOf: (directory: string) => string;
  /** Returns an Api whose turns outlive this process. Connects again if the last one no longer answers. */
  connect: (directory: string) => Promise<Api>;
  /** Time limit of every call; null uses the limit of the client, if it is known. */
  handBackAfterMs: number | null;
  /** Prints a line for the user, never to stdout. */
  log: (line: string) => void;
};

type Era = McpRequestContext["era"];

/** Serves on stdin and stdout. Resolves when the client has disconnected; turns in the hub continue. */
export async function serveOverStdio(deps: McpServerDeps, onStop: (stop: () => void) => void): Promise<void> {
  const clientGone = Promise.withResolvers<void>();
  const transport = new StdioServerTransport();
  process.stdin.once("end", clientGone.resolve).once("close", clientGone.resolve);
  process.stdout.once("error", () => clientGone.resolve());
  onStop(clientGone.resolve);
  const server = serveStdio(({ era }) => createMcpServer(deps, era), {
    transport,
    onerror: (error) => deps.log(error.message),
  });
  await clientGone.promise;
  await server.close();
}

export function createMcpServer(deps: McpServerDeps, era: Era): Server {
  const server = new Server({ name: "skein", version: deps.version }, { capabilities: { tools: {}, resources: {} } });
  const tools = toolsFor(deps.toolset, deps.agentNames);
  const contextOf = (request: ServerContext) => createCallContext(deps, { server, era, request });
  server.setRequestHandler("tools/list", () => ({ tools: tools.map(toolListEntry) }));
  server.setRequestHandler("tools/call", async ({ params }, request) => {
    const tool = tools.find(({ name }) => name === params.name);
    if (tool === undefined) throw unknownTool(params.name, tools);
    try {
      const input = parseToolInput(tool.input, params.arguments);
      const suspended = readSuspendedCall(request);
      const ctx = await contextOf(request);
      const answer = await (suspended === null ? tool.run(input, ctx) : resumeCall(suspended, request, ctx));
      return answer.pendingAsk === undefined ? resultOf(answer) : endCallWithQuestion(answer.pendingAsk);
    } catch (error) {
      return failure(error, deps.log);
    }
  });
  server.setRequestHandler("resources/list", async (_, request) => ({ resources: await listResources(await contextOf(request)) }));
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: resourceKinds.map(({ template, name, description }) => ({ uriTemplate: template, name, description })),
  }));
  server.setRequestHandler("resources/read", async ({ params: { uri } }, request) => {
    const resource = await readResource(uri, await contextOf(request));
    if (resource === null) throw new ResourceNotFoundError(uri, `there is no resource ${uri}`);
    return { contents: [resource] };
  });
  return server;
}

export function toolListEntry({ name, description, input, output, readOnly }: AnyTool): ToolListEntry {
  return {
    name,
    description,
    inputSchema: toolListSchema(input, "input") as ToolListEntry["inputSchema"],
    outputSchema: toolListSchema(output, "output"),
    ...(readOnly ? { annotations: { readOnlyHint: true } } : {}),
  };
}

type ClientRequest = { server: Server; era: Era; request: ServerContext };

async function createCallContext(deps: McpServerDeps, { server, era, request }: ClientRequest): Promise<CallContext> {
  const client = readClientInfo(server, request);
  const directory = await findDirectory({
    flag: deps.project,
    workingDirectory: deps.workingDirectory,
    roots: async () => (era === "legacy" && client.capabilities.roots !== undefined ? (await server.listRoots()).roots : []),
  });
  const elicitation = createElicitation(client, { era, request, log: deps.log });
  const caller = createCaller(client, request, { handBackAfterMs: deps.handBackAfterMs, elicitation });
  return { api: await deps.connect(directory), directory, project: deps.projectOf(directory), caller };
}

function resultOf({ output, text, isError }: ToolAnswer<Record<string, unknown>>): CallToolResult {
  return { content: [{ type: "text", text }], structuredContent: output, ...(isError ? { isError: true } : {}) };
}

/** An error as text for the calling model. Errors that are no Fault are bugs, so they are logged with their stack. */
function failure(error: unknown, log: McpServerDeps["log"]): CallToolResult {
  if (!(error instanceof Fault)) log(error instanceof Error ? (error.stack ?? error.message) : String(error));
  const hint = error instanceof Fault && error.hint !== undefined ? `\n${error.hint}` : "";
  return { content: [{ type: "text", text: `${messageOf(error)}${hint}` }], isError: true };
}

function unknownTool(name: string, tools: readonly AnyTool[]): ProtocolError {
  const names = tools.map((tool) => tool.name);
  const nearest = nearestWord(name, names);
  return new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `there is no tool "${name}"${nearest === null ? "" : `; did you mean ${nearest}?`} The tools are ${names.join(", ")}`,
  );
}
