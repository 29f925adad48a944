// Signs in to an MCP server over HTTP with OAuth, against an authorization server of this test on this machine.
import { afterEach, expect, test } from "bun:test";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { mcpCall, serverJourney, testServerEntry } from "../../support/server-journey.ts";
import { wireModels, type TemporaryHome } from "../../support/temporary-home.ts";

type Client = { redirectUris: string[] };

/** A server with one tool, and an authorization server on another port. Tokens are `access-6130-<n>` and `refresh-6130-<n>`. */
function startServers() {
  const clients = new Map<string, Client>();
  const codes = new Map<string, { challenge: string; redirectUri: string }>();
  const state = { count: 0, access: "", refresh: "", paths: [] as string[] };
  const grant = () => {
    state.count += 1;
    [state.access, state.refresh] = [`access-6130-${state.count}`, `refresh-6130-${state.count}`];
    return Response.json({ access_token: state.access, refresh_token: state.refresh, token_type: "Bearer", expires_in: 3600 });
  };
  const refuse = () => Response.json({ error: "invalid_grant" }, { status: 400 });
  const authority = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { pathname, searchParams, origin } = new URL(request.url);
      state.paths.push(pathname);
      if (pathname === "/.well-known/oauth-authorization-server")
        return Response.json({
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
          response_types_supported: ["code"],
          grant_types_supported: ["authorization_code", "refresh_token"],
          code_challenge_methods_supported: ["S256"],
          token_endpoint_auth_methods_supported: ["none"],
        });
      if (pathname === "/register") {
        const body = (await request.json()) as { redirect_uris: string[] };
        const id = `client-${clients.size}`;
        clients.set(id, { redirectUris: body.redirect_uris });
        return Response.json({ ...body, client_id: id }, { status: 201 });
      }
      if (pathname === "/authorize") {
        const redirectUri = searchParams.get("redirect_uri")!;
        if (clients.get(searchParams.get("client_id")!)?.redirectUris.includes(redirectUri) !== true)
          return new Response("", { status: 400 });
        const code = `code-6130-${codes.size}`;
        codes.set(code, { challenge: searchParams.get("code_challenge")!, redirectUri });
        return Response.redirect(`${redirectUri}?code=${code}&state=${searchParams.get("state")}`, 302);
      }
      if (pathname !== "/token") return new Response("", { status: 404 });
      const form = new URLSearchParams(await request.text());
      if (form.get("grant_type") === "refresh_token") return form.get("refresh_token") === state.refresh ? grant() : refuse();
      const known = codes.get(form.get("code")!);
      const challenge = new Bun.CryptoHasher("sha256").update(form.get("code_verifier") ?? "").digest("base64url");
      codes.delete(form.get("code")!);
      return known?.challenge === challenge && known.redirectUri === form.get("redirect_uri") ? grant() : refuse();
    },
  });
  const resource = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { pathname, origin } = new URL(request.url);
      if (pathname === "/.well-known/oauth-protected-resource/mcp")
        return Response.json({ resource: `${origin}/mcp`, authorization_servers: [authority.url.origin] });
      if (pathname !== "/mcp") return new Response("", { status: 404 });
      if (state.access === "" || request.headers.get("authorization") !== `Bearer ${state.access}`) {
        const challenge = `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
        return new Response("", { status: 401, headers: { "www-authenticate": challenge } });
      }
      if (request.method !== "POST") return new Response("", { status: 405 });
      const { id, method } = (await request.json()) as { id?: number; method: string };
      if (id === undefined) return new Response("", { status: 202 });
      const initialized = { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "web", version: "1" } };
      const listed = { tools: [{ name: "look", inputSchema: { type: "object" } }] };
      const called = { content: [{ type: "text", text: "looked-6131" }] };
      return Response.json({
        jsonrpc: "2.0",
        id,
        result: method === "initialize" ? initialized : method === "tools/list" ? listed : called,
      });
    },
  });
  return {
    state,
    url: `${resource.url.origin}/mcp`,
    async [Symbol.asyncDispose]() {
      await Promise.all([authority.stop(true), resource.stop(true)]);
    },
  };
}

const running: Bun.Subprocess[] = [];
afterEach(() => {
  for (const child of running.splice(0)) child.kill();
});

/** Starts `skein mcp login` and returns the address for the browser. */
async function startLogin(skein: TemporaryHome, name: string) {
  const child = skein.start(["mcp", "login", name]);
  running.push(child);
  const reader = (child.stderr as ReadableStream<Uint8Array>).getReader();
  let err = "";
  while (!/http:\S+\n/.test(err)) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`the login ended: ${err}`);
    err += new TextDecoder().decode(value);
  }
  return { child, url: /http:\S+/.exec(err)![0], out: new Response(child.stdout as ReadableStream).text() };
}

function signInFiles(skein: TemporaryHome): string[] {
  const directory = join(skein.env["SKEIN_HOME"]!, "data", "mcp-sign-ins");
  return readdirSync(directory).map((name) => join(directory, name));
}

test("after mcp login a turn uses the server; tokens are renewed, stay in one private file, and logout deletes them", async () => {
  await using servers = startServers();
  await using journey = serverJourney([mcpCall("web", "look", {})], { web: { url: servers.url } });
  const { skein, model } = journey;
  const before = await skein.run(["mcp", "try", "web"]);
  expect([before.code, before.out]).toEqual([
    1,
    expect.stringContaining("asks for a sign-in (HTTP 401); in a terminal: skein mcp login web"),
  ]);

  const { child, url, out } = await startLogin(skein, "web");
  expect((await fetch(url)).status).toBe(200);
  expect([await child.exited, await out]).toEqual([0, "signed in to web\n"]);
  expect((await skein.run(["mcp", "try", "web"])).out).toContain("web has 1 tool:\n- look()");
  const [file, ...others] = signInFiles(skein);
  expect(others).toEqual([]);
  expect(statSync(file!).mode & 0o777).toBe(0o600);
  expect(readFileSync(file!, "utf8")).toContain("access-6130-1");

  // The server no longer accepts the token: it is renewed once, and the turn does not notice.
  servers.state.access = "revoked";
  const ran = await skein.run(["run", "go", "-m", wireModels.anthropic, "--output-format", "events"]);
  expect([ran.code, journey.results()]).toEqual([0, ["looked-6131"]]);
  expect(servers.state.count).toBe(2);
  expect(readFileSync(file!, "utf8")).toContain("refresh-6130-2");

  // No token is printed, sent to the model, or stored elsewhere.
  const stored = [...new Bun.Glob("**/*").scanSync({ cwd: skein.root, dot: true, onlyFiles: true, absolute: true })];
  // The empty cover of secrets has no permissions, so an ordinary user can't open it.
  const readable = stored.filter((path) => (statSync(path).mode & 0o400) !== 0);
  const withToken = readable.filter((path) => /(access|refresh)-6130|code-6130/.test(readFileSync(path, "latin1")));
  expect(withToken).toEqual([file!]);
  expect(ran.out + ran.err + (await out) + JSON.stringify(model.main())).not.toMatch(/(access|refresh)-6130/);

  Object.assign(servers.state, { access: "revoked", refresh: "revoked" });
  expect((await skein.run(["mcp", "try", "web"])).out).toContain("needs a new sign-in; in a terminal: skein mcp login web");
  expect((await skein.run(["mcp", "logout", "web"])).out).toBe("signed out of web; its tokens are deleted here\n");
  expect(signInFiles(skein)).toEqual([]);
}, 120_000);

test("an answer of another sign-in changes nothing; a refusal and wrong use end with one line", async () => {
  await using servers = startServers();
  await using journey = serverJourney([], {
    web: { url: servers.url },
    plain: { url: `${servers.url}/none` },
    local: testServerEntry(),
  });
  const { skein } = journey;
  const forged = await startLogin(skein, "web");
  const callback = new URL(new URL(forged.url).searchParams.get("redirect_uri")!);
  expect((await fetch(new URL("/other", callback))).status).toBe(404);
  for (const query of ["code=stolen&state=wrong", "code=stolen", "error=access_denied"])
    expect((await fetch(`${callback.href}?${query}`)).status).toBe(403);
  expect((await fetch(forged.url)).status).toBe(200);
  expect([await forged.child.exited, servers.state.count]).toEqual([0, 1]);
  expect((await skein.run(["mcp", "logout", "web"])).code).toBe(0);

  const refused = await startLogin(skein, "web");
  const { searchParams } = new URL(refused.url);
  await fetch(`${searchParams.get("redirect_uri")}?error=access_denied&state=${searchParams.get("state")}`);
  expect(await refused.child.exited).toBe(4);

  for (const [args, code, message] of [
    [["login", "plain"], 4, "the server offers no sign-in"],
    [["login", "local"], 2, "local is a program on stdio and has no sign-in"],
    [["login", "wbe"], 2, 'there is no MCP server "wbe"'],
    [["login"], 2, "mcp login needs the name of a server"],
  ] as const) {
    const ran = await skein.run(["mcp", ...args]);
    expect([args, ran.code, ran.err]).toEqual([args, code, expect.stringContaining(message)]);
  }
  expect((await skein.run(["mcp", "logout", "web"])).out).toBe("there is no sign-in to web\n");
}, 120_000);
