// Runs one call of the tool `mcp` on a connected server: lists its tools, calls one, or reads its resources and prompts,
// whose methods are called like tools.
import type { Tool } from "@modelcontextprotocol/client";
import { isRecord } from "../kit/text/json.ts";
import { oneLine } from "../kit/text/cut-text.ts";
import type { McpCall, McpCallOptions, ToolOutcome } from "../protocol/api/ports.ts";
import { listText, toolText, unknownToolText } from "./describe-server.ts";
import { outcomeOf, promptOutcome, resourceOutcome } from "./result-outcome.ts";
import { type ServerConnection, ServerFailure } from "./server-connection.ts";

type RunMethod = (connection: ServerConnection, args: Record<string, unknown>, options: McpCallOptions) => Promise<ToolOutcome>;

/** Methods of the protocol that are called like a tool. */
const methods = new Map<string, RunMethod>(
  Object.entries({
    "tools/list": listTools,
    "resources/list": listResources,
    "resources/read": readResource,
    "prompts/list": listPrompts,
    "prompts/get": getPrompt,
  }),
);

/** Rejects with a `ServerFailure` if the server does not answer, or with the reason of `options.signal`. */
export async function runServerCall(connection: ServerConnection, call: McpCall, options: McpCallOptions): Promise<ToolOutcome> {
  const method = methods.get(call.tool ?? "tools/list");
  const outcome = await (method === undefined
    ? callTool(connection, call.tool as string, { args: call.arguments, options })
    : method(connection, call.arguments, options));
  const note = method !== listTools && connection.takeToolChange() ? "\n[the tools of this server have changed; list them again]" : "";
  return note === "" ? outcome : { ...outcome, text: outcome.text + note };
}

async function listTools(connection: ServerConnection, args: Record<string, unknown>, options: McpCallOptions): Promise<ToolOutcome> {
  connection.takeToolChange();
  const capabilities = connection.client.getServerCapabilities();
  const text = listText({
    name: connection.name,
    tools: await fetchTools(connection, options),
    instructions: connection.client.getInstructions(),
    hasResources: capabilities?.resources !== undefined,
    hasPrompts: capabilities?.prompts !== undefined,
    filter: typeof args["filter"] === "string" ? args["filter"] : null,
  });
  return { text, isError: false };
}

async function fetchTools(connection: ServerConnection, options: McpCallOptions): Promise<Tool[]> {
  const { client } = connection;
  if (client.getServerCapabilities()?.tools === undefined) return [];
  const { tools } = await connection.request(options, (limits) => client.listTools(undefined, { ...limits, cacheMode: "bypass" }));
  return tools;
}

type ToolCall = { args: Record<string, unknown>; options: McpCallOptions };

async function callTool(connection: ServerConnection, tool: string, { args, options }: ToolCall): Promise<ToolOutcome> {
  try {
    const { traceparent } = options;
    const params = { name: tool, arguments: args, ...(traceparent === undefined ? {} : { _meta: { traceparent } }) };
    const result = await connection.request(options, (limits) => connection.client.callTool(params, limits));
    const outcome = outcomeOf(result.content, result.structuredContent, result.isError === true);
    return outcome.isError ? await withParameters(connection, tool, { outcome, options }) : outcome;
  } catch (error) {
    if (!(error instanceof ServerFailure) || !error.isRefusal) throw error;
    const outcome = { text: `the MCP server ${connection.name} ${error.message}`, isError: true };
    return withParameters(connection, tool, { outcome, options });
  }
}

/** Adds the parameters of the tool to an error, because the model may have guessed them. */
async function withParameters(
  connection: ServerConnection,
  tool: string,
  { outcome, options }: { outcome: ToolOutcome; options: McpCallOptions },
): Promise<ToolOutcome> {
  if (connection.hasEnded) return outcome;
  try {
    const tools = await fetchTools(connection, options);
    const definition = tools.find(({ name }) => name === tool);
    const help = definition === undefined ? unknownToolText(connection.name, tool, tools) : toolText(definition);
    return { ...outcome, text: `${outcome.text}\n[${help}]` };
  } catch {
    // The error of the call is the one that counts.
    return outcome;
  }
}

const maxListed = 200;

async function listResources(connection: ServerConnection, _args: Record<string, unknown>, options: McpCallOptions): Promise<ToolOutcome> {
  const { client } = connection;
  const { resources } = await connection.request(options, (limits) => client.listResources(undefined, { ...limits, cacheMode: "bypass" }));
  const templates = await connection
    .request(options, (limits) => client.listResourceTemplates(undefined, { ...limits, cacheMode: "bypass" }))
    .then(({ resourceTemplates }) => resourceTemplates, onRefusal([]));
  const lines = [
    ...resources.map(({ uri, name, description }) => itemText(uri, description ?? name)),
    ...templates.map(({ uriTemplate, name, description }) => itemText(uriTemplate, description ?? name)),
  ];
  return { text: joinLines(lines, "no resources"), isError: false };
}

/** A server with resources need not have templates. */
function onRefusal<Value>(value: Value): (error: unknown) => Value {
  return (error) => {
    if (error instanceof ServerFailure && error.isRefusal) return value;
    throw error;
  };
}

async function readResource(connection: ServerConnection, args: Record<string, unknown>, options: McpCallOptions): Promise<ToolOutcome> {
  const uri = args["uri"];
  if (typeof uri !== "string") return { text: 'resources/read needs arguments {"uri"}', isError: true };
  return resourceOutcome(
    await connection.request(options, (limits) => connection.client.readResource({ uri }, { ...limits, cacheMode: "bypass" })),
  );
}

async function listPrompts(connection: ServerConnection, _args: Record<string, unknown>, options: McpCallOptions): Promise<ToolOutcome> {
  const { prompts } = await connection.request(options, (limits) =>
    connection.client.listPrompts(undefined, { ...limits, cacheMode: "bypass" }),
  );
  const lines = prompts.map(({ name, description = "", arguments: parameters = [] }) => {
    const names = parameters.map((parameter) => `${parameter.name}${parameter.required === true ? "" : "?"}`);
    return itemText(`${name}(${names.join(", ")})`, description);
  });
  return { text: joinLines(lines, "no prompts"), isError: false };
}

async function getPrompt(connection: ServerConnection, args: Record<string, unknown>, options: McpCallOptions): Promise<ToolOutcome> {
  const { name, arguments: values = {} } = args;
  if (typeof name !== "string" || !isRecord(values)) return { text: 'prompts/get needs arguments {"name", "arguments"}', isError: true };
  const texts = Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, typeof value === "string" ? value : JSON.stringify(value)]),
  );
  return promptOutcome(await connection.request(options, (limits) => connection.client.getPrompt({ name, arguments: texts }, limits)));
}

function itemText(name: string, description: string): string {
  return oneLine(description === "" ? `- ${name}` : `- ${name}: ${description}`, 300);
}

function joinLines(lines: readonly string[], none: string): string {
  if (lines.length === 0) return none;
  const rest = lines.length - maxListed;
  return [...lines.slice(0, maxListed), ...(rest > 0 ? [`[${rest} more]`] : [])].join("\n");
}
