// Listeners outside of the sandbox: TCP, UDP, DNS, sockets with a path and abstract ones. Received data is stored.
import { chmodSync, mkdirSync, readSync } from "node:fs";
import { dirname, join } from "node:path";
import { call, unixAddress } from "./inside/calls.ts";
import type { World } from "./inside/world.ts";

export type Listeners = {
  ports: World["ports"];
  sockets: World["sockets"];
  received: Set<string>;
  /** Reads the waiting messages of the datagram socket, which has no callback. */
  drain: () => void;
  stop: () => void;
};

const bindCall = process.arch === "x64" ? 49 : 200;
const nonBlockingDatagram = 2 | 0o4000;

export async function startListeners(paths: { token: string; run: string; temp: string; home: string }): Promise<Listeners> {
  const received = new Set<string>();
  const stream = {
    docker: join(paths.run, "docker.sock"),
    dbus: join(paths.run, "dbus/bus"),
    agent: join(paths.temp, "ssh-x/agent.1"),
    tmp: join(paths.temp, "service.sock"),
    home: join(paths.home, "service.sock"),
    hidden: join(paths.home, ".gnupg/S.gpg-agent"),
  };
  const abstract = `\0skein-escape-${paths.token}`;
  const handler = { socket: { data: (socket: Bun.Socket, data: Buffer) => void (received.add(String(data)), socket.write("received")) } };
  const servers = [...Object.values(stream), abstract].map((unix) => {
    if (!unix.startsWith("\0")) mkdirSync(dirname(unix), { recursive: true, mode: 0o777 });
    const server = Bun.listen({ unix, ...handler });
    if (!unix.startsWith("\0")) for (const path of [unix, dirname(unix)]) chmodSync(path, 0o777);
    return server;
  });
  const tcp = Bun.listen({ hostname: "127.0.0.1", port: 0, ...handler });
  const udp = await Bun.udpSocket({ hostname: "127.0.0.1", port: 0, socket: { data: (_, data) => void received.add(String(data)) } });
  const dns = await Bun.udpSocket({ hostname: "127.0.0.1", port: 0, socket: { data: () => void received.add("dns") } });
  const datagram = join(paths.run, "log");
  const socket = bindDatagram(datagram);
  return {
    received,
    ports: { tcp: tcp.port, udp: udp.port, dns: dns.port },
    sockets: { stream, datagram, abstract },
    drain: () => {
      for (let text = readDatagram(socket); text !== null; text = readDatagram(socket)) received.add(text);
    },
    stop: () => {
      for (const server of [...servers, tcp]) server.stop(true);
      for (const server of [udp, dns]) server.close();
      call("close", socket);
    },
  };
}

function bindDatagram(path: string): number {
  const socket = call("socket", 1, nonBlockingDatagram, 0);
  const address = unixAddress(path);
  call(bindCall, socket, address, address.length);
  chmodSync(path, 0o777);
  return socket;
}

function readDatagram(socket: number): string | null {
  const buffer = Buffer.alloc(256);
  try {
    return buffer.toString("utf8", 0, readSync(socket, buffer, 0, buffer.length, null));
  } catch {
    return null;
  }
}
