import { afterEach, describe, expect, test } from "bun:test";
import { connect, createServer, type Server, type Socket } from "node:net";
import { clientHello } from "../../../../test/support/client-hello.ts";
import type { SocketListener } from "../gateway/join-sockets.ts";
import { startVendorProxy } from "./vendor-proxy.ts";

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
  const proxy = await startVendorProxy({ listen: { port: 0 }, hosts });
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

describe("vendor proxy", () => {
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
    expect(await send(proxy, "x".repeat(10_000))).toStartWith("HTTP/1.1 431 ");
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
    const proxy = await startVendorProxy({ listen: { port: 0 }, hosts: ["api.example.com", "refused.example.com"], through });
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
    for (const bytes of refused) expect(await send(proxy, connectTo(`localhost:${port}`, bytes))).not.toContain("reached");
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
