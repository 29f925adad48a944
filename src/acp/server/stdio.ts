// Serves the agent on stdin and stdout. Nothing else may write to stdout: a client reads every line as JSON.
import { ndJsonStream } from "@agentclientprotocol/sdk";
import { messageOf } from "../../protocol/api/error.ts";
import { createAcpAgent, type AcpDeps } from "./acp-agent.ts";

export type StdioDeps = AcpDeps & {
  /** Resolves when the client has room for more. */
  write: (bytes: Uint8Array) => Promise<void>;
  onStop: (stop: () => void) => void;
};

/** Longest message of a client. A longer one closes the connection. */
const maxMessageBytes = 32 << 20;

/** Resolves when the client has closed stdin, or the connection is broken. Turns in the hub continue. */
export async function serveOverStdio({ write, onStop, ...deps }: StdioDeps): Promise<void> {
  const output = new WritableStream<Uint8Array>({ write });
  const { app, close } = createAcpAgent(deps);
  const connection = app.connect(ndJsonStream(output, Bun.stdin.stream(), { maxMessageBytes }));
  onStop(() => connection.close());
  await connection.closed;
  const reason: unknown = connection.signal.reason;
  if (reason instanceof Error && reason.name === "MessageTooLargeError") deps.log(messageOf(reason));
  close();
}
