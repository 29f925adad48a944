// Clients of the Agent Client Protocol get a reason when the hub stops in the middle of a turn.
import { type ClientApp } from "@agentclientprotocol/sdk";
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { acpClient, textOfUpdates } from "../../support/acp-clients.ts";
import { connectAcpSocket } from "../../support/acp-socket.ts";
import { startHub } from "../../support/hub-client.ts";
import { serverWith, stoppingHub } from "../../support/mcp-clients.ts";
import { temporaryHome, vendorEnv } from "../../support/temporary-home.ts";

const question = { calls: [{ name: "ask_user", input: { question: "Which color?", options: ["red", "blue"] } }] };

test("a hub that stops closes /acp, and the next hub has the work so far and continues the turn", async () => {
  await using server = serverWith({
    steps: [
      { text: "working", calls: [{ input: { command: "echo begun > made.txt; until [ -e go ]; do sleep 0.05; done; echo went on" } }] },
    ],
    final: "all of it",
  });
  await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
  await using hub = await startHub(skein);
  const { socket, agent, updates } = await connectAcpSocket(hub);
  const { sessionId } = await agent.request("session/new", { cwd: skein.project, mcpServers: [] });
  const answer = agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text: "begin" }] });
  answer.catch(() => {}); // the connection is closed before the answer
  while (!(await Bun.file(join(skein.project, "made.txt")).exists())) await Bun.sleep(10);
  const closed = new Promise<CloseEvent>((resolve) => socket.addEventListener("close", resolve, { once: true }));
  expect((await skein.run(["hub", "stop", "--wait", "0"])).out).toContain("continues its interrupted turn");
  expect(await closed).toMatchObject({ code: 1001, reason: "the server stops" });
  expect(textOfUpdates(updates, "agent_message_chunk")).toBe("working");
  writeFileSync(join(skein.project, "go"), "");
  await using again = await startHub(skein);
  const next = await connectAcpSocket(again);
  await next.agent.request("session/load", { sessionId, cwd: skein.project, mcpServers: [] });
  while (!textOfUpdates(next.updates, "agent_message_chunk").endsWith("all of it")) await Bun.sleep(10);
  expect(textOfUpdates(next.updates, "agent_message_chunk")).toBe("workingall of it");
  next.socket.close();
}, 120_000);

test("a question is withdrawn when the hub stops, its prompt fails with a reason, and the same client can go on", async () => {
  await using server = serverWith({ steps: [question], final: "painted" });
  await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
  const shown = Promise.withResolvers<void>();
  const withdrawn = Promise.withResolvers<void>();
  const prepare = (app: ClientApp) =>
    app.onRequest("elicitation/create", async ({ signal }) => {
      shown.resolve();
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      withdrawn.resolve();
      return { action: "cancel" };
    });
  await using acp = await acpClient(skein, { capabilities: { elicitation: { form: {} } }, prepare });
  const { sessionId } = await acp.open();
  const outcome = acp.prompt(sessionId, "paint it").then(
    () => "answered",
    (error: unknown) => (error as Error).message,
  );
  await shown.promise;
  expect((await skein.run(["hub", "stop", "--wait", "0"])).code).toBe(0);
  await withdrawn.promise;
  expect(await outcome).toBe(
    "the hub stopped during this turn; the work so far is stored; load the session again: the next hub continues the turn",
  );
  expect(JSON.parse((await skein.run(["asks", "--json"])).out)).toEqual([]);
  await acp.agent.request("session/load", { sessionId, cwd: skein.project, mcpServers: [] });
  while (!textOfUpdates(acp.updates, "agent_message_chunk").endsWith("painted")) await Bun.sleep(10);
  // The model gets the reason in place of an answer.
  expect(server.main().at(-1)?.text).toContain("stopped before there was an answer");
}, 120_000);
