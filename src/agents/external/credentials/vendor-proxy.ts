// An HTTP proxy for a CLI that uses its own sign-in. It opens tunnels to the vendor's hosts, by name, and to nothing
// else. The tunnels are encrypted end to end. Only the server's name at their start is read: many sites share the
// addresses of a vendor, and that name chooses among them.
import { connect, isIP, type Socket } from "node:net";
import { maxHelloBytes, readClientHello } from "./client-hello.ts";
import { joinSockets, listenForSockets, type ListenTarget, type SocketListener } from "../gateway/join-sockets.ts";

export type VendorProxyOptions = {
  listen: ListenTarget;
  /** `host`, or `*.domain` for every host below it; with `:port` if that is not 443. */
  hosts: readonly string[];
  /** Returns the user's own proxy for a host; null for a direct connection. */
  through?: (host: string) => URL | null;
};

const maxHeadBytes = 8 * 1024;
const headTimeoutMs = 30_000;

export function startVendorProxy(options: VendorProxyOptions): Promise<SocketListener> {
  return listenForSockets(options.listen, (socket) => acceptConnection(socket, options));
}

/** Bytes after the head of the request already belong to the tunnel. */
function acceptConnection(socket: Socket, options: VendorProxyOptions): void {
  socket.setTimeout(headTimeoutMs, () => socket.destroy());
  socket.on("error", () => socket.destroy());
  socket.on("end", () => socket.end());
  readHead(socket, (head, early) => {
    if (head === null) return refuse(socket, "431 Request Header Fields Too Large", "");
    socket.removeAllListeners("end");
    socket.setTimeout(0);
    openTunnel(socket, head, early, options);
  });
}

/** Reads an HTTP head and pauses the socket. `onHead` gets the head (null if it is too long) and the bytes after it. */
function readHead(socket: Socket, onHead: (head: string | null, rest: Buffer) => void): void {
  let received = Buffer.alloc(0);
  const read = (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    const end = received.indexOf("\r\n\r\n");
    if (end === -1 && received.length <= maxHeadBytes) return;
    socket.off("data", read);
    socket.pause();
    onHead(end === -1 ? null : received.subarray(0, end).toString("latin1"), received.subarray(end + 4));
  };
  socket.on("data", read);
}

function openTunnel(socket: Socket, head: string, early: Buffer, { hosts, through }: VendorProxyOptions): void {
  const target = /^CONNECT ([\w.-]+):(\d{1,5}) HTTP\/1\.[01]\r?$/m.exec(head.split("\n", 1)[0]!);
  const [host, port] = [target?.[1]?.toLowerCase() ?? "", Number(target?.[2])];
  if (target === null || !hosts.some((pattern) => allows(pattern, host, port))) {
    const refused = target === null ? head.slice(0, 100).split("\r\n", 1)[0]! : `${host}:${port}`;
    return refuse(socket, "403 Forbidden", `skein: with the network off only the agent's own vendor can be reached, not ${refused}`);
  }
  const proxy = through?.(host) ?? null;
  const firstHop = proxy === null ? { host, port } : { host: proxy.hostname, port: Number(proxy.port || 80) };
  const vendor = connect({ ...firstHop, allowHalfOpen: true, noDelay: true });
  const fail = () => refuse(socket, "502 Bad Gateway", `skein: ${host} can't be reached`);
  const join = () => {
    socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
    readHello(socket, early, (hello) => {
      vendor.removeAllListeners("error");
      if (hello === null || !asksFor(hello, host)) return void [socket, vendor].map((end) => end.destroy());
      vendor.write(hello);
      joinSockets(socket, vendor);
    });
  };
  vendor.once("error", fail);
  vendor.once("connect", () =>
    proxy === null ? join() : connectThrough(vendor, { proxy, target: `${host}:${port}`, onOpen: join, onFailed: fail }),
  );
  socket.once("close", () => vendor.destroy());
}

/** Reads the first TLS message and pauses the socket. `onHello` gets all bytes so far; null if there is no such message. */
function readHello(socket: Socket, early: Buffer, onHello: (bytes: Buffer | null) => void): void {
  let received = early;
  const isComplete = () => received.length > 0 && readClientHello(received) !== "incomplete";
  const finish = (bytes: Buffer | null) => {
    socket.off("data", read).off("end", fail).off("close", fail).setTimeout(0);
    socket.pause();
    onHello(bytes);
  };
  const fail = () => finish(null);
  const read = (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    if (isComplete()) finish(received);
    else if (received.length > maxHelloBytes) fail();
  };
  if (isComplete()) return onHello(received);
  if (socket.readableEnded || socket.destroyed) return onHello(null);
  socket.setTimeout(headTimeoutMs, fail);
  socket.on("data", read).once("end", fail).once("close", fail).resume();
}

/** Whether the TLS message asks for this host. Clients name no server if its host is an address. */
function asksFor(bytes: Buffer, host: string): boolean {
  const hello = readClientHello(bytes);
  if (hello === null || hello === "incomplete" || hello.hasHiddenName) return false;
  return isIP(host) === 0 ? hello.serverName === host : hello.serverName === null || hello.serverName === host;
}

type UpstreamTunnel = { proxy: URL; target: string; onOpen: () => void; onFailed: () => void };

/** Asks the user's own proxy for a tunnel. Calls `onOpen` or `onFailed`, once. */
function connectThrough(vendor: Socket, { proxy, target, onOpen, onFailed }: UpstreamTunnel): void {
  const name = decodeURIComponent(proxy.username);
  const login = Buffer.from(`${name}:${decodeURIComponent(proxy.password)}`).toString("base64");
  vendor.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${name === "" ? "" : `Proxy-Authorization: Basic ${login}\r\n`}\r\n`);
  vendor.once("end", onFailed);
  readHead(vendor, (head, rest) => {
    vendor.off("end", onFailed);
    if (head !== null && /^HTTP\/1\.[01] 200\b/.test(head)) {
      vendor.unshift(rest);
      return onOpen();
    }
    vendor.destroy();
    onFailed();
  });
}

function allows(pattern: string, host: string, port: number): boolean {
  const [name = "", allowedPort = "443"] = pattern.toLowerCase().split(":");
  const isHost = name.startsWith("*.") ? host.endsWith(name.slice(1)) : host === name;
  return isHost && port === Number(allowedPort);
}

function refuse(socket: Socket, status: string, message: string): void {
  const head = `content-type: text/plain\r\ncontent-length: ${Buffer.byteLength(message)}\r\nconnection: close`;
  socket.end(`HTTP/1.1 ${status}\r\n${head}\r\n\r\n${message}`);
  // Nothing else from the client is read.
  setTimeout(() => socket.destroy(), 1000).unref();
}
