// Tests the answers to a client of `skein mcp` about a turn that still runs: its activity, its output and its cost so far.
import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stoppingHub, mcpClient, serverWith, waitForEnd } from "../../support/mcp-clients.ts";
import { endWaits, limitOf } from "../../support/limits.ts";
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
    expect((await waitForEnd(mcp, session)).output).toMatchObject({ status: "ok", answer: "done" });
  },
);

test("a turn that waits for a limit is answered as running, and wait_session returns its answer after the limit", async () => {
  await using server = serverWith({ steps: [], final: "after the limit" });
  await using skein = stoppingHub(temporaryHome({ ...vendorEnv(server.url), SKEIN_AT_LIMIT: "wait" }));
  await using mcp = await mcpClient(skein);
  const session = { session_id: "work" };
  server.setFault(limitOf(3600));
  const started = await mcp.call("work_with", { agent: "native", task: "count", ...session });
  expect(started).toMatchObject({ isError: false, output: { status: "running", next: "wait_session" } });
  expect(started.text).toMatch(/waiting until (\d+ \w+ )?\d\d:\d\d: .*usage limit reached/);
  const waited = await mcp.call("wait_session", { ...session, timeout_s: 0 });
  expect(waited.output).toMatchObject({ status: "running", turn_id: started.output["turn_id"] });
  server.setFault(null);
  endWaits(skein);
  expect((await waitForEnd(mcp, session)).output).toMatchObject({ status: "ok", answer: "after the limit" });
}, 120_000);

test("work_with queues a task on a busy session, and with until it repeats a task until a command succeeds", async () => {
  const count = { steps: [{ calls: [{ input: { command } }] }], final: "counted" };
  const write = { steps: [{ calls: [{ input: { command: "echo x >> lines.txt" } }] }], final: "one more line" };
  await using server = serverWith(({ position }) => (position.prompt === "count" ? count : write));
  await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
  await using mcp = await mcpClient(skein, { args: ["--hand-back-after", "1s"] });
  const work = { agent: "native", session_id: "work" };
  await mcp.call("work_with", { ...work, task: "count" });
  expect((await mcp.call("work_with", { ...work, task: "too early" })).text).toContain("work_with with queue runs after it");
  const queued = await mcp.call("work_with", { ...work, task: "write two lines", queue: true, until: "test $(wc -l < lines.txt) -eq 2" });
  expect(queued).toMatchObject({ isError: false, output: { status: "queued", next: "wait_session" } });
  writeFileSync(join(skein.project, "go"), "");
  expect((await waitForEnd(mcp, { session_id: "work" })).output).toMatchObject({ status: "ok", answer: "one more line" });
  expect(readFileSync(join(skein.project, "lines.txt"), "utf8")).toBe("x\nx\n");
}, 120_000);
