// An HTTP proxy for programs in a sandbox whose network is off. It connects them to the hosts that the policy names and to
// those of an agent's vendor, by name and port, and to nothing else. TLS passes through encrypted: only the server's name at
// its start is read, because many sites share an address, and that name chooses among them.
import type { Socket } from "node:net";
import { normalHost, parseHostPatterns } from "../../kit/flow/host-pattern.ts";
import { connectToHost, type HostRules, type HostTarget, isNamed, resolveHost } from "./connect-host.ts";
import { asksFor, readHello, unrecognizedName } from "./client-hello.ts";
import { type HttpRequest, parseRequest } from "./http-request.ts";
import { forwardRequest } from "./forward-request.ts";
import { joinSockets, listenForSockets, type ListenTarget, type SocketListener } from "./join-sockets.ts";
import { type Head, readHead } from "./read-head.ts";

export type HostProxyOptions = {
  listen: ListenTarget;
  /** Hosts that the user has named, see `host-pattern.ts`. */
  hosts: readonly string[];
  /** Hosts of the agent's vendor; without a port, only 443. */
  vendorHosts?: readonly string[];
  /** Called for every connection that is refused, with a text for the model and the user. */
  onRefused?: (text: string) => void;
  /** Gets connections that ask for no other host, with the bytes so far. Without it they are refused. */
  onOther?: (socket: Socket, bytes: Buffer) => void;
} & Partial<Pick<HostRules, "resolve" | "through">>;

type ProxyContext = { rules: HostRules; options: HostProxyOptions };

export function startHostProxy(options: HostProxyOptions): Promise<SocketListener> {
  const vendorHosts = (options.vendorHosts ?? []).map((host) => (/:\d+$/.test(host) ? host : `${host}:443`));
  const rules: HostRules = {
    hosts: parseHostPatterns(options.hosts),
    vendorHosts: parseHostPatterns(vendorHosts),
    resolve: options.resolve ?? resolveHost,
    through: options.through ?? (() => null),
  };
  return listenForSockets(options.listen, (socket) => {
    socket.on("error", () => socket.destroy());
    void acceptConnection(socket, { rules, options }).catch(() => socket.destroy());
  });
}

async function acceptConnection(socket: Socket, ctx: ProxyContext): Promise<void> {
  const start = await readHead(socket);
  if (start === null) return void socket.destroy();
  if (start === "too-long") return answer(socket, "431 Request Header Fields Too Large", "skein: the head of the request is too long");
  const request = parseRequest(start.head);
  const firstLine = start.head.split("\r\n", 1)[0]!.slice(0, 100);
  if (request === null) return refuse(socket, ctx, `${firstLine} (not a plain HTTP request)`);
  if (request.method === "CONNECT") return openTunnel(socket, { request, rest: start.rest }, ctx);
  if (!request.target.startsWith("/")) return forwardPlain(socket, { request, rest: start.rest }, ctx);
  if (ctx.options.onOther === undefined) return refuse(socket, ctx, firstLine);
  ctx.options.onOther(socket, bytesOf(start));
}

