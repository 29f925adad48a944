// A hostile MCP server on HTTP while the user signs in to it: it sends answers without an end, names a program of this machine as
// the page for the sign-in, or leads skein to servers of this machine. Other users of the machine reach the port of the answer.
import { afterEach, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { boundedAnswer, ServerRefusal } from "../../src/mcp-client/bounded-answer.ts";
import { signInFetch } from "../../src/mcp-client/sign-in.ts";
import { temporaryHome } from "../support/temporary-home.ts";

type Hostile = { authorizationEndpoint?: string; hasEndlessAnswer?: boolean };

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

/** `state.sent` counts the megabytes that were taken of an answer without an end. */
function hostileServer({ authorizationEndpoint, hasEndlessAnswer = false }: Hostile) {
  const state = { sent: 0, asked: 0 };
  const blanks = new TextEncoder().encode(" ".repeat(1 << 20));
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    async fetch(request) {
      const { pathname, origin } = new URL(request.url);
      state.asked += 1;
      if (pathname === "/mcp")
        return new Response("", { status: 401, headers: { "www-authenticate": `Bearer resource_metadata="${origin}/resource"` } });
      if (hasEndlessAnswer) {
        const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
          state.sent += 1;
          // A client that reads on would take them all.
          if (state.sent > 300) controller.close();
          else controller.enqueue(blanks);
        };
        return new Response(new ReadableStream({ pull }), { headers: { "content-type": "application/json" } });
      }
      if (pathname === "/resource") return Response.json({ resource: `${origin}/mcp`, authorization_servers: [origin] });
      if (pathname === "/register") return Response.json({ ...((await request.json()) as object), client_id: "c" }, { status: 201 });
      return Response.json({
        issuer: origin,
        authorization_endpoint: authorizationEndpoint ?? `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["S256"],
      });
    },
  });
  stops.push(() => server.stop(true));
  return { state, origin: server.url.origin, url: `${server.url.origin}/mcp` };
}

async function login(url: string) {
  using skein = temporaryHome();
  const config = join(skein.env["SKEIN_HOME"]!, "config");
  mkdirSync(config, { recursive: true });
  writeFileSync(join(config, "config.jsonc"), JSON.stringify({ mcp_servers: { evil: { url } } }));
  return await skein.run(["mcp", "login", "evil"]);
}

test.each(["file:///etc/passwd", "vscode://evil/open", "javascript:alert(1)", "data:text/html,x"])(
  "%s is never opened as the page for a sign-in",
  async (address) => {
    const { code, err } = await login(hostileServer({ authorizationEndpoint: address }).url);
    expect([code, err]).toEqual([4, expect.stringContaining("the server offers no sign-in")]);
    expect(err).not.toContain(address);
  },
  30_000,
);

test("an answer without an end is left after a megabyte", async () => {
  const { state, url } = hostileServer({ hasEndlessAnswer: true });
  expect((await login(url)).code).toBe(4);
  // Each of the few requests of a sign-in takes what fits into the buffers of the system, and no more.
  expect(state.sent / state.asked).toBeLessThan(60);
}, 60_000);

describe("a server that is not on this machine", () => {
  const server = { url: "https://93.184.215.14/mcp" };

  test.each(["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "2130706433", "[::ffff:127.0.0.1]"])(
    "it can't lead a sign-in to a server at %s",
    async (host) => {
      const inner = hostileServer({});
      const origins = new Set<string>();
      const { port } = new URL(inner.origin);
      await expect(signInFetch(server, origins)(`http://${host}:${port}/resource`)).rejects.toThrow("of this machine or its network");
      expect([inner.state.asked, origins.size]).toEqual([0, 0]);
    },
  );

  test.each(["169.254.169.254", "10.0.0.1", "192.168.1.1", "172.16.0.1"])("it can't lead a sign-in to %s", async (host) => {
    await expect(signInFetch(server, new Set())(`http://${host}/latest/meta-data`)).rejects.toThrow("of this machine or its network");
  });
});

test("a server on this machine may have its sign-in on this machine", async () => {
  const inner = hostileServer({});
  const origins = new Set<string>();
  expect((await signInFetch({ url: "http://localhost:1/mcp" }, origins)(`${inner.origin}/resource`)).status).toBe(200);
  expect([...origins]).toEqual([inner.origin]);
});

describe("an answer with too many values", () => {
  const values = "[],".repeat(600_000);
  const answerOf = (body: string, type: string) => boundedAnswer(new Response(body, { headers: { "content-type": type } })).text();

  test("one message is refused, as JSON and in a stream", async () => {
    for (const type of ["application/json", "text/event-stream"])
      await expect(answerOf(`[${values}[]]`, type)).rejects.toThrow(ServerRefusal);
    await expect(answerOf(`[${values.replaceAll("],", "],\n\n")}[]]`, "application/json")).rejects.toThrow(ServerRefusal);
  });

  test("messages of a stream are counted one by one", async () => {
    const half = "[],".repeat(400_000);
    expect(await answerOf(`data: [${half}]\n\ndata: [${half}]\r\n\r\ndata: [${half}]\n\n`, "text/event-stream")).toHaveLength(
      3 * half.length + 3 * 8 + 2 + 4 + 2,
    );
  });
});
