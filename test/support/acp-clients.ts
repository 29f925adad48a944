// The SDK's own client, connected over stdio to the real `skein acp` in a home. Keeps every line of stdout and every update.
import {
  client as createClientApp,
  ndJsonStream,
  type ClientApp,
  type ClientCapabilities,
  type ClientContext,
  type InitializeResponse,
  type NewSessionResponse,
  type PromptResponse,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import { skeinCommand, type TemporaryHome } from "./temporary-home.ts";

export type AcpProcess = AsyncDisposable & {
  pid: number;
  /** Everything on stdout so far. */
  stdoutText: () => string;
  stderrText: () => string;
  write: (text: string) => Promise<void>;
  closeStdin: () => void;
  exited: Promise<number>;
  stdout: ReadableStream<Uint8Array>;
};

/** Starts `skein acp`. Its stdout is recorded while it is read. */
export function startAcp(skein: TemporaryHome, options: { cwd?: string; env?: Record<string, string> } = {}): AcpProcess {
  const child = Bun.spawn([...skeinCommand(), "acp"], {
    cwd: options.cwd ?? skein.project,
    env: { ...skein.env, ...options.env },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  });
  let [out, err] = ["", ""];
  const decoder = new TextDecoder();
  const recorder = new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, controller) {
      out += decoder.decode(bytes, { stream: true });
      controller.enqueue(bytes);
    },
  });
  const readErr = (async () => {
    for await (const bytes of child.stderr) err += new TextDecoder().decode(bytes);
  })();
  return {
    pid: child.pid,
    stdoutText: () => out,
    stderrText: () => err,
    async write(text) {
      await child.stdin.write(text);
      await child.stdin.flush();
    },
    closeStdin: () => void child.stdin.end(),
    exited: child.exited,
    stdout: child.stdout.pipeThrough(recorder),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
      await readErr;
    },
  };
}

export type AcpTestClient = AsyncDisposable & {
  process: AcpProcess;
  agent: ClientContext;
  initialized: InitializeResponse;
  /** All updates so far, in order. */
  updates: (SessionUpdate & { sessionId: string })[];
  open: (cwd?: string) => Promise<NewSessionResponse>;
  prompt: (sessionId: string, text: string) => Promise<PromptResponse>;
  cancel: (sessionId: string) => Promise<void>;
  /** Closes stdin and waits for the end of the process. */
  close: () => Promise<number>;
};

export type AcpClientOptions = {
  capabilities?: ClientCapabilities;
  /** Registers handlers for the agent's requests. */
  prepare?: (app: ClientApp) => void;
  cwd?: string;
  env?: Record<string, string>;
  onUpdate?: (update: SessionUpdate) => void;
};

export async function acpClient(skein: TemporaryHome, options: AcpClientOptions = {}): Promise<AcpTestClient> {
  const process = startAcp(skein, options);
  const updates: AcpTestClient["updates"] = [];
  const app = createClientApp({ name: "journey" }).onNotification("session/update", ({ params }) => {
    updates.push({ ...params.update, sessionId: params.sessionId });
    options.onUpdate?.(params.update);
  });
  options.prepare?.(app);
  const input = new WritableStream<Uint8Array>({ write: (bytes) => process.write(new TextDecoder().decode(bytes)) });
  const connection = app.connect(ndJsonStream(input, process.stdout));
  const { agent } = connection;
  const initialized = await agent.request("initialize", { protocolVersion: 1, clientCapabilities: options.capabilities ?? {} });
  return {
    process,
    agent,
    initialized,
    updates,
    open: (cwd = skein.project) => agent.request("session/new", { cwd, mcpServers: [] }),
    prompt: (sessionId, text) => agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] }),
    cancel: (sessionId) => agent.notify("session/cancel", { sessionId }),
    async close() {
      process.closeStdin();
      return process.exited;
    },
    async [Symbol.asyncDispose]() {
      connection.close();
      await process[Symbol.asyncDispose]();
    },
  };
}

/** The text of all chunks of one kind. */
export function textOfUpdates(
  updates: readonly SessionUpdate[],
  kind: "agent_message_chunk" | "agent_thought_chunk" | "user_message_chunk",
): string {
  return updates.map((update) => (update.sessionUpdate === kind && update.content.type === "text" ? update.content.text : "")).join("");
}
