// Describes the caller of a tool: the name and capabilities of its client, its timeout, and how it gets progress.
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
import { traceOf } from "../../protocol/otlp/traceparent.ts";
import { callTimeout } from "./client-timeouts.ts";
import type { Elicitation, Caller } from "../tools/tool.ts";

export type ClientInfo = { name: string | undefined; capabilities: ClientCapabilities };

/** The newer protocol sends the client's name and capabilities with every request, the older one once in the handshake. */
export function readClientInfo(server: Server, { mcpReq }: ServerContext): ClientInfo {
  const envelope = mcpReq.envelope as Record<string, unknown> | undefined;
  const info = (envelope?.[CLIENT_INFO_META_KEY] as Implementation | undefined) ?? server.getClientVersion();
  const capabilities = (envelope?.[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined) ?? server.getClientCapabilities();
  return { name: info?.name, capabilities: capabilities ?? {} };
}

export function createCaller(
  client: ClientInfo,
  { mcpReq, http }: ServerContext,
  { handBackAfterMs, elicitation }: { handBackAfterMs: number | null; elicitation: Elicitation | null },
): Caller {
  const token = mcpReq._meta?.progressToken;
  const defaultTimeoutMs = callTimeout({ client: client.name, hasProgress: token !== undefined, overHttp: http !== undefined });
  let progressCount = 0;
  return {
    signal: mcpReq.signal,
    isDisconnected: () => {
      const reason: unknown = mcpReq.signal.reason;
      return reason instanceof SdkError && reason.code === SdkErrorCode.ConnectionClosed;
    },
    timeoutMs: handBackAfterMs ?? defaultTimeoutMs,
    progress:
      token === undefined
        ? null
        : (message) => {
            const params = { progressToken: token, progress: (progressCount += 1), message };
            // A disconnected client needs no progress. Its call ends by the signal.
            mcpReq.notify({ method: "notifications/progress", params }).catch(() => {});
          },
    elicitation,
    trace: traceOf(mcpReq._meta),
  };
}
