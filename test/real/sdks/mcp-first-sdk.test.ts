// skein mcp with a client of the first SDK, which most clients are still built with. Over stdio, against the real program.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { mcpClient, resultOf, serverProcess, serverWith, stoppingHub } from "../../support/mcp-clients.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";

async function firstSdkClient(skein: TemporaryHome): Promise<Client & AsyncDisposable> {
  const client = new Client({ name: "journey", version: "1.0.0" });
  await client.connect(new StdioClientTransport(serverProcess(skein, {})));
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

test("a client of the first SDK can list and call tools", async () => {
  await using skein = stoppingHub(temporaryHome());
  await using client = await firstSdkClient(skein);
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain("list_sessions");
  expect((await client.callTool({ name: "list_sessions" })).structuredContent).toEqual({ sessions: [] });
});

test("a client of the first SDK collects the answer of a call whose client has gone", async () => {
  await using server = serverWith(shellScript(["echo begun > begun; while [ ! -e go ]; do sleep 0.05; done"], "done without you"));
  await using skein = stoppingHub(temporaryHome({ ...vendorEnv(server.url), SKEIN_MODEL: wireModels.anthropic }));
  const caller = await mcpClient(skein);
  const calling = caller.call("work_with", { agent: "native", session_id: "long", task: "take your time" });
  while (!existsSync(join(skein.project, "begun"))) await Bun.sleep(20);
  await Promise.allSettled([caller.client.close(), calling]);
  await using next = await firstSdkClient(skein);
  writeFileSync(join(skein.project, "go"), "");
  const result = await next.callTool({ name: "wait_session", arguments: { session_id: "long" } });
  expect(resultOf(result as Parameters<typeof resultOf>[0])).toMatchObject({ text: "done without you", output: { status: "ok" } });
});
