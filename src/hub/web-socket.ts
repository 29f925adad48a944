// The WebSocket as a transport, on this machine's loopback only. Whoever connects shows the token; a page of another
// origin is refused even with it.
import { createHash, timingSafeEqual } from "node:crypto";
import { Fault, messageOf } from "../protocol/api/error.ts";
import { connectionLimits, type AcceptConnection, type Connection, type Listener, type FrameHandler } from "./connection.ts";

export type WebOptions = {
  /** The first one that is free is taken. */
  ports: readonly number[];
  token: string;
  accept: AcceptConnection;
};

type WebClient = { talker: FrameHandler | null; room: PromiseWithResolvers<void> | null };

export function listenWeb(options: WebOptions): Listener & { url: string } {
  for (const port of options.ports) {
    try {
      return listenAt(port, options);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    }
  }
  const [first, ...more] = options.ports;
  const which = more.length === 0 ? `port ${first} is` : `ports ${first} to ${more.at(-1)} are`;
  throw new Fault("network", `${which} in use`, { hint: "--port names another one" });
}

function listenAt(port: number, { token, accept }: WebOptions): Listener & { url: string } {
  const open = new Set<Bun.ServerWebSocket<WebClient>>();
  const server = Bun.serve<WebClient>({
    hostname: "127.0.0.1",
    port,
    fetch(request, self) {
      const refused = refusalOf(request, token, self.port!);
      if (refused !== null) return refused;
      if (open.size >= connectionLimits.connections) return new Response("too many connections\n", { status: 503 });
      const headers = request.headers.has("sec-websocket-protocol") ? { "Sec-WebSocket-Protocol": subprotocol } : undefined;
      if (self.upgrade(request, { data: { talker: null, room: null }, ...(headers && { headers }) })) return undefined;
      return new Response("this is skein's hub: JSON-RPC 2.0 over WebSocket\n", { status: 426, headers: { Upgrade: "websocket" } });
    },
    websocket: {
      maxPayloadLength: connectionLimits.frameBytes,
      backpressureLimit: connectionLimits.unsentBytes,
      closeOnBackpressureLimit: true,
      perMessageDeflate: false,
      // On one machine nobody goes away without a word; whoever stands still for an hour may go on then.
      idleTimeout: 0,
      open(socket) {
        open.add(socket);
        socket.data.talker = accept(connectionOf(socket));
      },
      message(socket, frame) {
        if (typeof frame === "string") socket.data.talker?.receive(frame);
        else socket.close(1003, "frames are texts");
      },
      drain(socket) {
        if (socket.getBufferedAmount() === 0) release(socket.data);
      },
      close(socket, _, why) {
        open.delete(socket);
        release(socket.data);
        socket.data.talker?.closed(why || "the connection was closed");
      },
    },
  });
  return {
    url: `ws://127.0.0.1:${server.port}`,
    close: () => {
      for (const socket of open) socket.close(1001, "the server ends");
      void server.stop(true);
    },
  };
}

function connectionOf(socket: Bun.ServerWebSocket<WebClient>): Connection {
  return {
    send(frame) {
      if (socket.readyState === WebSocket.OPEN && socket.send(frame) === -1) socket.data.room ??= Promise.withResolvers();
      return socket.data.room?.promise;
    },
    // A reason may have 123 bytes.
    close: (why) => socket.close(1000, why.slice(0, 40)),
  };
}

function release(served: WebClient): void {
  served.room?.resolve();
  served.room = null;
}

/** A browser can send no header: it offers this and the token as subprotocols. */
const subprotocol = "skein";

function refusalOf(request: Request, token: string, port: number): Response | null {
  const origin = request.headers.get("origin");
  const own = [`http://127.0.0.1:${port}`, `http://localhost:${port}`];
  if (origin !== null && !own.includes(origin)) return new Response("pages of other origins are not served\n", { status: 403 });
  const shown = [
    request.headers.get("authorization")?.replace(/^Bearer +/i, ""),
    new URL(request.url).searchParams.get("token"),
    ...(request.headers.get("sec-websocket-protocol")?.split(",") ?? []),
  ];
  if (shown.some((word) => word != null && isSame(word.trim(), token))) return null;
  return new Response("the token is missing or wrong; it is in the token_file that hub.json names\n", { status: 401 });
}

/** In the same time whatever is compared. */
function isSame(a: string, b: string): boolean {
  const hash = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(hash(a), hash(b));
}

export function connectWeb(url: string, token: string, accept: AcceptConnection): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, { headers: { Authorization: `Bearer ${token}` } });
    const connection: Connection = {
      send: (frame) => socket.send(frame),
      close: (why) => socket.close(1000, why.slice(0, 40)),
    };
    let talker: FrameHandler | null = null;
    socket.addEventListener("open", () => {
      talker = accept(connection);
      resolve(connection);
    });
    socket.addEventListener("message", ({ data }) => {
      if (typeof data === "string") talker?.receive(data);
    });
    socket.addEventListener("error", (event) => {
      const why = "message" in event ? messageOf(event.message) : "no connection";
      reject(new Fault("connection-lost", `can't connect to ${url}: ${why}`, { hint: "is the hub there, and the token its own?" }));
    });
    socket.addEventListener("close", ({ reason }) => talker?.closed(reason || "the connection was closed"));
  });
}
