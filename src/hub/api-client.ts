// Connects to the Api of another process. A lost connection is a fault. Closing it stops no turn of the other process.
import type { Api } from "../protocol/api/api.ts";
import { ClientConnection, type ApiCaller, type Welcome } from "../protocol/connection/api-connection.ts";
import type { AcceptConnection, Connection, FrameHandler } from "../protocol/connection/connection.ts";

export type { ApiCaller };
export type ApiAddress = { socket: string } | { url: string; token: string };

export type RemoteApi = {
  api: Api;
  welcome: Welcome;
  /** Calls a method that is not part of the Api. */
  call: (method: string, params: unknown) => Promise<unknown>;
};

export async function connectApi(address: ApiAddress, caller: ApiCaller): Promise<Api> {
  return (await connect(address, caller)).api;
}

export async function connect(address: ApiAddress, caller: ApiCaller): Promise<RemoteApi> {
  const open: OpenConnection = async (accept) =>
    "socket" in address
      ? (await import("./unix-socket.ts")).connectUnix(address.socket, accept)
      : (await import("./web-socket.ts")).connectWeb(address.url, address.token, accept);
  return connectOver(open, caller);
}

type OpenConnection = (accept: AcceptConnection) => Promise<Connection>;

const helloLimitMs = 5_000;

/** Connects over a transport of another module. */
export async function connectOver(open: OpenConnection, caller: ApiCaller): Promise<RemoteApi> {
  let client!: ClientConnection;
  const connection = await open((opened): FrameHandler => (client = new ClientConnection(opened)));
  const timeout = setTimeout(() => connection.close("it does not answer"), helloLimitMs);
  try {
    const welcome = await client.hello(caller);
    return { api: client.api(), welcome, call: (method, params) => client.call(method, params) };
  } catch (error) {
    connection.close("the handshake failed");
    throw error;
  } finally {
    clearTimeout(timeout);
  }
}
