// Joins two sockets: forwards bytes and ends both ways, no faster than each side reads.
// Load it after a CLI was started: importing node:net takes milliseconds.
import { connect, createServer, type Socket } from "node:net";

/** Joins `socket` to a new connection. `early` has bytes that were read from it before. */
export function connectAndJoin(address: { host: string; port: number }, socket: Socket, early?: Buffer): void {
  const other = connect({ ...address, allowHalfOpen: true, noDelay: true });
  if (early !== undefined) other.write(early);
  joinSockets(socket, other);
}

export function joinSockets(one: Socket, other: Socket): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.pipe(to);
    from.on("error", () => to.destroy());
    from.on("close", () => {
      if (!from.readableEnded) to.destroy();
    });
  }
}

/** A free port on the machine's loopback, or a socket that already listens. */
export type ListenTarget = { port: 0 } | { fd: number };

/** `port` is 0 for a socket in another network namespace. `close` also destroys open connections. */
export type SocketListener = { port: number; close: () => void };

/** Open connections of one agent. Each costs skein up to three file descriptors, which all sessions of a hub share. */
export const maxConnections = 128;

/** Each side of a connection ends separately. Connections beyond the limit are closed at once. */
export async function listenForSockets(target: ListenTarget, onConnection: (socket: Socket) => void): Promise<SocketListener> {
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    if (open.size >= maxConnections) return void socket.destroy();
    open.add(socket);
    socket.on("close", () => open.delete(socket));
    onConnection(socket);
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen("port" in target ? { host: "127.0.0.1", port: 0 } : target, resolve);
  await promise;
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    close: () => {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}
