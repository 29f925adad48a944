// Twenty agents' CLIs at once, five of them real and the others played by fakes: each is shown in order; after kill -9 of
// every skein nothing is left, and every session goes on.
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

test("twenty at once are shown in order, and all of them go on after a kill", async () => {
  const server = startModelServer(shellScript(["echo one", "echo two", "echo three"], "All three were said."));
  using skein = homeWithFakeClis(peerNames, vendorEnv(server.url));
  const real = { PATH: `${peersBin}${delimiter}${skein.env["PATH"]}` };
  const children = Array.from({ length: 20 }, (_, at): Child => {
    const agent = peerNames[at % peerNames.length]!;
    return at < peerNames.length ? { agent, args: ["-m", agentModels[agent]!], env: real } : { agent, args: [], env: {} };
  });
  try {
    const shown = await runAll(skein, children, "do it fake:stepwise");
    const whole = ["user", "agent", "tool", "agent", "tool", "agent", "tool", "agent"];
    expect(shown.map(({ child, code, authors, answer }) => ({ agent: child.agent, code, authors, answer }))).toEqual(
      children.map(({ agent }) => ({ agent, code: 0, authors: whole, answer: "All three were said." })),
    );
    server.setScript({ steps: [{ text: "I begin.", calls: [{ input: { command: "tail -f /dev/null" } }] }], final: "" });
    await killAll(skein, shown, "more fake:hangs", ({ type }) => type === "text.delta");
    server.setScript(shellScript([], "went on"));
    expect(await resumeAll(skein, shown, "go on fake:good")).toEqual(
      shown.map(() => ({ agent: expect.any(String), code: 0, status: "ok" })),
    );
  } finally {
    await server.stop();
  }
});
