// `skein mcp` on stdin and stdout, until the client closes its end. Stdout carries nothing but the protocol.
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { createMcpServer, type McpServerDeps } from "./mcp-server.ts";

/** Resolves when the client is gone. What runs in the hub goes on. */
export async function serveOverStdio(deps: McpServerDeps, onStop: (stop: () => void) => void): Promise<void> {
  const gone = Promise.withResolvers<void>();
  const transport = new StdioServerTransport();
  process.stdin.once("end", gone.resolve).once("close", gone.resolve);
  process.stdout.once("error", () => gone.resolve());
  onStop(gone.resolve);
  const handle = serveStdio(({ era }) => createMcpServer(deps, era), {
    transport,
    onerror: (error) => deps.log(error.message),
  });
  await gone.promise;
  await handle.close();
}
