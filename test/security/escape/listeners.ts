// Listeners outside of the sandbox: TCP, UDP, DNS, sockets with a path and abstract ones. Received data is stored.
import { chmodSync, mkdirSync, readSync } from "node:fs";
import { dirname, join } from "node:path";
import { call, unixAddress } from "./inside/calls.ts";
import type { World } from "./inside/world.ts";

export type Listeners = {
  ports: World["ports"];
  sockets: World["sockets"];
  heard: Set<string>;
  /** Takes what waits in the one that we have to ask. */
  drain: () => void;
  stop: () => void;
};

const bindCall = process.arch === "x64" ? 49 : 200;
const datagramNotWaiting = 2 | 0o4000;

export async function startListeners(at: { token: string; run: string; temp: string; home: string }): Promise<Listeners> {
  const heard = new Set<string>();
  const stream = {
    docker: join(at.run, "docker.sock"),
    dbus: join(at.run, "dbus/bus"),
    agent: join(at.temp, "ssh-x/agent.1"),
    tmp: join(at.temp, "service.sock"),
    home: join(at.home, "service.sock"),
    hidden: join(at.home, ".gnupg/S.gpg-agent"),
  };
  const abstract = `\0skein-escape-${at.token}`;
  const handler = { socket: { data: (socket: Bun.Socket, data: Buffer) => void (heard.add(String(data)), socket.write("heard")) } };
  const servers = [...Object.values(stream), abstract].map((unix) => {
    if (!unix.startsWith("\0")) mkdirSync(dirname(unix), { recursive: true, mode: 0o777 });
    const server = Bun.listen({ unix, ...handler });
    if (!unix.startsWith("\0")) for (const path of [unix, dirname(unix)]) chmodSync(path, 0o777);
    return server;
  });
  const tcp = Bun.listen({ hostname: "127.0.0.1", port: 0, ...handler });
  const udp = await Bun.udpSocket({ hostname: "127.0.0.1", port: 0, socket: { data: (_, data) => void heard.add(String(data)) } });
  const dns = await Bun.udpSocket({ hostname: "127.0.0.1", port: 0, socket: { data: () => void heard.add("dns") } });
  const datagram = join(at.run, "log");
  const socket = bindDatagram(datagram);
  return {
    heard,
    ports: { tcp: tcp.port, udp: udp.port, dns: dns.port },
    sockets: { stream, datagram, abstract },
    drain: () => {
      for (let said = readDatagram(socket); said !== null; said = readDatagram(socket)) heard.add(said);
    },
    stop: () => {
      for (const server of [...servers, tcp]) server.stop(true);
      for (const server of [udp, dns]) server.close();
      call("close", socket);
    },
  };
}

function bindDatagram(path: string): number {
  const socket = call("socket", 1, datagramNotWaiting, 0);
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
