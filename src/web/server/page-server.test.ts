// The server of the page over real HTTP: logins, Host, Origin, headers, base path, sizes.
import { afterEach, describe, expect, test } from "bun:test";
import { createHash, createHmac } from "node:crypto";
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PageServer, type OpenedPage, type PageSockets } from "./page-server.ts";
import { toPageFiles } from "./page-files.ts";
import { loginLimits } from "./logins.ts";

type Client = { greeting: string; login: string };

const gzipped = (text: string) => Buffer.from(Bun.gzipSync(Buffer.from(text))).toString("base64");
const files = toPageFiles({
  build: "b1",
  files: {
    "index.html": { type: "text/html; charset=utf-8", gzip: gzipped("<!doctype html><p>page</p>") },
    "assets/main-1.js": { type: "text/javascript; charset=utf-8", gzip: gzipped("let page;") },
  },
});

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

function temporaryState(): string {
  const state = mkdtempSync(join(tmpdir(), "skein-web-"));
  cleanups.push(() => rmSync(state, { recursive: true, force: true }));
  return state;
}

/** Sockets that send back every frame. */
function echoSockets(): PageSockets<Client> {
  const open = new Set<Bun.ServerWebSocket<Client>>();
  return {
    upgrade: (request, server, { headers, login = "" } = {}) =>
      server.upgrade(request, { data: { greeting: "hello", login }, ...(headers && { headers }) })
        ? undefined
        : new Response("no upgrade", { status: 426 }),
    closeAll: () => open.forEach((socket) => socket.close()),
    closeLogin: (login) => open.forEach((socket) => socket.data.login === login && socket.close()),
    websocket: {
      maxPayloadLength: 16 << 20,
      open: (socket) => void open.add(socket),
      close: (socket) => void open.delete(socket),
      message: (socket, frame) => void socket.send(frame),
    },
  };
}

function createServer(state = temporaryState(), now = Date.now): PageServer<Client> {
  const server = new PageServer<Client>({
    sockets: echoSockets(),
    state,
    version: "1.2.3",
    log: () => {},
    loadFiles: async () => files,
    now,
  });
  cleanups.push(() => server.close());
  return server;
}

const codeOf = ({ login_url }: OpenedPage) => new URLSearchParams(new URL(login_url).hash.slice(1)).get("login")!;
const originOf = ({ url }: OpenedPage) => new URL(url).origin;

function logIn(page: OpenedPage, code = codeOf(page), headers: Record<string, string> = { Origin: originOf(page) }): Promise<Response> {
  return fetch(new URL("login", page.url), { method: "POST", body: JSON.stringify({ code }), headers });
}

type Login = { cookie: string; key: string };

async function loggedIn(page: OpenedPage): Promise<Login> {
  const response = await logIn(page);
  const { key } = (await response.json()) as { key: string };
  return { cookie: response.headers.get("set-cookie")!.split(";")[0]!, key };
}

/** The status of a request for a WebSocket. 101 means that it was accepted. */
async function socketStatus(page: OpenedPage, headers: Record<string, string>): Promise<number> {
  const { hostname, port, pathname } = new URL("socket", page.url);
  const lines = Object.entries({
    Host: `127.0.0.1:${port}`,
    Upgrade: "websocket",
    Connection: "Upgrade",
    "Sec-WebSocket-Key": Buffer.alloc(16).toString("base64"),
    "Sec-WebSocket-Version": "13",
    ...headers,
  }).map(([name, value]) => `${name}: ${value}`);
  const status = Promise.withResolvers<number>();
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      open: (opened) => void opened.write(`GET ${pathname} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`),
      data: (_, bytes) => status.resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(bytes.toString())?.[1])),
    },
  });
  return status.promise.finally(() => socket.end());
}

