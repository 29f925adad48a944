// Tests the answers to a client of `skein mcp` about a turn that still runs: its activity, its output and its cost so far.
import { expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stoppingHub, mcpClient, serverWith } from "../../support/mcp-clients.ts";
import { temporaryHome, vendorEnv } from "../../support/temporary-home.ts";

const command = "echo tick one; touch begun; while [ ! -e go ]; do sleep 0.05; done";

test(
  "wait_session names the running command, follow_session labels its output with the tool, and both work after a known seq",
  { timeout: 120_000 },
  async () => {
    await using server = serverWith({ steps: [{ calls: [{ input: { command } }] }], final: "done" });
    await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
    await using mcp = await mcpClient(skein, { args: ["--hand-back-after", "1s"] });
    const session = { session_id: "work" };
    const started = await mcp.call("work_with", { agent: "native", task: "count", ...session });
    while (!existsSync(join(skein.project, "begun"))) await Bun.sleep(20);
    const afterSeq = { after_seq: started.output["seq"] };
    for (const more of [{}, afterSeq]) {
      const waited = await mcp.call("wait_session", { ...session, timeout_s: 0, ...more });
      expect(waited.text).toMatch(/still working \([^;]+; bash echo tick one/);
      expect(waited.output["status"]).toBe("running");
      expect(waited.output["cost_usd"]).toBeGreaterThan(0);
      const followed = await mcp.call("follow_session", { ...session, ...more });
      expect(followed.output["lines"]).toContain("bash: tick one");
    }
    writeFileSync(join(skein.project, "go"), "");
    expect((await mcp.call("wait_session", session)).output).toMatchObject({ status: "ok", answer: "done" });
  },
);
