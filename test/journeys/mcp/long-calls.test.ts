// Calls of skein mcp that outlast their callers: handed back and collected, cancelled, left by a client that dies, and
// told truthfully by the next server when this one, or the hub, is killed.
import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { hubFile } from "../../support/hub-client.ts";
import { stoppingHub, mcpClient, oldMcpClient, resultOf, serverWith, type McpTestClient } from "../../support/mcp-clients.ts";
import { waitForNoProcesses } from "../../support/processes.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";

const agent = { agent: "native", session_id: "long" };
/** Until there is a file `go`. */
const waits = "echo begun > begun; while [ ! -e go ]; do sleep 0.05; done; echo went";

function houseFor(url: string): TemporaryHome & AsyncDisposable {
  return stoppingHub(temporaryHome({ ...vendorEnv(url), SKEIN_MODEL: wireModels.anthropic }));
}

async function begun(skein: TemporaryHome): Promise<void> {
  while (!existsSync(join(skein.project, "begun"))) await Bun.sleep(20);
}

function letGo(skein: TemporaryHome): void {
  writeFileSync(join(skein.project, "go"), "");
}

function hubPid(skein: TemporaryHome): number {
  return (JSON.parse(readFileSync(hubFile(skein), "utf8")) as { pid: number }).pid;
}

for (const era of ["legacy", "modern"] as const) {
  test(`work that takes longer than a ${era} client waits is handed back, goes on, and is collected`, async () => {
    await using server = serverWith(shellScript([waits], "it is done"));
    await using skein = houseFor(server.url);
    await using talk = await mcpClient(skein, { era, args: ["--hand-back-after", "3s"] });
    const handed = await talk.call("work_with", { ...agent, task: "take your time" });
    expect(handed).toMatchObject({ isError: false, text: expect.stringContaining('Call wait_session with session_id "long"') });
    expect(handed.output).toMatchObject({ status: "running", session_id: "long", next: "wait_session", turn_id: expect.any(String) });
    const { turn_id, seq } = handed.output;

    const again = await talk.call("work_with", { ...agent, task: "take your time" });
    expect(again.isError).toBe(true);
    expect(again.text).toMatch(/^session "long" is busy: native has been running for .*\nwait_session returns its answer/);

    expect((await talk.call("wait_session", { session_id: "long", timeout_s: 0.2, after_seq: seq })).output).toMatchObject({
      status: "running",
      turn_id,
    });
    const seen = await talk.call("follow_session", { session_id: "long" });
    expect(seen.output).toMatchObject({ state: "running" });
    expect(seen.text).toContain("user: take your time");
    expect((await talk.call("list_sessions")).output).toMatchObject({ sessions: [{ session_id: "long", state: "running" }] });

    letGo(skein);
    let collected = await talk.call("wait_session", { session_id: "long", after_seq: seq });
    while (collected.output["status"] === "running") collected = await talk.call("wait_session", { session_id: "long", after_seq: seq });
    expect(collected).toMatchObject({ text: "it is done", isError: false, output: { status: "ok", turn_id, answer: "it is done" } });
    // Whoever comes late, or has no seq, is told the same.
    expect((await talk.call("wait_session", { session_id: "long" })).output).toEqual(collected.output);
    expect((await talk.call("follow_session", { session_id: "long", lines: 1 })).output).toMatchObject({ lines: ["[native ended: ok]"] });
    expect(talk.said()).toBe("");
  });
}

test("a client that listens is told that something goes on, and what", async () => {
  await using server = serverWith(shellScript([waits], "it is done"));
  await using skein = houseFor(server.url);
  await using talk = await mcpClient(skein, { name: "claude-code" });
  const told: string[] = [];
  const calling = talk.call(
    "work_with",
    { ...agent, task: "take your time" },
    { onprogress: ({ message }) => void told.push(message ?? "") },
  );
  while (!told.some((message) => message.includes("bash"))) await Bun.sleep(50);
  letGo(skein);
  expect((await calling).text).toBe("it is done");
  expect(told.find((message) => message.includes("bash"))).toMatch(/^native, .*s: bash echo begun/);
});

