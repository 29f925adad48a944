// The private socket of a process that runs turns. Its leases name the socket, so that other processes of the same user
// can watch, steer and stop its turns. Sockets of exited processes are removed.
import { readdirSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { processStartTime } from "../kit/process/processes.ts";
import { messageOf } from "../protocol/api/error.ts";
import type { AcceptConnection, Connection, Listener, FrameHandler } from "../protocol/connection/connection.ts";
import type { ServeOptions } from "./serve-api.ts";
import { connectUnix, listenUnix, createPrivateDirectory } from "./unix-socket.ts";

export function servePrivateSocket(address: string, serving: Omit<ServeOptions, "transport">): Listener {
  return listenPrivateSocket(address, (connection) => serveWhenLoaded(connection, { ...serving, transport: "private" }));
}

/** Loads the server with the first connection, because most runs are never watched. Frames wait until then. */
function serveWhenLoaded(connection: Connection, serving: ServeOptions): FrameHandler {
  const loaded = import("./serve-api.ts").then(({ serveApi }) => serveApi(connection, serving));
  loaded.catch((error) => connection.close(`the server can't be loaded: ${messageOf(error)}`));
  const pass = (call: (handler: FrameHandler) => void): void => void loaded.then(call, () => {});
  return { receive: (frame) => pass((handler) => handler.receive(frame)), closed: (why) => pass((handler) => handler.closed(why)) };
}

/** The address is `<pid>-<hex>.sock` in a directory that only this user can open. */
export function listenPrivateSocket(address: string, accept: AcceptConnection): Listener {
  const directory = dirname(address);
  createPrivateDirectory(directory);
  const listener = listenUnix(address, accept);
  removeStaleSockets(directory, basename(address)).catch(() => {}); // the next process tries again
  return {
    close() {
      listener.close();
      rmSync(address, { force: true });
    },
  };
}

/** A pid that does not exist here may exist in another container. So only a socket that refuses connections is removed. */
async function removeStaleSockets(directory: string, own: string): Promise<void> {
  const isStale = (name: string) => processStartTime(Number(/^(\d+)-[0-9a-f]+\.sock$/.exec(name)?.[1] ?? process.pid)) === null;
  for (const name of readdirSync(directory).filter((other) => other !== own && isStale(other))) {
    const path = join(directory, name);
    try {
      (await connectUnix(path, () => ({ receive: () => {}, closed: () => {} }))).close("only checks whether it is open");
    } catch {
      rmSync(path, { force: true });
    }
  }
}
