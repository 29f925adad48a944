// The hub serves the Agent Client Protocol at /acp of its WebSocket, with its token.
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { acpClient, textOfUpdates } from "../../support/acp-clients.ts";
import { connectAcpSocket } from "../../support/acp-socket.ts";
import { startHub } from "../../support/hub-client.ts";
import { serverWith } from "../../support/mcp-clients.ts";
import { temporaryHome, vendorEnv } from "../../support/temporary-home.ts";

test("a client of the hub's WebSocket has the same sessions, and its turn continues when it disconnects", async () => {
  await using server = serverWith(shellScript(["until [ -e go ]; do sleep 0.02; done; echo went on"], "all of it"));
  using skein = temporaryHome(vendorEnv(server.url));
  await using hub = await startHub(skein);
  const { socket, agent, updates } = await connectAcpSocket(hub);
  const { sessionId } = await agent.request("session/new", { cwd: skein.project, mcpServers: [] });
  await using other = await acpClient(skein);
  await other.agent.request("session/load", { sessionId, cwd: skein.project, mcpServers: [] });
  const answer = agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text: "begin" }] });
  answer.catch(() => {}); // the connection is closed before the answer
  while (!updates.some(({ sessionUpdate }) => sessionUpdate === "tool_call")) await Bun.sleep(10);
  socket.close();
  writeFileSync(join(skein.project, "go"), "");
  while (!textOfUpdates(other.updates, "agent_message_chunk").includes("all of it")) await Bun.sleep(10);
  const again = await connectAcpSocket(hub);
  await again.agent.request("session/load", { sessionId, cwd: skein.project, mcpServers: [] });
  expect(textOfUpdates(again.updates, "agent_message_chunk")).toBe("all of it");
  expect(await again.agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text: "more" }] })).toMatchObject({
    stopReason: "end_turn",
  });
  again.socket.send("{broken");
  while (!again.frames.some((frame) => frame.includes("-32700"))) await Bun.sleep(10);
  expect((await again.agent.request("session/list", { cwd: skein.project })).sessions).toMatchObject([{ sessionId }]);
});

test("the WebSocket at /acp refuses a client without the hub's token", async () => {
  using skein = temporaryHome(vendorEnv("http://127.0.0.1:9"));
  await using hub = await startHub(skein);
  const http = hub.url.replace("ws:", "http:");
  const upgrade = {
    Connection: "Upgrade",
    Upgrade: "websocket",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version": "13",
  };
  expect((await fetch(`${http}/acp`, { headers: upgrade })).status).toBe(401);
  expect((await fetch(`${http}/acp`, { headers: { ...upgrade, Authorization: "Bearer wrong" } })).status).toBe(401);
  const token = readFileSync(hub.token_file, "utf8").trim();
  const foreign = { ...upgrade, Authorization: `Bearer ${token}`, Origin: "http://example.org" };
  expect((await fetch(`${http}/acp`, { headers: foreign })).status).toBe(403);
});

test("bad frames at /acp get an error or a close, and the hub goes on", async () => {
  await using server = serverWith(shellScript([], "still here"));
  using skein = temporaryHome(vendorEnv(server.url));
  await using hub = await startHub(skein);
  const { socket, agent, frames } = await connectAcpSocket(hub);
  const errors = () => frames.flatMap((frame) => (JSON.parse(frame) as { error?: { code: number } }).error?.code ?? []);
  for (const [frame, code] of [
    ["[]", -32600],
    ["42", -32600],
    ["null", -32600],
    ["{broken", -32700],
    [`[${"0,".repeat(1_100_000)}0]`, -32700],
    ['{"jsonrpc":"1.0","id":5,"method":"session/list"}', -32600],
  ] as const) {
    const count = errors().length;
    socket.send(frame);
    while (errors().length === count) await Bun.sleep(10);
    expect([frame.slice(0, 60), errors().at(-1)]).toEqual([frame.slice(0, 60), code]);
  }
  const { sessionId } = await agent.request("session/new", { cwd: skein.project, mcpServers: [] });
  const closed = new Promise<CloseEvent>((resolve) => socket.addEventListener("close", resolve, { once: true }));
  const prompt = [{ type: "text", text: "x".repeat(50 << 20) }];
  agent.request("session/prompt", { sessionId, prompt }).catch(() => {}); // the connection is closed
  expect((await closed).code).not.toBe(1000);
  const again = await connectAcpSocket(hub);
  await again.agent.request("session/load", { sessionId, cwd: skein.project, mcpServers: [] });
  expect(await again.agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text: "hi" }] })).toMatchObject({
    stopReason: "end_turn",
  });
  again.socket.close();
}, 60_000);