for (const era of ["legacy", "modern"] as const) {
  test(`cancelling a call of a ${era} client stops the work with all it has started`, async () => {
    await using server = serverWith(shellScript([waits]));
    await using skein = houseFor(server.url);
    await using talk = await mcpClient(skein, { era });
    const cancel = new AbortController();
    const calling = talk.call("work_with", { ...agent, task: "never ends" }, { signal: cancel.signal });
    await begun(skein);
    cancel.abort("enough");
    await expect(calling).rejects.toThrow();
    const after = await talk.call("wait_session", { session_id: "long" });
    expect(after.output).toMatchObject({ status: "cancelled" });
    await skein.run(["hub", "stop"]);
    await talk.client.close();
    expect(await waitForNoProcesses(skein.root)).toEqual([]);
  });
}

test("cancel_session stops the work of another caller; cancelling a wait stops nothing", async () => {
  await using server = serverWith(shellScript([waits], "unreached"));
  await using skein = houseFor(server.url);
  await using one = await mcpClient(skein, { args: ["--hand-back-after", "500ms"] });
  await using other = await mcpClient(skein);
  expect((await one.call("work_with", { ...agent, task: "never ends" })).output).toMatchObject({ status: "running" });
  const leave = new AbortController();
  const waiting = other.call("wait_session", { session_id: "long" }, { signal: leave.signal });
  await begun(skein);
  leave.abort("not now");
  await expect(waiting).rejects.toThrow();
  expect((await other.call("list_sessions")).output).toMatchObject({ sessions: [{ state: "running" }] });
  expect(await other.call("cancel_session", { session_id: "long" })).toMatchObject({ isError: false, output: { status: "cancelled" } });
  expect((await one.call("wait_session", { session_id: "long" })).output).toMatchObject({ status: "cancelled" });
  expect((await one.call("cancel_session", { session_id: "long" })).text).toMatch(/^nothing was running/);
});

test("the death of the client stops nothing, and its server ends with it", async () => {
  await using server = serverWith(shellScript([waits], "done without you"));
  await using skein = houseFor(server.url);
  const talk = await mcpClient(skein);
  const calling = talk.call("work_with", { ...agent, task: "take your time" });
  await begun(skein);
  // What a client that is gone leaves: a stdin at its end.
  await Promise.allSettled([talk.client.close(), calling]);
  expect(await processIsGone(talk)).toBe(true);
  await using next = await oldMcpClient(skein);
  letGo(skein);
  const result = resultOf(
    (await next.callTool({ name: "wait_session", arguments: { session_id: "long" } })) as Parameters<typeof resultOf>[0],
  );
  expect(result).toMatchObject({ text: "done without you", output: { status: "ok" } });
});

test("a server killed in the middle of a call: the next one gives the result", async () => {
  await using server = serverWith(shellScript([waits], "done all the same"));
  await using skein = houseFor(server.url);
  const talk = await mcpClient(skein);
  const calling = talk.call("work_with", { ...agent, task: "take your time" });
  await begun(skein);
  process.kill(talk.pid, "SIGKILL");
  await expect(calling).rejects.toThrow();
  await using next = await mcpClient(skein);
  letGo(skein);
  expect(await next.call("wait_session", { session_id: "long" })).toMatchObject({ text: "done all the same", output: { status: "ok" } });
});

test("a hub killed in the middle of a call: the call says so, and the next one tells the truth and starts another", async () => {
  await using server = serverWith(shellScript([waits], "unreached"));
  await using skein = houseFor(server.url);
  await using talk = await mcpClient(skein);
  const calling = talk.call("work_with", { ...agent, task: "take your time" });
  await begun(skein);
  process.kill(hubPid(skein), "SIGKILL");
  expect(await calling).toMatchObject({ isError: true, text: expect.stringContaining("wait_session") });
  const truth = await talk.call("wait_session", { session_id: "long" });
  expect(truth).toMatchObject({ isError: true, output: { status: "killed" } });
  letGo(skein);
  expect(await talk.call("work_with", { ...agent, task: "go on" })).toMatchObject({ isError: false, output: { status: "ok" } });
});

async function processIsGone({ pid }: McpTestClient): Promise<boolean> {
  for (let tries = 0; tries < 3_000; tries += 1) {
    try {
      process.kill(pid, 0);
    } catch {
      return true;
    }
    await Bun.sleep(20);
  }
  return false;
}
