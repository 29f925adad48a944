// The handlers of WebSocket connections for a server of Bun: limits, back-pressure, close. The server itself decides who
// may connect.
import { connectionLimits, type Connection, type FrameHandler } from "../protocol/connection/connection.ts";

export type SocketClient = {
  path: string;
  /** The login that the connection belongs to; null without one. */
  login: string | null;
  handler: FrameHandler | null;
  drained: PromiseWithResolvers<void> | null;
};

export type UpgradeOptions = { headers?: Record<string, string> | undefined; login?: string };

export type SocketListener = {
  websocket: Bun.WebSocketHandler<SocketClient>;
  /** Makes a WebSocket of an allowed request. Returns the response if that is not possible. */
  upgrade: (request: Request, server: Bun.Server<SocketClient>, options?: UpgradeOptions) => Response | undefined;
  closeAll: (why: string) => void;
  /** Closes the connections of one login. */
  closeLogin: (login: string, why: string) => void;
};

/** Called once for each connection. `path` is that of the request, such as `/`. */
type AcceptAtPath = (connection: Connection, path: string) => FrameHandler;

/** `idleSeconds` ends a connection whose client answers no ping for that long; 0 never does. */
export function createSocketListener(accept: AcceptAtPath, { idleSeconds }: { idleSeconds: number }): SocketListener {
  const connections = new Set<Bun.ServerWebSocket<SocketClient>>();
  return {
    upgrade(request, server, { headers, login = null } = {}) {
      if (connections.size >= connectionLimits.connections) return new Response("too many connections\n", { status: 503 });
      const { pathname: path } = new URL(request.url);
      if (server.upgrade(request, { data: { path, login, handler: null, drained: null }, ...(headers && { headers }) })) return undefined;
      return new Response("this is skein's hub: JSON-RPC 2.0 over WebSocket\n", { status: 426, headers: { Upgrade: "websocket" } });
    },
    closeAll(why) {
      for (const socket of connections) socket.close(1001, why);
    },
    closeLogin(login, why) {
      for (const socket of connections) if (socket.data.login === login) socket.close(1008, why);
    },
    websocket: {
      maxPayloadLength: connectionLimits.frameBytes,
      backpressureLimit: connectionLimits.unsentBytes,
      closeOnBackpressureLimit: true,
      perMessageDeflate: false,
      idleTimeout: idleSeconds,
      open(socket) {
        connections.add(socket);
        socket.data.handler = accept(connectionOf(socket), socket.data.path);
      },
      message(socket, frame) {
        if (typeof frame === "string") socket.data.handler?.receive(frame);
        else socket.close(1003, "frames are texts");
      },
      drain(socket) {
        if (socket.getBufferedAmount() === 0) release(socket.data);
      },
      close(socket, _, why) {
        connections.delete(socket);
        release(socket.data);
        socket.data.handler?.closed(why || "the connection was closed");
      },
    },
  };
}

function connectionOf(socket: Bun.ServerWebSocket<SocketClient>): Connection {
  return {
    send(frame) {
      if (socket.readyState === WebSocket.OPEN && socket.send(frame) === -1) socket.data.drained ??= Promise.withResolvers();
    },
    whenWritable: () => socket.data.drained?.promise ?? null,
    // A reason has at most 123 bytes.
    close: (why) => socket.close(1000, why.slice(0, 40)),
  };
}

function release(client: SocketClient): void {
  client.drained?.resolve();
  client.drained = null;
}
