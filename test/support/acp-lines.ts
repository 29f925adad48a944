// Talks to `skein acp` in raw lines, for input that the SDK's client would not send.
import { startAcp, type AcpProcess } from "./acp-clients.ts";
import type { TemporaryHome } from "./temporary-home.ts";

export type AcpMessage = Record<string, unknown> & {
  id?: number | string | null;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: { code: number; message: string; data?: unknown };
};

export type RawAcp = AsyncDisposable & {
  process: AcpProcess;
  /** All messages of the agent so far. */
  messages: AcpMessage[];
  /** Sends a line as it is. */
  line: (text: string) => Promise<void>;
  request: (method: string, params?: unknown) => Promise<AcpMessage>;
  notify: (method: string, params?: unknown) => Promise<void>;
  /** Resolves with the first message that matches, also an earlier one. */
  until: (matches: (message: AcpMessage) => boolean) => Promise<AcpMessage>;
  /** Resolves when the agent has closed stdout. */
  ended: Promise<void>;
};

export async function rawAcp(skein: TemporaryHome, { initialize = true, capabilities = {} } = {}): Promise<RawAcp> {
  const process = startAcp(skein);
  const messages: AcpMessage[] = [];
  const waiting = new Set<() => void>();
  let lastId = 0;
  const ended = (async () => {
    let rest = "";
    for await (const bytes of process.stdout) {
      const lines = `${rest}${new TextDecoder().decode(bytes)}`.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) messages.push(JSON.parse(line) as AcpMessage);
      for (const check of waiting) check();
    }
    for (const check of waiting) check();
  })();
  const until = (matches: (message: AcpMessage) => boolean) =>
    new Promise<AcpMessage>((resolve) => {
      const check = () => {
        const message = messages.find(matches);
        if (message === undefined) return;
        waiting.delete(check);
        resolve(message);
      };
      waiting.add(check);
      check();
    });
  const line = (text: string) => process.write(`${text}\n`);
  const raw: RawAcp = {
    process,
    messages,
    line,
    until,
    ended,
    async request(method, params) {
      const id = (lastId += 1);
      await line(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
      return until((message) => message.id === id && message.method === undefined);
    },
    notify: (method, params) => line(JSON.stringify({ jsonrpc: "2.0", method, params })),
    [Symbol.asyncDispose]: () => process[Symbol.asyncDispose](),
  };
  if (initialize) await raw.request("initialize", { protocolVersion: 1, clientCapabilities: capabilities });
  return raw;
}
