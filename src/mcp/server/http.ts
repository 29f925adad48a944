// `skein mcp --http`: serves the tools on 127.0.0.1, for clients that can't start a program. Every request needs a token.
// Host and origin are checked, so that a web page can't call, not even by DNS rebinding.
import {
  createMcpHandler,
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
} from "@modelcontextprotocol/server";
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { isSameToken, listenOnFreePort } from "../../kit/flow/loopback.ts";
import { createFile } from "../../kit/files/replace-file.ts";
import { Fault } from "../../protocol/api/error.ts";
import { createMcpServer, type McpServerDeps } from "./mcp-server.ts";

export type HttpServerDeps = McpServerDeps & {
  /** Null: 4454 or the next free port. */
  port: number | null;
  tokenFile: string;
};

const firstPort = 4454;
const minTokenLength = 32;

export function serveOverHttp(deps: HttpServerDeps): { url: string; close: () => Promise<void> } {
  const token = readOrCreateToken(deps.tokenFile);
  const handler = createMcpHandler(({ era }) => createMcpServer(deps, era), { onerror: (error) => deps.log(error.message) });
  const answer = async (request: Request): Promise<Response> => {
    const rejection =
      hostHeaderValidationResponse(request, localhostAllowedHostnames()) ?? originValidationResponse(request, localhostAllowedOrigins());
    if (rejection !== undefined) return rejection;
    if (new URL(request.url).pathname !== "/mcp") return new Response("skein serves MCP at /mcp\n", { status: 404 });
    if (!hasToken(request, token)) return unauthorized();
    return handler.fetch(request);
  };
  // No idle timeout: a call may be silent while its turn works.
  const server = listenOnFreePort(deps.port, firstPort, (port) =>
    Bun.serve({ hostname: "127.0.0.1", port, idleTimeout: 0, fetch: answer }),
  );
  if (server === null)
    throw new Fault("network", deps.port === null ? `no port from ${firstPort} on is free` : `port ${deps.port} is in use`, {
      hint: "choose another port with --port",
    });
  return {
    url: `http://127.0.0.1:${server.port}/mcp`,
    async close() {
      await handler.close();
      await server.stop(true);
    },
  };
}

/** The token never changes, so that a client is configured once. Servers that start together share the one that was created first. */
function readOrCreateToken(file: string): string {
  if (!existsSync(file)) createFile(file, `${randomBytes(32).toString("base64url")}\n`, { file: 0o600, directory: 0o700 });
  const token = readFileSync(file, "utf8").trim();
  // An empty token would admit every local user.
  if (token.length < minTokenLength)
    throw new Fault("config", `the token in ${file} has fewer than ${minTokenLength} characters`, {
      hint: "delete the file; the next start creates a new token",
    });
  return token;
}

function hasToken(request: Request, token: string): boolean {
  return isSameToken(/^Bearer (.+)$/i.exec(request.headers.get("authorization") ?? "")?.[1] ?? "", token);
}

function unauthorized(): Response {
  return Response.json(
    {
      jsonrpc: "2.0",
      id: null,
      error: { code: -32001, message: "the token is missing or wrong; the server printed the path of its file" },
    },
    { status: 401, headers: { "www-authenticate": 'Bearer realm="skein"' } },
  );
}
