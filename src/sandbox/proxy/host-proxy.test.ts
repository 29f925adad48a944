import { afterEach, describe, expect, test } from "bun:test";
import { connect, createServer, type Server, type Socket } from "node:net";
import { clientHello } from "../../../test/support/client-hello.ts";
import type { SocketListener } from "./join-sockets.ts";
import { startHostProxy } from "./host-proxy.ts";

const open: { close: () => unknown }[] = [];
afterEach(() => {
  for (const server of open.splice(0)) server.close();
});

async function vendor(onConnection: (socket: Socket) => void): Promise<number> {
  const server: Server = createServer({ allowHalfOpen: true }, onConnection);
  await new Promise<void>((resolve) => server.listen({ host: "127.0.0.1", port: 0 }, resolve));
  open.push(server);
  return (server.address() as { port: number }).port;
}

async function proxyFor(hosts: string[]): Promise<SocketListener> {
  const proxy = await startHostProxy({ listen: { port: 0 }, hosts: [], vendorHosts: hosts });
  open.push(proxy);
  return proxy;
}

const connectTo = (target: string, ...bytes: (Buffer | string)[]): Buffer =>
  Buffer.concat([Buffer.from(`CONNECT ${target} HTTP/1.1\r\nHost: x\r\n\r\n`), ...bytes.map((part) => Buffer.from(part))]);

/** Sends bytes, closes its side of the connection, and returns everything that it received. */
async function send({ port }: SocketListener, text: string | Buffer): Promise<string> {
  const socket = connect({ host: "127.0.0.1", port, allowHalfOpen: true });
  let received = "";
  socket.on("data", (chunk) => (received += chunk.toString("latin1")));
  const ended = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.on("end", () => socket.end());
  socket.end(text);
  await ended;
  return received;
}

