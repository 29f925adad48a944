// A home whose native agent has MCP servers: the scripted model calls the tool `mcp`, and the test reads its results.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { startModelServer, type ModelServer } from "../../src/scripted-model/model-server.ts";
import type { ScriptCall } from "../../src/scripted-model/script.ts";
import { temporaryHome, vendorEnv, type TemporaryHome } from "./temporary-home.ts";

export const testServerProgram = join(import.meta.dir, "..", "fixtures", "mcp", "server.ts");

type ServerEntry = Record<string, unknown>;

/** The entry of the test server; `mode` is one of those in its file. */
export function testServerEntry(mode: string[] = [], more: ServerEntry = {}): ServerEntry {
  return { command: process.execPath, args: ["--config=/dev/null", "--no-env-file", testServerProgram, ...mode], ...more };
}

export type ServerJourney = AsyncDisposable & {
  skein: TemporaryHome;
  model: ModelServer;
  /** The text of each tool result that the model got, in order. */
  results: () => string[];
};

/** A call of `mcp`, one step of the model. */
export function mcpCall(server: string, tool?: string, args?: Record<string, unknown>): ScriptCall {
  return {
    name: "mcp",
    input: { server, ...(tool === undefined ? {} : { tool }), ...(args === undefined ? {} : { arguments: args }) } as never,
  };
}

/** Each call is a step of its own. `env` is added to the environment of skein. */
export function serverJourney(calls: ScriptCall[], servers: Record<string, ServerEntry>, env: Record<string, string> = {}): ServerJourney {
  const model = startModelServer({ steps: calls.map((call) => ({ calls: [call] })), final: "done" });
  const skein = temporaryHome({ ...vendorEnv(model.url), ...env });
  const config = join(skein.env["SKEIN_HOME"]!, "config", "config.jsonc");
  mkdirSync(dirname(config), { recursive: true });
  writeFileSync(config, JSON.stringify({ mcp_servers: servers }));
  return {
    skein,
    model,
    results: () => resultTexts(model),
    async [Symbol.asyncDispose]() {
      await model.stop();
      skein[Symbol.dispose]();
    },
  };
}

type Block = { type: string; content?: string | { type: string; text?: string }[] };

function resultTexts(model: ModelServer): string[] {
  const body = model.main().at(-1)?.body as unknown as { messages: { content: string | Block[] }[] };
  const blocks = body.messages.flatMap(({ content }) => (typeof content === "string" ? [] : content));
  return blocks
    .filter(({ type }) => type === "tool_result")
    .map(({ content }) =>
      typeof content === "string" ? content : (content ?? []).map(({ text, type }) => text ?? `(${type})`).join("\n"),
    );
}