function bytesOf({ head, rest }: Head): Buffer {
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`, "latin1"), rest]);
}

type StartedRequest = { request: HttpRequest; rest: Buffer };

/** A tunnel carries TLS to the named server, or plain HTTP requests to it. */
async function openTunnel(socket: Socket, { request, rest }: StartedRequest, ctx: ProxyContext): Promise<void> {
  const target = parseAuthority(request.target, null);
  if (target === null) return refuse(socket, ctx, request.target.slice(0, 100));
  const server = await connectNamed(socket, target, ctx);
  if (server === null) return;
  socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
  const first = await readHello(socket, rest);
  if (first === null) return void [socket, server].map((end) => end.destroy());
  if (first.kind === "tls") {
    if (asksFor(first.hello, target.host)) {
      server.write(first.bytes);
      return joinSockets(socket, server);
    }
    const { serverName, hasHiddenName } = first.hello;
    const asked = hasHiddenName ? "a server whose name is encrypted" : serverName === null ? "no server by name" : serverName;
    report(ctx, `a connection to ${target.host} was closed: its TLS asks for ${asked}`);
    socket.end(unrecognizedName);
    return void server.destroy();
  }
  const start = await readHead(socket, first.bytes);
  const inner = start === null || start === "too-long" ? null : parseRequest(start.head);
  if (inner === null || start === null || start === "too-long" || !inner.target.startsWith("/") || !isSameHost(inner, target)) {
    server.destroy();
    return refuse(socket, ctx, `${inner?.host ?? "other bytes than TLS or HTTP"} in a tunnel to ${target.host}`);
  }
  forwardRequest(socket, server, { request: inner, rest: start.rest, path: inner.target, host: inner.host!, ...forwardHooks(ctx, target) });
}

/** `GET http://host/path`: one request on each connection, so that no second one can go to another host. */
async function forwardPlain(socket: Socket, { request, rest }: StartedRequest, ctx: ProxyContext): Promise<void> {
  const match = /^http:\/\/([^/?#@\\]+)([/?][^#\\]*)?$/i.exec(request.target);
  const target = match === null ? null : parseAuthority(match[1]!, 80);
  if (target === null) return refuse(socket, ctx, request.target.slice(0, 100));
  if (!isSameHost(request, target)) return refuse(socket, ctx, `${request.host ?? "no host"} in a request to ${target.host}`);
  const server = await connectNamed(socket, target, ctx);
  if (server === null) return;
  const path = match![2] ?? "/";
  const origin = path.startsWith("/") ? path : `/${path}`;
  forwardRequest(socket, server, { request, rest, path: origin, host: match![1]!, ...forwardHooks(ctx, target) });
}

function forwardHooks(ctx: ProxyContext, { host }: HostTarget) {
  return {
    onInvalid: () => report(ctx, `a request to ${host} was closed: its body is not valid`),
    onSecondRequest: () => report(ctx, `a connection to ${host} was closed: it may carry one request only`),
  };
}

/** Null if the connection was refused or failed; the client then has an answer. */
async function connectNamed(socket: Socket, target: HostTarget, ctx: ProxyContext): Promise<Socket | null> {
  if (!isNamed(target, ctx.rules)) return (refuse(socket, ctx, authorityOf(target)), null);
  const server = await connectToHost(target, ctx.rules);
  if ("text" in server) {
    if (server.isRefused) report(ctx, server.text);
    answer(socket, server.isRefused ? "403 Forbidden" : "502 Bad Gateway", `skein: ${server.text}`);
    return null;
  }
  if (socket.destroyed) return (server.destroy(), null);
  socket.once("close", () => server.destroy());
  return server;
}

/** `host:port`, or `host` with a default port. Null if it is neither. */
function parseAuthority(text: string, defaultPort: number | null): HostTarget | null {
  const match = /^(?:\[([0-9a-f:.]+)\]|([\w.-]+))(?::(\d{1,5}))?$/i.exec(text);
  const port = match?.[3] === undefined ? defaultPort : Number(match[3]);
  return match === null || port === null ? null : { host: normalHost(match[1] ?? match[2]!), port };
}

function authorityOf({ host, port }: HostTarget): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** A server of several sites chooses by this header. */
function isSameHost({ host }: HttpRequest, target: HostTarget): boolean {
  const named = host === null ? null : parseAuthority(host, 80);
  return named !== null && named.host === target.host && named.port === target.port;
}

/** `what` completes "not ...". */
function refuse(socket: Socket, ctx: ProxyContext, what: string): void {
  const { hosts } = ctx.options;
  const allowed = hosts.length === 0 ? "the agent's own vendor" : `hosts named by --net (${hosts.slice(0, maxShownHosts).join(", ")})`;
  const text = `with the network off only ${allowed} can be reached, not ${what}`;
  report(ctx, text);
  answer(socket, "403 Forbidden", `skein: ${text}`);
}

const maxShownHosts = 8;

function report({ options }: ProxyContext, text: string): void {
  options.onRefused?.(text);
}

function answer(socket: Socket, status: string, message: string): void {
  const text = `${message}\n`;
  const head = `content-type: text/plain\r\ncontent-length: ${Buffer.byteLength(text)}\r\nconnection: close`;
  socket.end(`HTTP/1.1 ${status}\r\n${head}\r\n\r\n${text}`);
  // Nothing else from the client is read.
  setTimeout(() => socket.destroy(), 1000).unref();
}
