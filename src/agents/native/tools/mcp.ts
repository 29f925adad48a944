// The tool `mcp`: lists and calls the tools of the turn's MCP servers. Its definition names the servers and not their tools,
// so that a request does not grow with the number of tools.
import { isRecord } from "../../../kit/text/json.ts";
import { messageOf } from "../../../protocol/api/error.ts";
import { mcpToolName } from "../../../protocol/api/tool-table.ts";
import type { ToolDefinition, ToolOutcome } from "../../../protocol/api/ports.ts";
import { byteLength } from "../../../kit/text/cut-text.ts";
import type { Handle } from "../../../protocol/tree/handle.ts";
import { maxResultBytes, type CallPart } from "../../../protocol/tree/node.ts";
import type { LoopState } from "../turn-state.ts";

/** The description has one line for each server. */
export function createMcpTool(servers: readonly string[]): ToolDefinition {
  return {
    name: mcpToolName,
    description: ["Call a tool of an MCP server; without tool, list its tools. Servers:", ...servers].join("\n"),
    parameters: {
      type: "object",
      properties: { server: { type: "string" }, tool: { type: "string" }, arguments: { type: "object", properties: {} } },
      required: ["server"],
    },
  };
}

/** The whole result is stored if it is too long for the model. */
export async function runMcp(
  call: CallPart,
  { servers, context, input }: Pick<LoopState, "servers" | "context" | "input">,
): Promise<ToolOutcome & { handle?: Handle }> {
  const { server, tool = null, arguments: args = {} } = call.input;
  if (servers === null) return { text: "this turn has no MCP servers", isError: true };
  if (typeof server !== "string") return { text: `mcp: "server" must be one of ${servers.names.join(", ")}`, isError: true };
  if (tool !== null && typeof tool !== "string") return { text: 'mcp: "tool" must be a string', isError: true };
  const values = typeof args === "string" ? parseArguments(args) : (args ?? {});
  if (!isRecord(values)) return { text: 'mcp: "arguments" must be an object', isError: true };
  const { signal, registerPausable, keepAlive } = context;
  const outcome = await servers.call(
    { server, tool: tool === "" ? null : tool, arguments: values },
    { signal, registerPausable, onProgress: keepAlive, traceparent: input.env?.["TRACEPARENT"] },
  );
  if (byteLength(outcome.text) <= maxResultBytes) return outcome;
  const sink = context.keepOutput(call.id, call.name);
  sink.write(new TextEncoder().encode(outcome.text));
  try {
    const metadata = { command: [server, tool ?? "tools/list"].join(" "), exitCode: outcome.isError ? 1 : 0, durationMs: 0 };
    const handle = await sink.close(metadata, maxResultBytes);
    return handle === null ? outcome : { ...outcome, handle };
  } catch (error) {
    return { ...outcome, text: `${outcome.text}\n[the whole result is not stored: ${messageOf(error)}]` };
  }
}

/** Some models send the arguments as JSON text. Null if the text is no JSON. */
function parseArguments(text: string): unknown {
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}
