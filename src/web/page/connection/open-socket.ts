// One WebSocket to the hub, with the handshake done: the transport of the Api in a browser.
import type { Api } from "../../../protocol/api/api.ts";
import { ClientConnection } from "../../../protocol/connection/api-connection.ts";

export type OpenSocket = {
  api: Api;
  /** Resolves when the connection is lost or closed. Never rejects. */
  closed: Promise<void>;
  isOpen: () => boolean;
  close: (why: string) => void;
  /** Closes it when no call waits for an answer. Feeds do not count: their turns continue without a reader. */
  closeWhenIdle: () => void;
};

type SocketOptions = { key: string; client: string; directory?: string };

const openMs = 10_000;

/** Rejects if the hub refuses the connection or does not answer. */
export async function openSocket({ key, client, directory }: SocketOptions): Promise<OpenSocket> {
  const url = new URL("socket", location.href);
  url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  url.hash = "";
  const socket = new WebSocket(url, ["skein", key]);
  const closed = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  const connection = new ClientConnection({
    send: (frame) => socket.send(frame),
    whenWritable: () => null,
    close: (why) => socket.close(1000, why.slice(0, 40)),
  });
  socket.addEventListener("open", () => opened.resolve());
  socket.addEventListener("message", ({ data }) => {
    if (typeof data === "string") connection.receive(data);
  });
  socket.addEventListener("close", ({ reason }) => {
    opened.reject(new Error("no connection"));
    connection.closed(reason || "the connection was lost");
    closed.resolve();
  });
  const timeout = setTimeout(() => socket.close(), openMs);
  try {
    await opened.promise;
    await connection.hello({ client, ...(directory === undefined ? {} : { directory }) });
  } catch (error) {
    socket.close();
    throw error;
  } finally {
    clearTimeout(timeout);
  }
  const api = connection.api();
  return {
    api,
    closed: closed.promise,
    isOpen: () => socket.readyState === WebSocket.OPEN,
    close: (why) => {
      socket.close(1000, why.slice(0, 40));
      // A dead line sends no answer to the close, and the browser waits for one.
      connection.closed(why);
      closed.resolve();
    },
    closeWhenIdle: () => void api.health.check().finally(() => socket.close()),
  };
}
