// The private socket of a process that runs turns: its leases name it, so that other processes of the same user can
// watch, steer and stop what runs here. Sockets that dead processes left are taken away.
import { readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { processStartTime } from "../kit/process/processes.ts";
import { messageOf } from "../protocol/api/error.ts";
import type { AcceptConnection, Connection, Listener, FrameHandler } from "./connection.ts";
import type { ServeOptions } from "./serve-api.ts";
import { connectUnix, listenUnix, createPrivateDirectory } from "./unix-socket.ts";

export function servePrivateSocket(address: string, serving: Omit<ServeOptions, "transport">): Listener {
  return listenPrivateSocket(address, (connection) => serveWhenLoaded(connection, { ...serving, transport: "private" }));
}

/** Most runs are watched by nobody: what answers is loaded with the first call, and what was said meanwhile waits. */
function serveWhenLoaded(connection: Connection, serving: ServeOptions): FrameHandler {
  const loaded = import("./serve-api.ts").then(({ serveApi }) => serveApi(connection, serving));
  loaded.catch((error) => connection.close(`what answers can't be loaded: ${messageOf(error)}`));
  const pass = (tell: (talker: FrameHandler) => void): void => void loaded.then(tell, () => {});
  return { receive: (frame) => pass((talker) => talker.receive(frame)), closed: (why) => pass((talker) => talker.closed(why)) };
}

/** At `<pid>-<hex>.sock` in a directory that is this user's alone. */
export function listenPrivateSocket(address: string, accept: AcceptConnection): Listener {
  const directory = dirname(address);
  createPrivateDirectory(directory);
  const listener = listenUnix(address, accept);
  sweep(directory).catch(() => {}); // the next process sweeps too
  return {
    close() {
      listener.close();
      rmSync(address, { force: true });
    },
  };
}

/** A pid that is nobody's here may be somebody's in another container: only a socket that nobody answers goes. */
async function sweep(directory: string): Promise<void> {
  const isLeft = (name: string) => processStartTime(Number(/^(\d+)-[0-9a-f]+\.sock$/.exec(name)?.[1] ?? process.pid)) === null;
  for (const name of readdirSync(directory).filter(isLeft)) {
    const path = join(directory, name);
    try {
      (await connectUnix(path, () => ({ receive: () => {}, closed: () => {} }))).close("only looking");
    } catch {
      rmSync(path, { force: true });
    }
  }
}
