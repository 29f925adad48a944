// The official client for both generations of the protocol, connected over stdio to the real `skein mcp` in a home.
// test/real/sdks has the client of the first SDK.
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { startModelServer, type ModelServer, type ScriptSource } from "../../src/scripted-model/model-server.ts";
import { skeinCommand, type TemporaryHome } from "./temporary-home.ts";

/** `await using` stops the hub of the home before it removes the home. */
export function stoppingHub<Home extends TemporaryHome>(skein: Home): Home & AsyncDisposable {
  return Object.assign(skein, {
    async [Symbol.asyncDispose]() {
      await skein.run(["hub", "stop", "--wait", "0"]);
      skein[Symbol.dispose]();
    },
  });
}

/** `await using` stops the server. */
export function serverWith(script: ScriptSource): ModelServer & AsyncDisposable {
  const server = startModelServer(script);
  return Object.assign(server, { [Symbol.asyncDispose]: () => server.stop() });
}

export type McpTestClient = AsyncDisposable & {
  client: Client;
  pid: number;
  /** Returns everything that the server printed on stderr. */
  stderrText: () => string;
  call: (name: string, input?: Record<string, unknown>, options?: Parameters<Client["callTool"]>[1]) => Promise<ToolResult>;
};

export type ToolResult = { text: string; output: Record<string, unknown>; isError: boolean };

export type McpOptions = {
  args?: string[];
  cwd?: string;
  env?: Record<string, string>;
  name?: string;
  /** `legacy` is the handshake of 2025, `modern` the stateless revision of 2026. */
  era?: "legacy" | "modern";
  capabilities?: ConstructorParameters<typeof Client>[1] extends { capabilities?: infer Capabilities } | undefined ? Capabilities : never;
  prepare?: (client: Client) => void;
};

export async function mcpClient(skein: TemporaryHome, options: McpOptions = {}): Promise<McpTestClient> {
  const { name = "journey", era = "legacy", capabilities = {} } = options;
  const mode = era === "legacy" ? "legacy" : { pin: "2026-07-28" };
  const client = new Client({ name, version: "1.0.0" }, { capabilities, versionNegotiation: { mode } });
  options.prepare?.(client);
  const transport = new StdioClientTransport(serverProcess(skein, options));
  let said = "";
  transport.stderr?.on("data", (chunk: Buffer) => (said += chunk.toString()));
  await client.connect(transport);
  return {
    client,
    pid: transport.pid!,
    stderrText: () => said,
    call: async (tool, input = {}, more) => resultOf(await client.callTool({ name: tool, arguments: input }, more)),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

/** Calls wait_session until the turn has ended. One call may return earlier: a server hands a long call back. */
export async function waitForEnd(mcp: McpTestClient, input: Record<string, unknown> & { session_id: string }): Promise<ToolResult> {
  for (;;) {
    const waited = await mcp.call("wait_session", input);
    if (waited.output["status"] !== "running") return waited;
  }
}

/** The process that a stdio transport starts. */
export function serverProcess(skein: TemporaryHome, { args = [], cwd = skein.project, env = {} }: McpOptions) {
  const [command, ...programArgs] = skeinCommand();
  return { command: command!, args: [...programArgs, "mcp", ...args], cwd, env: { ...skein.env, ...env }, stderr: "pipe" as const };
}

export function resultOf(result: Awaited<ReturnType<Client["callTool"]>>): ToolResult {
  const text = result.content.map((block) => (block.type === "text" ? block.text : `[${block.type}]`)).join("\n");
  return { text, output: (result.structuredContent ?? {}) as Record<string, unknown>, isError: result.isError === true };
}
