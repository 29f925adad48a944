// Attempts to send something to the outside: by sockets of every kind, by signals, on another terminal. Each attempt sends
// its own name, and reception is checked from outside.
import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import * as fs from "node:fs";
import { connect } from "node:net";
import { call, permitted, unixAddress } from "./calls.ts";
import type { Attempt, World } from "./world.ts";

const family = { unix: 1, inet: 2, key: 15, netlink: 16, packet: 17, alg: 38, vsock: 40 };
const kind = { stream: 1, datagram: 2, raw: 3 };
/** One signal per attempt. By default a process ignores them. */
const harmless = { direct: 23, all: 28, byPidfd: 18 };

const reach = (name: string, run: (world: World, name: string) => unknown): Attempt => ({
  name,
  kind: "reach",
  run: (world) => run(world, name),
});
const socketCall = (name: string, ...args: [number, number, number]): Attempt => ({
  name,
  kind: "call",
  run: () => call("close", call("socket", ...args)),
});

export const reaches: Attempt[] = [
  reach("tcp-loopback", ({ ports }, name) => sendByTcp(ports.tcp, name)),
  reach("udp-loopback", ({ ports }, name) => sendByUdp(ports.udp, name)),
  reach("dns", ({ ports }) => resolveName(ports.dns)),
  socketCall("raw-socket", family.inet, kind.raw, 1),
  socketCall("packet-socket", family.packet, kind.raw, 0),
  socketCall("netlink-uevent", family.netlink, kind.raw, 15),
  socketCall("netlink-audit", family.netlink, kind.raw, 9),
  socketCall("netlink-generic", family.netlink, kind.raw, 16),
  socketCall("vsock", family.vsock, kind.stream, 0),
  socketCall("crypto-socket", family.alg, 5, 0),
  socketCall("key-socket", family.key, kind.raw, 2),
  ...["docker", "dbus", "agent", "tmp", "home", "hidden"].map((place) =>
    reach(`unix-${place}`, ({ sockets }, name) => sendByUnix(sockets.stream[place]!, name)),
  ),
  reach("unix-abstract", ({ sockets }, name) => sendByUnix(sockets.abstract, name)),
  reach("unix-datagram", ({ sockets }, name) => sendByDatagram(call("socket", family.unix, kind.datagram, 0), sockets.datagram, name)),
  reach("unix-datagram-by-pair", ({ sockets }, name) => sendByDatagram(socketOfPair(kind.datagram), sockets.datagram, name)),
  reach("unix-connect-by-pair", ({ sockets }, name) => {
    const socket = socketOfPair(kind.datagram);
    call("connect", socket, unixAddress(sockets.datagram), unixAddress(sockets.datagram).length);
    fs.writeSync(socket, name);
  }),
  reach("signal", ({ victim }) => process.kill(victim.pid, harmless.direct)),
  reach("signal-all", ({ isSandboxed }) => {
    if (!isSandboxed) throw new Error("it would reach every process of this machine");
    process.kill(-1, harmless.all);
  }),
  reach("signal-by-pidfd", ({ victim }) => call("pidfd_send_signal", call("pidfd_open", victim.pid, 0), harmless.byPidfd, null, 0)),
  reach("write-terminal", ({ terminal }, name) => {
    if (terminal === null) throw new Error("there is no other terminal");
    fs.writeFileSync(terminal, `${name}\n`);
  }),
  reach("controlling-terminal", (_, name) => fs.writeFileSync("/dev/tty", `${name}\n`)),
  { name: "ptrace", kind: "call", run: ({ victim }) => trace(victim.pid) },
  {
    name: "take-fd-by-pidfd",
    kind: "call",
    run: ({ victim }) => call("close", call("pidfd_getfd", call("pidfd_open", victim.pid, 0), 7, 0)),
  },
  // Every user may set the lowest priority, at any nice level of the tests.
  { name: "priority", kind: "call", run: ({ victim }) => call("setpriority", 0, victim.pid, 19) },
  { name: "limits", kind: "call", run: ({ victim }) => call("prlimit", victim.pid, 4, new BigUint64Array([0n, 0n]), null) },
  { name: "terminal-input", kind: "call", run: () => permitted("ioctl", 0, 0x5412, Buffer.from("x")) },
  { name: "terminal-paste", kind: "call", run: () => permitted("ioctl", 0, 0x541c, Buffer.from([3, 0])) },
];

async function sendByTcp(port: number, name: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect({ host: "127.0.0.1", port, timeout: 1000 });
  socket.on("error", reject).on("timeout", () => reject(new Error("nobody answers")));
  // The answer shows that the message arrived.
  socket.on("data", () => resolve()).on("connect", () => socket.write(name));
  await promise.finally(() => socket.destroy());
}

async function sendByUdp(port: number, name: string): Promise<void> {
  const socket = createSocket("udp4");
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.on("error", reject);
  socket.send(name, port, "127.0.0.1", (error) => (error ? reject(error) : resolve()));
  await promise.finally(() => socket.close());
}

async function resolveName(port: number): Promise<void> {
  const resolver = new Resolver({ timeout: 300, tries: 1 });
  resolver.setServers([`127.0.0.1:${port}`]);
  const clock = setTimeout(() => resolver.cancel(), 300);
  await resolver.resolve4("dns.escape.test").finally(() => clearTimeout(clock));
}

function sendByUnix(path: string, name: string): void {
  const socket = call("socket", family.unix, kind.stream, 0);
  const address = unixAddress(path);
  call("connect", socket, address, address.length);
  fs.writeSync(socket, name);
  call("close", socket);
}

function socketOfPair(type: number): number {
  const pair = new Int32Array(2);
  call("socketpair", family.unix, type, 0, pair);
  return pair[0]!;
}

function sendByDatagram(socket: number, path: string, name: string): void {
  const address = unixAddress(path);
  call("sendto", socket, Buffer.from(name), name.length, 0, address, address.length);
}

/** PTRACE_SEIZE does not stop the process. It is released when this process ends. */
function trace(pid: number): void {
  call("ptrace", 0x4206, pid, 0, 0);
}
