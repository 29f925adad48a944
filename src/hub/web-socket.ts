// The WebSocket as a transport, on the loopback interface only. A client needs the token. A page of another origin is
// refused even with the token.
import { isSameToken, listenOnFreePort } from "../kit/flow/loopback.ts";
import { Fault, messageOf } from "../protocol/api/error.ts";
import type { AcceptConnection, Connection, Listener, FrameHandler } from "../protocol/connection/connection.ts";
import { createSocketListener, type SocketClient } from "./socket-listener.ts";

export type WebOptions = {
  /** Null: 4444, or the next free port. */
  port: number | null;
  token: string;
  /** `path` is that of the request, such as `/`. */
  accept: (connection: Connection, path: string) => FrameHandler;
};

const firstPort = 4444;

export function listenWeb(options: WebOptions): Listener & { url: string } {
  const listener = listenOnFreePort(options.port, firstPort, (port) => listenAt(port, options));
  if (listener !== null) return listener;
  throw new Fault("network", options.port === null ? `no port from ${firstPort} on is free` : `port ${options.port} is in use`, {
    hint: "choose another port with --port",
  });
}

function listenAt(port: number, { token, accept }: WebOptions): Listener & { url: string } {
  // On one machine a lost client closes its connection. A paused client may continue after an hour.
  const sockets = createSocketListener(accept, { idleSeconds: 0 });
  const server = Bun.serve<SocketClient>({
    hostname: "127.0.0.1",
    port,
    fetch(request, self) {
      const refused = refusalOf(request, token, self.port!);
      if (refused !== null) return refused;
      const headers = request.headers.has("sec-websocket-protocol") ? { "Sec-WebSocket-Protocol": subprotocol } : undefined;
      return sockets.upgrade(request, self, { headers });
    },
    websocket: sockets.websocket,
  });
  return {
    url: `ws://127.0.0.1:${server.port}`,
    close: () => {
      sockets.closeAll("the server stops");
      void server.stop(true);
    },
  };
}

/** A browser can't send headers, so it offers this and the token as subprotocols. */
const subprotocol = "skein";

function refusalOf(request: Request, token: string, port: number): Response | null {
  const origin = request.headers.get("origin");
  const ownOrigins = [`http://127.0.0.1:${port}`, `http://localhost:${port}`];
  if (origin !== null && !ownOrigins.includes(origin)) return new Response("pages of other origins are not served\n", { status: 403 });
  const candidates = [
    request.headers.get("authorization")?.replace(/^Bearer +/i, ""),
    new URL(request.url).searchParams.get("token"),
    ...(request.headers.get("sec-websocket-protocol")?.split(",") ?? []),
  ];
  if (candidates.some((candidate) => candidate != null && isSameToken(candidate.trim(), token))) return null;
  return new Response("the token is missing or wrong; it is in the token_file that hub.json names\n", { status: 401 });
}

export function connectWeb(url: string, token: string, accept: AcceptConnection): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, { headers: { Authorization: `Bearer ${token}` } });
    const connection: Connection = {
      send: (frame) => socket.send(frame),
      whenWritable: () => null,
      close: (why) => socket.close(1000, why.slice(0, 40)),
    };
    let handler: FrameHandler | null = null;
    socket.addEventListener("open", () => {
      handler = accept(connection);
      resolve(connection);
    });
    socket.addEventListener("message", ({ data }) => {
      if (typeof data === "string") handler?.receive(data);
    });
    socket.addEventListener("error", (event) => {
      const why = "message" in event ? messageOf(event.message) : "no connection";
      reject(
        new Fault("connection-lost", `can't connect to ${url}: ${why}`, {
          hint: "check that the hub runs and that the token is the current one",
        }),
      );
    });
    socket.addEventListener("close", ({ reason }) => handler?.closed(reason || "the connection was closed"));
  });
}