describe("a proxy for the hosts of a vendor", () => {
  test("a tunnel to an allowed host forwards early bytes and half-closed connections", async () => {
    const port = await vendor((socket) => {
      let received = 0;
      socket.on("data", (chunk) => (received += chunk.length));
      socket.on("end", () => socket.end(`got ${received}`));
    });
    const proxy = await proxyFor([`localhost:${port}`]);
    const hello = clientHello("Localhost");
    const answer = await send(proxy, connectTo(`LOCALHOST:${port}`, hello, "hello"));
    expect(answer).toBe(`HTTP/1.1 200 Connection established\r\n\r\ngot ${hello.length + 5}`);
  });

  test("a tunnel forwards a megabyte each way without loss", async () => {
    const port = await vendor((socket) => socket.pipe(socket));
    const proxy = await proxyFor([`127.0.0.1:${port}`]);
    const payload = Buffer.concat([clientHello(null), Buffer.alloc(1024 * 1024, "x")]);
    const answer = await send(proxy, connectTo(`127.0.0.1:${port}`, payload));
    expect(answer.length).toBe(payload.length + "HTTP/1.1 200 Connection established\r\n\r\n".length);
  });

  test("any other host is refused, and the answer names it", async () => {
    let connections = 0;
    const port = await vendor((socket) => {
      connections += 1;
      socket.end();
    });
    const proxy = await proxyFor(["api.example.com", "*.example.org"]);
    const targets = [
      `127.0.0.1:${port}`,
      "api.example.com:80",
      "xapi.example.com:443",
      "example.org:443",
      "api.example.com.evil.net:443",
      "[::1]:443",
    ];
    for (const target of targets) {
      const answer = await send(proxy, `CONNECT ${target} HTTP/1.1\r\n\r\n`);
      expect(answer).toStartWith("HTTP/1.1 403 ");
      expect(answer).toContain(target);
    }
    const plain = await send(proxy, `GET http://api.example.com/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n`);
    expect(plain).toStartWith("HTTP/1.1 403 ");
    expect(await send(proxy, "x".repeat(20_000))).toStartWith("HTTP/1.1 431 ");
    expect(connections).toBe(0);
  });

  test("a tunnel goes through the user's own proxy with its password, and only to allowed hosts", async () => {
    const requests: string[] = [];
    const port = await vendor((socket) => {
      socket.once("data", (chunk) => {
        requests.push(chunk.toString());
        if (chunk.toString().includes("refused")) return socket.end("HTTP/1.1 407 no\r\n\r\n");
        socket.write("HTTP/1.1 200 fine\r\n\r\n");
        socket.pipe(socket);
      });
    });
    const through = () => new URL(`http://me:p%40ss@127.0.0.1:${port}`);
    const proxy = await startHostProxy({
      listen: { port: 0 },
      hosts: [],
      vendorHosts: ["api.example.com", "refused.example.com"],
      through,
    });
    open.push(proxy);
    const hello = clientHello("api.example.com");
    const answer = await send(proxy, connectTo("api.example.com:443", hello));
    expect(answer).toBe(`HTTP/1.1 200 Connection established\r\n\r\n${hello.toString("latin1")}`);
    expect(requests[0]).toContain(`CONNECT api.example.com:443 HTTP/1.1\r\n`);
    expect(requests[0]).toContain(`Proxy-Authorization: Basic ${btoa("me:p@ss")}\r\n`);
    expect(await send(proxy, "CONNECT refused.example.com:443 HTTP/1.1\r\n\r\n")).toStartWith("HTTP/1.1 502 ");
    expect(await send(proxy, "CONNECT other.example.com:443 HTTP/1.1\r\n\r\n")).toStartWith("HTTP/1.1 403 ");
    expect(requests.length).toBe(2);
  });

  test("a tunnel to an allowed host carries no bytes to another server at the same address", async () => {
    const received: string[] = [];
    const port = await vendor((socket) => {
      socket.on("data", (chunk) => received.push(chunk.toString("latin1")));
      socket.on("end", () => socket.end("reached"));
    });
    const proxy = await proxyFor([`localhost:${port}`]);
    const refused = [
      clientHello("attacker.example"),
      clientHello("localhost.attacker.example"),
      clientHello(null),
      clientHello("localhost", { isEncrypted: true }),
      "GET / HTTP/1.1\r\nHost: attacker.example\r\n\r\n",
      Buffer.concat([clientHello("localhost").subarray(0, 30)]),
      Buffer.alloc(100_000, 22),
      "",
    ];
    for (const bytes of refused) expect(await send(proxy, connectTo(`localhost:${port}`, bytes))).not.toEndWith("reached");
    expect(received).toEqual([]);
    // The message may come in pieces.
    expect(await send(proxy, connectTo(`localhost:${port}`, clientHello("localhost", { recordSize: 50 })))).toContain("reached");
  });

  test("an unreachable vendor is a 502", async () => {
    const port = await vendor((socket) => socket.end());
    open.splice(0).forEach((server) => server.close());
    const proxy = await proxyFor([`127.0.0.1:${port}`]);
    expect(await send(proxy, `CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`)).toStartWith("HTTP/1.1 502 ");
  });

  test("close ends open tunnels", async () => {
    const ended = Promise.withResolvers<void>();
    const port = await vendor((socket) => {
      socket.on("error", () => {});
      socket.on("close", () => ended.resolve());
      socket.on("end", () => socket.end());
      socket.resume();
    });
    const proxy = await proxyFor([`127.0.0.1:${port}`]);
    const socket = connect({ host: "127.0.0.1", port: proxy.port });
    socket.on("error", () => {});
    socket.write(connectTo(`127.0.0.1:${port}`, clientHello(null)));
    await new Promise<void>((resolve) => socket.once("data", () => resolve()));
    proxy.close();
    await ended.promise;
  });
});

