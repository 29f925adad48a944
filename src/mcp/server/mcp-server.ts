// One client's server: the table of tools and the resources over an Api. It can't tell where that Api lives.
import {
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
  type CallToolResult,
  type McpRequestContext,
  type ServerContext,
  type Tool as ShownTool,
} from "@modelcontextprotocol/server";
import { nearestWord } from "../../kit/text/nearest-word.ts";
import type { Api } from "../../protocol/api/api.ts";
import { Fault, messageOf } from "../../protocol/api/error.ts";
import { parseToolInput, toolListSchema } from "../../protocol/schema/mcp.ts";
import { createCaller, readClientInfo } from "./caller.ts";
import { endCallWithQuestion, elicitationFor, resumeRound, readRound } from "./elicit.ts";
import { findDirectory, firstDirectory } from "./find-directory.ts";
import { listResources, readResource, resourceKinds } from "./resources.ts";
import type { ToolAnswer, CallContext, Toolset } from "../tools/tool.ts";
import { toolsFor, type AnyTool } from "../tools/index.ts";

export type McpServerDeps = {
  version: string;
  toolset: Toolset;
  /** `--project`, absolute; null leaves it to the client. */
  project: string | null;
  /** The working directory, when it lies in a project. */
  workingDirectory: string | null;
  projectOf: (directory: string) => string;
  /** An Api whose turns outlive this process, for as long as it answers. */
  connect: (directory: string) => Promise<Api>;
  /** How long every call may take; null leaves it to what is known of the client. */
  handBackAfterMs: number | null;
  /** For people; never on stdout. */
  log: (line: string) => void;
};

type Era = McpRequestContext["era"];

export function createMcpServer(deps: McpServerDeps, era: Era): Server {
  const server = new Server({ name: "skein", version: deps.version }, { capabilities: { tools: {}, resources: {} } });
  const tools = toolsFor(deps.toolset);
  server.setRequestHandler("tools/list", () => ({ tools: tools.map(toolListEntry) }));
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    const found = tools.find(({ name }) => name === params.name);
    if (found === undefined) throw unknownTool(params.name, tools);
    try {
      const input: unknown = parseToolInput(found.input, params.arguments, nearestWord);
      const round = readRound(context);
      const answer = await inPlace(deps, server, era, context, (place) =>
        round === null ? found.run(input, place) : resumeRound(round, context, place),
      );
      return answer.pendingAsk === undefined ? resultOf(answer) : endCallWithQuestion(answer.pendingAsk);
    } catch (error) {
      return failure(error, deps.log);
    }
  });
  server.setRequestHandler("resources/list", (_, context) =>
    inPlace(deps, server, era, context, async (place) => ({ resources: await listResources(place) })),
  );
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: resourceKinds.map(({ template, name, description }) => ({ uriTemplate: template, name, description })),
  }));
  server.setRequestHandler("resources/read", async ({ params: { uri } }, context) => {
    const read = await inPlace(deps, server, era, context, (place) => readResource(uri, place));
    if (read === null) throw new ResourceNotFoundError(uri, `there is no resource ${uri}`);
    return { contents: [read] };
  });
  return server;
}

export function toolListEntry({ name, description, input, output, readOnly }: AnyTool): ShownTool {
  return {
    name,
    description,
    inputSchema: toolListSchema(input, "input") as ShownTool["inputSchema"],
    outputSchema: toolListSchema(output, "output"),
    ...(readOnly ? { annotations: { readOnlyHint: true } } : {}),
  };
}

async function inPlace<T>(
  deps: McpServerDeps,
  server: Server,
  era: Era,
  context: ServerContext,
  use: (ctx: CallContext) => Promise<T>,
): Promise<T> {
  const client = readClientInfo(server, context);
  const directory = await findDirectory({
    flag: deps.project,
    workingDirectory: deps.workingDirectory,
    root: async () => (era === "legacy" && client.can.roots !== undefined ? firstRoot(server) : null),
  });
  const asks = elicitationFor(client, era, context, deps.log);
  const caller = createCaller(client, context, deps.handBackAfterMs, asks);
  return use({ api: await deps.connect(directory), directory, project: deps.projectOf(directory), caller });
}

async function firstRoot(server: Server): Promise<string | null> {
  const { roots } = await server.listRoots();
  return firstDirectory(roots.map(({ uri }) => uri));
}

function resultOf({ output, text, isError }: ToolAnswer<Record<string, unknown>>): CallToolResult {
  return { content: [{ type: "text", text }], structuredContent: output, ...(isError ? { isError: true } : {}) };
}

/** What went wrong, in words for the model that called. */
function failure(error: unknown, log: McpServerDeps["log"]): CallToolResult {
  if (!(error instanceof Fault)) log(error instanceof Error ? (error.stack ?? error.message) : String(error));
  const hint = error instanceof Fault && error.hint !== undefined ? `\n${error.hint}` : "";
  return { content: [{ type: "text", text: `${messageOf(error)}${hint}` }], isError: true };
}

function unknownTool(name: string, tools: readonly AnyTool[]): ProtocolError {
  const names = tools.map((tool) => tool.name);
  const near = nearestWord(name, names);
  return new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `there is no tool "${name}"${near === null ? "" : `; did you mean ${near}?`} The tools are ${names.join(", ")}`,
  );
}
