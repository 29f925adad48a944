// `skein mcp --http`: the same tools on 127.0.0.1, for clients that can't start a program. Whoever calls shows a token;
// a web page can't call, whatever name it gives this machine.
import {
  createMcpHandler,
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
} from "@modelcontextprotocol/server";
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { Fault } from "../../protocol/api/error.ts";
import { createMcpServer, type McpServerDeps } from "./mcp-server.ts";

export type HttpServerDeps = McpServerDeps & {
  /** Null: 4454, or the next one that is free. */
  port: number | null;
  tokenFile: string;
};

const firstPort = 4454;

export type HttpServer = { url: string; close: () => Promise<void> };

export function serveOverHttp(deps: HttpServerDeps): HttpServer {
  const token = tokenIn(deps.tokenFile);
  const handler = createMcpHandler(({ era }) => createMcpServer(deps, era), { onerror: (error) => deps.log(error.message) });
  const answer = async (request: Request): Promise<Response> => {
    const stranger =
      hostHeaderValidationResponse(request, localhostAllowedHostnames()) ?? originValidationResponse(request, localhostAllowedOrigins());
    if (stranger !== undefined) return stranger;
    if (new URL(request.url).pathname !== "/mcp") return new Response("skein serves MCP at /mcp\n", { status: 404 });
    if (!shows(request, token)) return refused();
    return handler.fetch(request);
  };
  const server = listen(deps.port, answer);
  return {
    url: `http://127.0.0.1:${server.port}/mcp`,
    async close() {
      await handler.close();
      await server.stop(true);
    },
  };
}

function listen(port: number | null, answer: (request: Request) => Promise<Response>): Bun.Server<undefined> {
  const ports = port === null ? Array.from({ length: 100 }, (_, more) => firstPort + more) : [port];
  for (const candidate of ports) {
    try {
      // A call may be silent for as long as its work is.
      return Bun.serve({ hostname: "127.0.0.1", port: candidate, idleTimeout: 0, fetch: answer });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    }
  }
  throw new Fault("network", port === null ? "no port from 4454 on is free" : `port ${port} is taken`, {
    hint: "name another with --port",
  });
}

/** It stays the same, so that a client is configured once. */
function tokenIn(file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  const token = randomBytes(32).toString("base64url");
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(file, `${token}\n`, { mode: 0o600, flag: "wx" });
  return token;
}

function shows(request: Request, token: string): boolean {
  const shown = /^Bearer (.+)$/i.exec(request.headers.get("authorization") ?? "")?.[1] ?? "";
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(shown), digest(token));
}

function refused(): Response {
  return Response.json(
    { jsonrpc: "2.0", id: null, error: { code: -32001, message: "the token is missing or wrong; the server said where it is" } },
    { status: 401, headers: { "www-authenticate": 'Bearer realm="skein"' } },
  );
}