describe("logins", () => {
  test("a link logs in once, with a cookie that scripts can't read and other sites don't send", async () => {
    const page = await createServer().open({ port: 0 });
    const first = await logIn(page);
    expect(first.status).toBe(200);
    expect(first.headers.get("set-cookie")).toMatch(/^skein_[0-9a-f]{8}=[\w-]{43}; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Strict$/);
    const second = await logIn(page);
    expect(second.status).toBe(401);
    expect(second.headers.get("set-cookie")).toBeNull();
  });

  test("a link ends after five minutes", async () => {
    let now = 1_000_000;
    const page = await createServer(temporaryState(), () => now).open({ port: 0 });
    now += loginLimits.codeMs;
    expect((await logIn(page)).status).toBe(401);
  });

  test("a socket needs the cookie and the key, because browsers send cookies to every port of a host", async () => {
    const page = await createServer().open({ port: 0 });
    const { cookie, key } = await loggedIn(page);
    const own = { Origin: originOf(page) };
    const protocols = { "Sec-WebSocket-Protocol": `skein, ${key}` };
    expect(await socketStatus(page, { ...own, ...protocols, Cookie: cookie })).toBe(101);
    expect(await socketStatus(page, { ...own, ...protocols })).toBe(401);
    expect(await socketStatus(page, { ...own, Cookie: cookie })).toBe(401);
    expect(await socketStatus(page, { ...own, Cookie: cookie, "Sec-WebSocket-Protocol": "skein, wrong" })).toBe(401);
    expect(await socketStatus(page, { ...own, Cookie: `${cookie}x`, ...protocols })).toBe(401);
  });

  test("a cookie of the same name that another port has set for a longer path locks no one out", async () => {
    const page = await createServer().open({ port: 0 });
    const { cookie, key } = await loggedIn(page);
    const [name] = cookie.split("=");
    const headers = { Origin: originOf(page), "Sec-WebSocket-Protocol": `skein, ${key}` };
    expect(await socketStatus(page, { ...headers, Cookie: `${name}=planted; ${cookie}` })).toBe(101);
    expect(await socketStatus(page, { ...headers, Cookie: `${name}=planted; ${name}` })).toBe(401);
  });

  test("guessing is stopped after 20 wrong codes in a minute, and locks no one out who has a link", async () => {
    let now = 1_000_000;
    const page = await createServer(temporaryState(), () => now).open({ port: 0 });
    for (let count = 0; count < loginLimits.failures.count; count += 1) expect((await logIn(page, `guess-${count}`)).status).toBe(401);
    expect((await logIn(page, "guess")).status).toBe(429);
    expect((await logIn(page)).status).toBe(200);
    now += loginLimits.failures.perMs;
    expect((await logIn(page, "guess")).status).toBe(401);
  });

  test("logging out ends the login, and --stop ends all of them", async () => {
    const server = createServer();
    const page = await server.open({ port: 0 });
    const [first, second] = [await loggedIn(page), await loggedIn(await server.open({}))];
    const isValid = async ({ cookie, key }: Login) =>
      (await fetch(new URL("login", page.url), { headers: { Cookie: cookie, "X-Skein-Key": key } })).status === 204;
    expect([await isValid(first), await isValid(second)]).toEqual([true, true]);
    await fetch(new URL("logout", page.url), { method: "POST", headers: { Cookie: first.cookie, Origin: originOf(page) } });
    expect([await isValid(first), await isValid(second)]).toEqual([false, true]);
    expect(await server.end()).toEqual({ was_open: true });
    const again = await server.open({ port: page.port });
    expect(again.port).toBe(page.port);
    expect(await isValid(second)).toBe(false);
  });

  test("logging out closes all sockets of the login, and no others", async () => {
    const server = createServer();
    const page = await server.open({ port: 0 });
    const first = await loggedIn(page);
    const second = await loggedIn(await server.open({}));
    const open = async ({ cookie, key }: Login) => {
      const headers = { Origin: originOf(page), Cookie: cookie };
      const socket = new WebSocket(`ws://127.0.0.1:${page.port}/socket`, { protocols: ["skein", key], headers });
      await new Promise((resolve) => socket.addEventListener("open", resolve));
      return { socket, closed: new Promise((resolve) => socket.addEventListener("close", () => resolve("closed"))) };
    };
    const sockets = [await open(first), await open(first)];
    const other = await open(second);
    await fetch(new URL("logout", page.url), { method: "POST", headers: { Origin: originOf(page), Cookie: first.cookie } });
    expect(await Promise.all(sockets.map(({ closed }) => closed))).toEqual(["closed", "closed"]);
    expect(other.socket.readyState).toBe(WebSocket.OPEN);
  });

  test("a new hub listens at the same address and accepts old logins; its file is private and has no secret", async () => {
    const state = temporaryState();
    const server = createServer(state);
    const page = await server.open({ port: 0, base_path: "/skein" });
    const { cookie, key } = await loggedIn(page);
    server.close();
    const next = createServer(state);
    await next.reopen();
    const headers = { Cookie: cookie, Origin: originOf(page), "Sec-WebSocket-Protocol": `skein, ${key}` };
    expect(await socketStatus(page, headers)).toBe(101);
    const file = join(state, "web.json");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const stored = readFileSync(file, "utf8");
    for (const secret of [key, cookie.split("=")[1]!, codeOf(page)]) expect(stored).not.toContain(secret);
  });
});

