// Who calls: what its client calls itself, what it can do, and how it is told that something goes on.
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  SdkError,
  SdkErrorCode,
  type ClientCapabilities,
  type Implementation,
  type Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { callTimeout } from "./client-timeouts.ts";
import type { Elicitation, Caller } from "../tools/tool.ts";

export type ClientInfo = { name: string | undefined; can: ClientCapabilities };

/** With every request in the newer protocol, once in the handshake of the older. */
export function readClientInfo(server: Server, { mcpReq }: ServerContext): ClientInfo {
  const envelope = mcpReq.envelope as Record<string, unknown> | undefined;
  const info = (envelope?.[CLIENT_INFO_META_KEY] as Implementation | undefined) ?? server.getClientVersion();
  const can = (envelope?.[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined) ?? server.getClientCapabilities();
  return { name: info?.name, can: can ?? {} };
}

export function createCaller(client: ClientInfo, context: ServerContext, handBackAfterMs: number | null, asks: Elicitation | null): Caller {
  const { mcpReq, http } = context;
  const token = mcpReq._meta?.progressToken;
  const usual = callTimeout({ client: client.name, hearsProgress: token !== undefined, overHttp: http !== undefined });
  let told = 0;
  return {
    signal: mcpReq.signal,
    isDisconnected: () => isLost(mcpReq.signal.reason),
    timeoutMs: handBackAfterMs ?? usual,
    progress:
      token === undefined
        ? null
        : (message) => {
            const params = { progressToken: token, progress: (told += 1), message };
            // Whoever is gone needs no progress; the call itself notices that.
            mcpReq.notify({ method: "notifications/progress", params }).catch(() => {});
          },
    elicitation: asks,
  };
}

function isLost(reason: unknown): boolean {
  return reason instanceof SdkError && reason.code === SdkErrorCode.ConnectionClosed;
}
