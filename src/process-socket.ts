// Connects the processes of one user: the socket that the leases of this process name, opened after its first request was
// sent, and the client for sockets of other processes. Neither is loaded before.
import { join } from "node:path";
import type { ApiCaller } from "./hub/api-client.ts";
import type { Listener } from "./protocol/connection/connection.ts";
import type { HubLookup } from "./hub/find-hub.ts";
import type { ProcessContext } from "./app/process-context.ts";
import type { Api } from "./protocol/api/api.ts";
import { messageOf } from "./protocol/api/error.ts";

export type ProcessSocket = Pick<ProcessContext, "address" | "connect"> & { close: () => Promise<void> };

export type ProcessSocketOptions = {
  stateDir: string;
  version: string;
  startedAt: number;
  /** Creates the Api for other processes, when the first one calls. */
  createApi: () => Promise<Api>;
  warn: (message: string) => void;
};

/** The first model request must be sent before any work for possible watchers. */
const listenAfterMs = 40;

export function createProcessSocket({ stateDir, version, startedAt, createApi, warn }: ProcessSocketOptions): ProcessSocket {
  const client = `skein ${version}`;
  let address: string | null = null;
  let timer: Timer | null = null;
  let listening: Promise<Listener | null> | null = null;

  const listen = async (path: string): Promise<Listener | null> => {
    try {
      const { servePrivateSocket } = await import("./hub/private-socket.ts");
      return servePrivateSocket(path, { apiFor: shareApi(createApi), version, startedAt });
    } catch (error) {
      warn(`other processes can't reach this run: ${messageOf(error)}`);
      return null;
    }
  };
  return {
    address() {
      if (address !== null) return address;
      const path = join(stateDir, "run", `${process.pid}-${crypto.randomUUID().slice(0, 8)}.sock`);
      timer = setTimeout(() => void (listening = listen(path)), listenAfterMs);
      return (address = path);
    },
    connect: async (socket) => (await import("./hub/api-client.ts")).connectApi({ socket }, { client }),
    async close() {
      if (timer !== null) clearTimeout(timer);
      (await listening)?.close();
    },
  };
}

/** One Api for all callers. It is closed with this process, not with a connection. */
function shareApi(createApi: () => Promise<Api>): () => Promise<Api> {
  let created: Promise<Api> | null = null;
  return async () => ({ ...(await (created ??= createApi())), close: async () => {} });
}

/** Starts a hub if none runs, and gives it the environment of this process for the pending turn of a session. */
export async function passToHub(lookup: HubLookup, caller: Pick<ApiCaller, "directory" | "trust">, session: string): Promise<void> {
  const { connectHub } = await import("./hub/find-hub.ts");
  const { api } = await connectHub(lookup, caller, { start: true });
  try {
    // The hub keeps the environment of a caller that watches the session.
    await Array.fromAsync(api.turn.watch({ session, afterSeq: Number.MAX_SAFE_INTEGER, until: "now" }));
  } finally {
    await api.close();
  }
}
