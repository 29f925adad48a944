// Serves the agent over a connection that carries one message in each frame, such as a WebSocket.
import type { AnyMessage } from "@agentclientprotocol/sdk";
import { hasTooManyValues, parseJson } from "../../kit/text/json.ts";
import type { Connection, FrameHandler } from "../../protocol/connection/connection.ts";
import { createAcpAgent, type AcpDeps } from "./acp-agent.ts";
import { rpcCodes } from "./request-errors.ts";

/** When the connection is closed, turns continue. */
export function serveOverFrames(deps: AcpDeps, connection: Connection): FrameHandler {
  let controller!: ReadableStreamDefaultController<AnyMessage>;
  const readable = new ReadableStream<AnyMessage>({ start: (created) => void (controller = created) });
  const writable = new WritableStream<AnyMessage>({
    async write(message) {
      await connection.whenWritable();
      connection.send(JSON.stringify(message));
    },
  });
  const { app, close } = createAcpAgent(deps);
  const served = app.connect({ readable, writable });
  void served.closed.then(() => {
    close();
    connection.close("done");
  });
  return {
    receive(frame) {
      if (served.signal.aborted) return;
      const message = parseJson(frame);
      if (message !== null) return controller.enqueue(message as AnyMessage);
      const error = isJson(frame)
        ? { code: rpcCodes.invalidRequest, message: "Invalid request" }
        : { code: rpcCodes.parse, message: "Parse error" };
      connection.send(JSON.stringify({ jsonrpc: "2.0", id: null, error }));
    },
    closed: () => served.close(),
  };
}

/** False for a text with too many values: parsing it would take too much memory. */
function isJson(text: string): boolean {
  if (hasTooManyValues(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