describe("a proxy for named hosts", () => {
  /** A server that counts its connections and answers every request with the Host header that it got. */
  async function site(): Promise<{ port: number; requests: string[] }> {
    const requests: string[] = [];
    const port = await vendor((socket) => {
      socket.on("error", () => {});
      socket.on("data", (chunk) => {
        requests.push(chunk.toString("latin1"));
        socket.end("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nsite");
      });
    });
    return { port, requests };
  }

  type NamedProxy = { listener: SocketListener; refusals: string[] };

  async function namedProxy(hosts: string[], answers: Record<string, string[]> = {}): Promise<NamedProxy> {
    const refusals: string[] = [];
    const resolve = (host: string) => (answers[host] === undefined ? Promise.reject(new Error("unknown")) : Promise.resolve(answers[host]));
    const listener = await startHostProxy({ listen: { port: 0 }, hosts, resolve, onRefused: (text) => refusals.push(text) });
    open.push(listener);
    return { listener, refusals };
  }

  const get = (url: string, host: string, ...more: string[]) => [`GET ${url} HTTP/1.1`, `Host: ${host}`, ...more, "", ""].join("\r\n");

  test("a plain request reaches a named address, without the headers of the proxy", async () => {
    const { port, requests } = await site();
    const { listener, refusals } = await namedProxy([`127.0.0.1:${port}`]);
    const url = `http://127.0.0.1:${port}/a?b=c`;
    expect(await send(listener, get(url, `127.0.0.1:${port}`, "Proxy-Connection: keep-alive"))).toEndWith("site");
    expect(requests).toEqual([`GET /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`]);
    expect(refusals).toEqual([]);
  });

  test("a plain request in a tunnel reaches the host of the tunnel", async () => {
    const { port, requests } = await site();
    const { listener } = await namedProxy([`localhost:${port}`]);
    expect(await send(listener, connectTo(`localhost:${port}`, get("/", `localhost:${port}`)))).toEndWith("site");
    expect(requests).toHaveLength(1);
  });

  test("a name whose addresses are of this machine or a private network is refused, whatever its notation", async () => {
    const { port, requests } = await site();
    const addresses = [
      "127.0.0.1",
      "0.0.0.0",
      "::1",
      "::ffff:127.0.0.1",
      "::ffff:7f00:1",
      "169.254.169.254",
      "10.0.0.1",
      "fe80::1",
      "fd00::1",
    ];
    for (const address of addresses) {
      const { listener, refusals } = await namedProxy([`evil.example:${port}`], { "evil.example": [address] });
      expect(await send(listener, get(`http://evil.example:${port}/`, `evil.example:${port}`))).toStartWith("HTTP/1.1 403 ");
      expect(await send(listener, connectTo(`evil.example:${port}`, clientHello("evil.example")))).toStartWith("HTTP/1.1 403 ");
      expect(refusals).toHaveLength(2);
      expect(refusals[0]).toContain(`evil.example resolves to ${address}`);
    }
    expect(requests).toEqual([]);
  });

  test("a name is resolved once for each connection, so that a later answer leads nowhere else", async () => {
    let lookups = 0;
    const { port } = await site();
    const resolve = async () => ((lookups += 1) === 1 ? ["127.0.0.1"] : ["169.254.169.254"]);
    const listener = await startHostProxy({ listen: { port: 0 }, hosts: [`x.example:${port}`, `127.0.0.1:${port}`], resolve });
    open.push(listener);
    expect(await send(listener, get(`http://x.example:${port}/`, `x.example:${port}`))).toEndWith("site");
    expect(lookups).toBe(1);
  });

  test("a private address can be reached by its name if the address is named too", async () => {
    const { port } = await site();
    const { listener } = await namedProxy([`x.example:${port}`, `127.0.0.1:${port}`], { "x.example": ["10.1.2.3", "127.0.0.1"] });
    expect(await send(listener, get(`http://x.example:${port}/`, `x.example:${port}`))).toEndWith("site");
  });

  test("the address of a named host, another port and another host are refused", async () => {
    const { port, requests } = await site();
    const { listener, refusals } = await namedProxy([`localhost:${port}`, "x.example"], { "x.example": ["1.1.1.1"] });
    const targets = [
      `127.0.0.1:${port}`,
      `[::1]:${port}`,
      `[::ffff:127.0.0.1]:${port}`,
      "1.1.1.1:443",
      "x.example:22",
      "localhost:1",
      `2130706433:${port}`,
    ];
    for (const target of targets) {
      expect(await send(listener, connectTo(target, clientHello("localhost")))).toStartWith("HTTP/1.1 403 ");
      expect(await send(listener, get(`http://${target}/`, target))).toStartWith("HTTP/1.1 403 ");
    }
    expect(refusals).toHaveLength(2 * targets.length);
    expect(refusals[0]).toContain(`hosts named by --net (localhost:${port}, x.example)`);
    expect(requests).toEqual([]);
  });

  test("a TLS connection that asks for another server gets an alert, and a refusal names the server", async () => {
    const { port, requests } = await site();
    const { listener, refusals } = await namedProxy([`localhost:${port}`]);
    const answer = await send(listener, connectTo(`localhost:${port}`, clientHello("attacker.example")));
    expect(Buffer.from(answer, "latin1").subarray(-7)).toEqual(Buffer.from([21, 3, 3, 0, 2, 2, 112]));
    await send(listener, connectTo(`localhost:${port}`, clientHello("localhost", { isEncrypted: true })));
    expect(refusals).toEqual([
      "a connection to localhost was closed: its TLS asks for attacker.example",
      "a connection to localhost was closed: its TLS asks for a server whose name is encrypted",
    ]);
    expect(requests).toEqual([]);
  });

  test("another Host header than the requested host is refused", async () => {
    const { port, requests } = await site();
    const { listener, refusals } = await namedProxy([`localhost:${port}`, "x.example"]);
    const url = `http://localhost:${port}/`;
    for (const host of ["x.example", "localhost", `localhost:1`, `x.example@localhost:${port}`])
      expect(await send(listener, get(url, host))).toStartWith("HTTP/1.1 403 ");
    expect(await send(listener, connectTo(`localhost:${port}`, get("/", "x.example")))).toContain("403 Forbidden");
    expect(await send(listener, connectTo(`localhost:${port}`, get("http://x.example/", `localhost:${port}`)))).toContain("403 Forbidden");
    expect(refusals).toHaveLength(6);
    expect(requests).toEqual([]);
  });

  test("a second request on one connection reaches no server", async () => {
    const { port, requests } = await site();
    const { listener, refusals } = await namedProxy([`localhost:${port}`]);
    const url = `http://localhost:${port}/`;
    const second = get(url, "x.example");
    const smuggled = [
      get(url, `localhost:${port}`) + second,
      get(url, `localhost:${port}`, "Content-Length: 2") + `ab${second}`,
      get(url, `localhost:${port}`, "Transfer-Encoding: chunked") + `0\r\n\r\n${second}`,
      get(url, `localhost:${port}`, "Content-Length: 5", "Transfer-Encoding: chunked") + `0\r\n\r\n${second}`,
    ];
    for (const text of smuggled) await send(listener, text);
    expect(requests.join("")).not.toContain("x.example");
    expect(refusals).toHaveLength(smuggled.length);
  });

  test("a request body arrives whole, in both framings", async () => {
    const bodies: string[] = [];
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: async (request) => (bodies.push(await request.text()), new Response("ok")),
    });
    open.push({ close: () => server.stop(true) });
    const { listener } = await namedProxy([`127.0.0.1:${server.port}`]);
    const [host, body] = [`127.0.0.1:${server.port}`, "x".repeat(300_000)];
    await send(listener, get(`http://${host}/`, host, `Content-Length: ${body.length}`).replace("GET", "POST") + body);
    const chunks = `${(150_000).toString(16)}\r\n${body.slice(0, 150_000)}\r\n`;
    await send(listener, `${get(`http://${host}/`, host, "Transfer-Encoding: chunked").replace("GET", "POST")}${chunks}${chunks}0\r\n\r\n`);
    expect(bodies).toEqual([body, body]);
  });

  test("a name that can't be resolved is a 502 and no refusal", async () => {
    const { listener, refusals } = await namedProxy(["gone.example"]);
    expect(await send(listener, "CONNECT gone.example:443 HTTP/1.1\r\n\r\n")).toContain("gone.example can't be resolved");
    expect(refusals).toEqual([]);
  });
});
