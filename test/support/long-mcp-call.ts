// A script for manual use, not a test: a real client calls a tool that takes longer than the client's time limit.
// `bun test/support/long-mcp-call.ts [client] [seconds]`, by default codex and 360. Prints each request with its time.
import { installPeers } from "../../bench/peers.ts";
import { startModelServer } from "../../src/scripted-model/model-server.ts";
import { agentHome } from "./agent-journey.ts";
import { waitForNoProcesses } from "./processes.ts";
import { askClient, installClient, mcpClientNames, toolName } from "./real-mcp-clients.ts";

async function main(client: (typeof mcpClientNames)[number], seconds: number): Promise<void> {
  await installPeers([client, "pi"]);
  const call = (name: string, input: Record<string, string | number>) => ({ calls: [{ name: toolName(client, name), input }] });
  const server = startModelServer(
    ({ position: { prompt } }) =>
      prompt.includes("heron-conductor")
        ? {
            steps: [
              call("work_with", { agent: "pi", task: "heron-work: a long one", session_id: "long" }),
              call("wait_session", { session_id: "long", timeout_s: 240 }),
            ],
            final: "collected",
          }
        : { steps: [{ calls: [{ input: { command: `sleep ${seconds}; expr 61000 + 300` } }] }], final: "the long work is done" },
    { marker: "heron-" },
  );
  using skein = agentHome(server);
  await installClient(skein, server, client);
  const startedAt = performance.timeOrigin + performance.now();
  const ran = await askClient(skein, client, "heron-conductor: go");
  for (const { at, step, text } of server.main()) {
    const name = text.includes("heron-conductor") ? client : "pi";
    const lastStatus = text.match(/still working|status[\\": ]+running|the long work is done/g)?.at(-1) ?? "nothing";
    console.log(`${((at - startedAt) / 1000).toFixed(1)} s  ${name} asks its model, step ${step}; last status: ${lastStatus}`);
  }
  console.log(`${client} ended with ${ran.code} after ${((performance.timeOrigin + performance.now() - startedAt) / 1000).toFixed(1)} s`);
  await skein.run(["hub", "stop"]);
  console.log("still running:", await waitForNoProcesses(skein.root));
  await server.stop();
}

const [client = "codex", seconds = "360"] = process.argv.slice(2);
await main(
  mcpClientNames.find((name) => name === client)!,
  Number(seconds),
);
