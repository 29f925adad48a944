// Runs twenty CLIs of agents at once, five real and fifteen fake. Events are printed in order. After SIGKILL of every skein no
// process is left, and every session can be resumed.
import { beforeAll, expect, test } from "bun:test";
import { delimiter } from "node:path";
import { installPeers, peerNames, peersBin } from "../../../bench/peers.ts";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { agentModels } from "../../support/agent-journey.ts";
import { homeWithFakeClis } from "../../support/fake-clis.ts";
import { type Child, resumeAll, killAll, runAll } from "../../support/many-agents.ts";
import { vendorEnv } from "../../support/temporary-home.ts";

beforeAll(() => installPeers(peerNames), 300_000);

test("twenty agents at once print events in order, and every session continues after a kill", async () => {
  const server = startModelServer(shellScript(["echo one", "echo two", "echo three"], "All three were said."));
  using skein = homeWithFakeClis(peerNames, vendorEnv(server.url));
  const real = { PATH: `${peersBin}${delimiter}${skein.env["PATH"]}` };
  const children = Array.from({ length: 20 }, (_, index): Child => {
    const agent = peerNames[index % peerNames.length]!;
    return index < peerNames.length ? { agent, args: ["-m", agentModels[agent]!], env: real } : { agent, args: [], env: {} };
  });
  try {
    const results = await runAll(skein, children, "do it fake:stepwise");
    const allAuthors = ["user", "agent", "tool", "agent", "tool", "agent", "tool", "agent"];
    expect(results.map(({ child, code, authors, answer }) => ({ agent: child.agent, code, authors, answer }))).toEqual(
      children.map(({ agent }) => ({ agent, code: 0, authors: allAuthors, answer: "All three were said." })),
    );
    server.setScript({ steps: [{ text: "I begin.", calls: [{ input: { command: "tail -f /dev/null" } }] }], final: "" });
    await killAll(skein, results, "more fake:hangs", ({ type }) => type === "text.delta");
    server.setScript(shellScript([], "went on"));
    expect(await resumeAll(skein, results, "go on fake:good")).toEqual(
      results.map(() => ({ agent: expect.any(String), code: 0, status: "ok" })),
    );
  } finally {
    await server.stop();
  }
});
