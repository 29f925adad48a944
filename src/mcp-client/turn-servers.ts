// The servers of one turn: finds the server of a call, connects to it at its first use, and runs the call. A failure of a
// server becomes an outcome that the model can read, and the next call connects again.
import { oneLine } from "../kit/text/cut-text.ts";
import { nearestWord } from "../kit/text/nearest-word.ts";
import { messageOf } from "../protocol/api/error.ts";
import type { McpCall, McpCallOptions, ToolOutcome, TurnServers } from "../protocol/api/ports.ts";
import type { McpServer } from "../protocol/mcp/server-entry.ts";
import { runServerCall } from "./server-call.ts";
import { type ConnectionDeps, ServerConnection, ServerFailure } from "./server-connection.ts";

export function createTurnServers(servers: ReadonlyMap<string, McpServer>, deps: ConnectionDeps): Pick<TurnServers, "call" | "close"> {
  const connections = new Map<string, { connection: ServerConnection; connected: Promise<void> }>();
  let isClosed = false;

  const connect = async (name: string, server: McpServer, options: McpCallOptions): Promise<ServerConnection> => {
    const existing = connections.get(name);
    if (existing !== undefined && !existing.connection.hasEnded) {
      await existing.connected;
      return existing.connection;
    }
    const connection = new ServerConnection(name, server, { ...deps, registerPausable: options.registerPausable });
    const connected = connection.connect(options);
    connections.set(name, { connection, connected });
    await connected;
    return connection;
  };

  return {
    async call(call: McpCall, options: McpCallOptions): Promise<ToolOutcome> {
      const server = servers.get(call.server);
      if (server === undefined) return { text: unknownServerText(call.server, [...servers.keys()]), isError: true };
      if (isClosed) return { text: "the turn has ended", isError: true };
      try {
        return await runServerCall(await connect(call.server, server, options), call, options);
      } catch (error) {
        if (options.signal.aborted) return { text: "cancelled", isError: true };
        const text = error instanceof ServerFailure ? error.message : `failed: ${oneLine(messageOf(error), 500)}`;
        return { text: `the MCP server ${call.server} ${text}`, isError: true };
      }
    },
    async close() {
      isClosed = true;
      await Promise.all([...connections.values()].map(({ connection }) => connection.close()));
    },
  };
}

export function unknownServerText(name: string, names: readonly string[]): string {
  const nearest = nearestWord(name, [...names]);
  const hint = nearest === null ? "" : `; did you mean ${nearest}?`;
  return `there is no MCP server ${oneLine(name, 80)}${hint} (the servers are ${names.join(", ")})`;
}
