// MCP servers that an editor names for a session: the native agent calls them in the sandbox of the turn.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { acpClient } from "../../support/acp-clients.ts";
import { serverWith, stoppingHub } from "../../support/mcp-clients.ts";
import { temporaryHome, vendorEnv } from "../../support/temporary-home.ts";

const program = join(import.meta.dir, "../../fixtures/mcp/server.ts");

test("the native agent lists and calls a server of the client, with the variables that the client gave it", async () => {
  await using server = serverWith({
    steps: [
      { calls: [{ name: "mcp", input: { server: "my-tools" } }] },
      { calls: [{ name: "mcp", input: { server: "my-tools", tool: "echo", arguments: { text: "from the editor" } } }] },
      { calls: [{ name: "mcp", input: { server: "my-tools", tool: "env" } }] },
    ],
    final: "Called.",
  });
  await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
  await using acp = await acpClient(skein);
  const { sessionId } = await acp.agent.request("session/new", {
    cwd: skein.project,
    mcpServers: [{ name: "my tools", command: process.execPath, args: [program], env: [{ name: "FROM_EDITOR", value: "yes" }] }],
  });
  expect(await acp.prompt(sessionId, "use them")).toMatchObject({ stopReason: "end_turn" });
  const sent = server.main().at(-1)!.text;
  expect(sent).toContain("Returns its text.");
  expect(sent).toContain("from the editor");
  expect(sent).toContain("FROM_EDITOR");
  expect(sent).not.toContain("ANTHROPIC_API_KEY");
});

test("a server that skein can't start is refused when the session is opened", async () => {
  await using server = serverWith({ steps: [], final: "hello" });
  await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
  await using acp = await acpClient(skein);
  const mcpServers = [{ type: "http", name: "bad", url: "ftp://example.com", headers: [] }] as never;
  await expect(acp.agent.request("session/new", { cwd: skein.project, mcpServers })).rejects.toThrow(/the server "bad" has a URL/);
});