describe("proofs", () => {
  const hash = (text: string) => createHash("sha256").update(text).digest("base64url");
  const prove = (page: OpenedPage, body: object) =>
    fetch(new URL("proof", page.url), { method: "POST", body: JSON.stringify(body), headers: { Origin: originOf(page) } });

  test("the server of a login proves it without the cookie and the key, also after a restart", async () => {
    const state = temporaryState();
    const server = createServer(state);
    const page = await server.open({ port: 0 });
    const { key } = await loggedIn(page);
    const request = { login: hash(`login ${hash(key)}`), nonce: "n1", origin: originOf(page) };
    const expected = createHmac("sha256", hash(key))
      .update(`n1\n${originOf(page)}`)
      .digest("base64url");
    expect(await (await prove(page, request)).json()).toEqual({ proof: expected });
    server.close();
    const next = createServer(state);
    await next.reopen();
    expect(await (await prove(page, request)).json()).toEqual({ proof: expected });
    await next.end();
  });

  test("a program at another address can't pass the proof on, and without a login there is none", async () => {
    const page = await createServer().open({ port: 0 });
    const { key } = await loggedIn(page);
    const login = hash(`login ${hash(key)}`);
    const otherPort = `http://127.0.0.1:${page.port + 1}`;
    for (const origin of [otherPort, "http://evil.example", `https://127.0.0.1:${page.port}`, ""])
      expect((await prove(page, { login, nonce: "n", origin })).status).toBe(403);
    const origin = originOf(page);
    for (const name of [hash(key), key, ""]) expect((await prove(page, { login: name, nonce: "n", origin })).status).toBe(401);
    expect((await prove(page, { login, nonce: "n".repeat(101), origin })).status).toBe(400);
    expect((await prove(page, [])).status).toBe(400);
  });
});

describe("requests of other pages", () => {
  test("a Host that is not the page's own is refused, so DNS rebinding fails", async () => {
    const page = await createServer().open({ port: 0 });
    for (const Host of [
      "evil.example",
      `evil.example:${page.port}`,
      `127.0.0.1:${page.port + 1}`,
      `127.0.0.1.evil.example:${page.port}`,
      `192.0.2.1:${page.port}`,
    ])
      for (const path of ["", "build.json", "assets/main-1.js"])
        expect((await fetch(new URL(path, page.url), { headers: { Host } })).status).toBe(403);
    for (const Host of [`127.0.0.1:${page.port}`, `localhost:${page.port}`, `LOCALHOST:${page.port}`])
      expect((await fetch(page.url, { headers: { Host } })).status).toBe(200);
  });

  test("a POST or a WebSocket of another origin, or without one, is refused also with a valid login", async () => {
    const page = await createServer().open({ port: 0 });
    const { cookie, key } = await loggedIn(page);
    const others = [
      "http://evil.example",
      "null",
      `http://127.0.0.1:${page.port + 1}`,
      `https://127.0.0.1:${page.port}`,
      `http://localhost.evil:${page.port}`,
    ];
    for (const Origin of others) {
      expect((await logIn(page, "code", { Origin })).status).toBe(403);
      expect(await socketStatus(page, { Origin, Cookie: cookie, "Sec-WebSocket-Protocol": `skein, ${key}` })).toBe(403);
    }
    expect((await logIn(page, "code", {})).status).toBe(403);
    expect((await logIn(page, "code", { Origin: originOf(page), "Sec-Fetch-Site": "cross-site" })).status).toBe(403);
    expect(await socketStatus(page, { Cookie: cookie, "Sec-WebSocket-Protocol": `skein, ${key}` })).toBe(403);
    expect((await fetch(new URL("build.json", page.url), { headers: { Origin: "http://evil.example" } })).status).toBe(403);
  });

  test("every answer forbids frames, other origins, inline scripts and guessing of types", async () => {
    const page = await createServer().open({ port: 0 });
    const answers = [
      await fetch(page.url),
      await fetch(new URL("assets/main-1.js", page.url)),
      await fetch(new URL("missing", page.url)),
      await fetch(page.url, { headers: { Host: "evil.example" } }),
      await logIn(page, "wrong"),
    ];
    for (const { headers } of answers) {
      const policy = headers.get("content-security-policy")!;
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("script-src 'self';");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toContain("unsafe");
      expect(policy).not.toContain("data:");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("x-frame-options")).toBe("DENY");
      expect(headers.get("referrer-policy")).toBe("no-referrer");
      expect(headers.get("access-control-allow-origin")).toBeNull();
    }
  });

  test("a large body is refused, and other methods and paths find nothing", async () => {
    const page = await createServer().open({ port: 0 });
    const large = await fetch(new URL("login", page.url), {
      method: "POST",
      body: "x".repeat(1 << 20),
      headers: { Origin: originOf(page) },
    });
    expect(large.status).toBe(413);
    for (const path of ["..%2f..%2fetc/passwd", "%2e%2e/hub.json", "assets/", "assets/../index.html.bak", "web.json"])
      expect((await fetch(new URL(path, page.url))).status).toBe(404);
    expect((await fetch(page.url, { method: "PUT", headers: { Origin: originOf(page) } })).status).toBe(404);
  });
});

