// Two connections become one: bytes both ways, each side's end passed on, neither faster than the other reads.
// Load it when a CLI has been started, not before: node:net takes milliseconds.
import { connect, createServer, type Socket } from "node:net";

/** Joins it to a new connection to a server of ours. */
export function connectAndJoin(place: { path: string } | { host: string; port: number }, socket: Socket): void {
  joinSockets(socket, connect({ ...place, allowHalfOpen: true, noDelay: true }));
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

/** Where to listen: the machine's loopback, a unix socket, or a socket that listens already. */
export type ListenTarget = { port: 0 } | { path: string } | { fd: number };

/** Both sides of a connection end by themselves; `close` breaks off what is open. */
export async function listenForSockets(
  where: ListenTarget,
  onConnection: (socket: Socket) => void,
): Promise<{ port: number | null; close: () => void }> {
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
    onConnection(socket);
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen("port" in where ? { host: "127.0.0.1", port: 0 } : where, resolve);
  await promise;
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : null,
    close: () => {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}
