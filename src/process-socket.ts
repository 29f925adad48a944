// How the processes of one user find each other: the socket that this one's leases name, opened once its first turn is
// on its way, and the client that talks to others'. Nothing of that is loaded before.
import { join } from "node:path";
import type { Listener } from "./hub/connection.ts";
import type { ProcessContext } from "./app/process-context.ts";
import type { Api } from "./protocol/api/api.ts";

export type ProcessSocket = Pick<ProcessContext, "address" | "connect"> & { close: () => Promise<void> };

export type ProcessSocketOptions = {
  stateDir: string;
  version: string;
  startedAt: number;
  /** The house that answers others; built when the first of them calls. */
  createApi: () => Promise<Api>;
  warn: (message: string) => void;
};

/** The first request is to be out before anything is done for those who may want to watch it. */
const listenAfterMs = 40;

export function createProcessSocket({ stateDir, version, startedAt, createApi: house, warn }: ProcessSocketOptions): ProcessSocket {
  const client = `skein ${version}`;
  let address: string | null = null;
  let timer: Timer | null = null;
  let listening: Promise<Listener | null> | null = null;

  const listen = async (at: string): Promise<Listener | null> => {
    try {
      const { servePrivateSocket: listenPrivately } = await import("./hub/private-socket.ts");
      return listenPrivately(at, { apiFor: shareApi(house), version, startedAt });
    } catch (error) {
      warn(`other processes can't reach this run: ${error instanceof Error ? error.message : String(error)}`);
      return null;
    }
  };
  return {
    address() {
      if (address !== null) return address;
      const at = join(stateDir, "run", `${process.pid}-${crypto.randomUUID().slice(0, 8)}.sock`);
      timer = setTimeout(() => void (listening = listen(at)), listenAfterMs);
      return (address = at);
    },
    connect: async (socket) => (await import("./hub/api-client.ts")).connectApi({ socket }, { client }),
    async close() {
      if (timer !== null) clearTimeout(timer);
      (await listening)?.close();
    },
  };
}

/** One house for all who call; it is closed with this process, not with a connection. */
function shareApi(house: () => Promise<Api>): () => Promise<Api> {
  let built: Promise<Api> | null = null;
  return async () => ({ ...(await (built ??= house())), close: async () => {} });
}