describe("addresses", () => {
  test("behind a proxy the page works at its base path, with and without the prefix", async () => {
    const page = await createServer().open({ port: 0, base_path: "/skein", origin: "https://dev.example" });
    expect(page.url).toBe("https://dev.example/skein/");
    const local = `http://127.0.0.1:${page.port}`;
    for (const path of ["/skein/", "/"]) expect(await (await fetch(local + path)).text()).toContain("<p>page</p>");
    const redirected = await fetch(`${local}/skein`, { redirect: "manual" });
    expect([redirected.status, redirected.headers.get("location")]).toEqual([308, "/skein/"]);
    const request = {
      method: "POST",
      body: JSON.stringify({ code: codeOf(page) }),
      headers: { Host: "dev.example", Origin: "https://dev.example" },
    };
    const login = await fetch(`${local}/skein/login`, request);
    expect(login.headers.get("set-cookie")).toMatch(/; Path=\/skein\/; .*; Secure$/);
    expect((await fetch(`${local}/skein/`, { headers: { Host: "other.example" } })).status).toBe(403);
  });

  test("another interface needs a file with a password that only the user can read", async () => {
    const state = temporaryState();
    const server = createServer(state);
    const tokenFile = join(state, "password");
    await expect(server.open({ port: 0, host: "0.0.0.0" })).rejects.toMatchObject({
      code: "usage",
      message: expect.stringContaining("--token-file"),
    });
    const open = () => server.open({ port: 0, host: "0.0.0.0", token_file: tokenFile });
    await expect(open()).rejects.toMatchObject({ code: "file-unreadable" });
    writeFileSync(tokenFile, "short\n", { mode: 0o600 });
    await expect(open()).rejects.toMatchObject({ code: "config", message: expect.stringContaining("fewer than 12") });
    writeFileSync(tokenFile, "a-long-password\n");
    chmodSync(tokenFile, 0o644);
    await expect(open()).rejects.toMatchObject({ code: "config", hint: `chmod 600 ${tokenFile}` });
    chmodSync(tokenFile, 0o600);
    const page = await open();
    expect((await logIn(page, "a-long-passwore")).status).toBe(401);
    expect((await logIn(page, "a-long-password")).status).toBe(200);
    // Other machines use an address; a name could be one of an attacker.
    expect((await fetch(page.url, { headers: { Host: `192.0.2.7:${page.port}` } })).status).toBe(200);
    expect((await fetch(page.url, { headers: { Host: `evil.example:${page.port}` } })).status).toBe(403);
  });

  test("wrong options are refused with the name of the flag", async () => {
    const server = createServer();
    const refused = (params: Record<string, unknown>) => server.open(params).catch((error: Error) => error.message);
    expect(await refused({ host: "example.org" })).toContain("--host");
    expect(await refused({ base_path: "/a b" })).toContain("--base-path");
    expect(await refused({ origin: "ftp://x" })).toContain("--origin");
    expect(await refused({ origin: "https://x/path" })).toContain("--origin");
    expect(await refused({ colour: "red" })).toContain("takes no colour");
  });

  test("options stay until --stop, also in the next hub, and a call changes only those that it names", async () => {
    const state = temporaryState();
    const first = createServer(state);
    await first.open({ port: 0, origin: "https://dev.example", base_path: "/skein" });
    expect((await first.open({})).url).toBe("https://dev.example/skein/");
    first.close();
    const next = createServer(state);
    expect((await next.open({ base_path: "/other" })).url).toBe("https://dev.example/other/");
    await next.end();
    expect((await next.open({ port: 0 })).url).toStartWith("http://127.0.0.1:");
  });

  test("an open page is used again, and other options open it anew", async () => {
    const server = createServer();
    const page = await server.open({ port: 0 });
    expect((await server.open({})).port).toBe(page.port);
    const moved = await server.open({ base_path: "/other" });
    expect(moved).toMatchObject({ port: page.port, base_path: "/other" });
    expect(codeOf(moved)).not.toBe(codeOf(page));
  });
});
