// A way out for a CLI that uses its own sign-in: tunnels to its vendor's hosts, by name, and to nothing else. What goes
// through is encrypted between the two; nothing is read or counted here.
import { connect, type Socket } from "node:net";
import { joinSockets, listenForSockets, type ListenTarget } from "../gateway/join-sockets.ts";

export type VendorProxyOptions = {
  listen: ListenTarget;
  /** `host`, `*.domain` for all below it, either with `:port` where that is not 443. */
  hosts: readonly string[];
  /** A proxy of the person's own on the way to a host; null is none. */
  through?: (host: string) => URL | null;
  onRefused?: (target: string) => void;
};

export type VendorProxy = {
  /** Null when it does not listen on this machine's loopback. */
  url: string | null;
  close: () => void;
};

const headBound = 8 * 1024;
const headMs = 30_000;

export async function startVendorProxy(options: VendorProxyOptions): Promise<VendorProxy> {
  const listener = await listenForSockets(options.listen, (socket) => takeConnection(socket, options));
  const isOurs = "port" in options.listen;
  return { url: isOurs ? `http://127.0.0.1:${listener.port}` : null, close: listener.close };
}

/** Reads the head of the request; what came after it already belongs to the tunnel. */
function takeConnection(socket: Socket, options: VendorProxyOptions): void {
  let head = Buffer.alloc(0);
  socket.setTimeout(headMs, () => socket.destroy());
  socket.on("error", () => socket.destroy());
  socket.on("end", () => socket.end());
  const read = (chunk: Buffer) => {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf("\r\n\r\n");
    if (end === -1) return head.length > headBound ? refuse(socket, "431 Request Header Fields Too Large", "") : undefined;
    socket.off("data", read);
    socket.removeAllListeners("end");
    socket.setTimeout(0);
    socket.pause();
    openTunnel(socket, head.subarray(0, end).toString("latin1"), head.subarray(end + 4), options);
  };
  socket.on("data", read);
}

function openTunnel(socket: Socket, head: string, early: Buffer, { hosts, through, onRefused }: VendorProxyOptions): void {
  const target = /^CONNECT ([\w.-]+):(\d{1,5}) HTTP\/1\.[01]\r?$/m.exec(head.split("\n", 1)[0]!);
  const [host, port] = [target?.[1]?.toLowerCase() ?? "", Number(target?.[2])];
  if (target === null || !hosts.some((row) => allows(row, host, port))) {
    const asked = target === null ? head.slice(0, 100).split("\r\n", 1)[0]! : `${host}:${port}`;
    onRefused?.(asked);
    return refuse(socket, "403 Forbidden", `skein: with the network off only the agent's own vendor can be reached, not ${asked}`);
  }
  const proxy = through?.(host) ?? null;
  const first = proxy === null ? { host, port } : { host: proxy.hostname, port: Number(proxy.port || 80) };
  const vendor = connect({ ...first, allowHalfOpen: true, noDelay: true });
  const fail = () => refuse(socket, "502 Bad Gateway", `skein: ${host} can't be reached`);
  const join = () => {
    vendor.removeAllListeners("error");
    socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
    if (early.length > 0) vendor.write(early);
    joinSockets(socket, vendor);
  };
  vendor.once("error", fail);
  vendor.once("connect", () => (proxy === null ? join() : askOn(vendor, proxy, `${host}:${port}`, join, fail)));
  socket.once("close", () => vendor.destroy());
}

function askOn(vendor: Socket, proxy: URL, target: string, join: () => void, fail: () => void): void {
  const name = decodeURIComponent(proxy.username);
  const login = Buffer.from(`${name}:${decodeURIComponent(proxy.password)}`).toString("base64");
  vendor.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${name === "" ? "" : `Proxy-Authorization: Basic ${login}\r\n`}\r\n`);
  let head = Buffer.alloc(0);
  const read = (chunk: Buffer) => {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf("\r\n\r\n");
    if (end === -1 && head.length < headBound) return;
    vendor.off("data", read);
    vendor.off("end", fail);
    vendor.pause();
    if (end !== -1 && head.length > end + 4) vendor.unshift(head.subarray(end + 4));
    if (end !== -1 && /^HTTP\/1\.[01] 200\b/.test(head.toString("latin1"))) return join();
    vendor.destroy();
    fail();
  };
  vendor.on("data", read);
  vendor.once("end", fail);
}

function allows(row: string, host: string, port: number): boolean {
  const [name = "", only = "443"] = row.toLowerCase().split(":");
  const isHost = name.startsWith("*.") ? host.endsWith(name.slice(1)) : host === name;
  return isHost && port === Number(only);
}

function refuse(socket: Socket, status: string, message: string): void {
  const head = `content-type: text/plain\r\ncontent-length: ${Buffer.byteLength(message)}\r\nconnection: close`;
  socket.end(`HTTP/1.1 ${status}\r\n${head}\r\n\r\n${message}`);
  // What it goes on to send is not read.
  setTimeout(() => socket.destroy(), 1000).unref();
}
