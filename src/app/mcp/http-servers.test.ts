// Servers over HTTP: headers, and everything that must not leave the configured URL.
import { afterAll, expect, test } from "bun:test";
import type { HttpServer } from "../../protocol/mcp/server-entry.ts";
import { startTestServers } from "./fixtures/test-servers.ts";

const seen: { path: string; token: string | null }[] = [];
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  async fetch(request) {
    const { pathname } = new URL(request.url);
    seen.push({ path: pathname, token: request.headers.get("authorization") });
    if (pathname === "/locked") return new Response("", { status: 401, headers: { "www-authenticate": "Bearer resource_metadata=x" } });
    if (pathname === "/denied") return new Response("", { status: 403 });
    if (pathname === "/moved") return Response.redirect("/mcp", 307);
    if (pathname === "/flood") return new Response(new Uint8Array(70 << 20), { headers: { "content-type": "application/json" } });
    if (request.method !== "POST") return new Response("", { status: 405 });
    const { id, method } = (await request.json()) as { id?: number; method: string };
    if (id === undefined) return new Response("", { status: 202 });
    const initialized = { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "web", version: "1" } };
    const result = method === "initialize" ? initialized : { tools: [{ name: "look", inputSchema: { type: "object" } }] };
    return Response.json({ jsonrpc: "2.0", id, result });
  },
});
afterAll(() => server.stop(true));

const at = (path: string): HttpServer => ({
  kind: "http",
  url: `http://127.0.0.1:${server.port}${path}`,
  headers: { Authorization: "Bearer t0ken" },
  isOldSse: false,
  timeoutMs: 30_000,
});

test("a server over HTTP gets its headers, and lists its tools", async () => {
  await using servers = startTestServers({ web: at("/mcp") });
  expect((await servers.call("web")).text).toBe("web has 1 tool:\n- look()");
  expect(seen.filter(({ path }) => path === "/mcp").every(({ token }) => token === "Bearer t0ken")).toBe(true);
});

test.each([
  ["/locked", "asks for a sign-in (HTTP 401); in a terminal: skein mcp login web; or add a token to its headers"],
  ["/denied", "denied access (HTTP 403)"],
  ["/moved", "redirects to /mcp (HTTP 307)"],
  ["/flood", "sent more than 64 MB in one answer"],
])("a server at %s fails with a reason, and no other address is asked", async (path, reason) => {
  seen.length = 0;
  await using servers = startTestServers({ web: at(path) });
  expect((await servers.call("web")).text).toContain(reason);
  expect([...new Set(seen.map((request) => request.path))]).toEqual([path]);
});

test("a server that is not there fails with a reason", async () => {
  await using servers = startTestServers({ web: { ...at("/mcp"), url: "http://127.0.0.1:9/mcp" } });
  expect((await servers.call("web")).text).toContain("the MCP server web can't be reached");
});
