// Calls of `skein mcp` that take longer than their clients wait: returned early and collected later, cancelled, or
// continued after the client, the server or the hub was killed.
import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { hubFile } from "../../support/hub-client.ts";
import { stoppingHub, mcpClient, serverWith, waitForEnd, type McpTestClient } from "../../support/mcp-clients.ts";
import { waitForNoProcesses } from "../../support/processes.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";

const agent = { agent: "native", session_id: "long" };
/** Waits until the file `go` exists. */
const waitCommand = "echo begun > begun; while [ ! -e go ]; do sleep 0.05; done; echo went";

function homeFor(url: string): TemporaryHome & AsyncDisposable {
  return stoppingHub(temporaryHome({ ...vendorEnv(url), SKEIN_MODEL: wireModels.anthropic }));
}

async function waitUntilStarted(skein: TemporaryHome): Promise<void> {
  while (!existsSync(join(skein.project, "begun"))) await Bun.sleep(20);
}

function releaseCommand(skein: TemporaryHome): void {
  writeFileSync(join(skein.project, "go"), "");
}

function hubPid(skein: TemporaryHome): number {
  return (JSON.parse(readFileSync(hubFile(skein), "utf8")) as { pid: number }).pid;
}

for (const era of ["legacy", "modern"] as const) {
  test(`work that takes longer than a ${era} client waits is returned early, continues, and can be collected`, async () => {
    await using server = serverWith(shellScript([waitCommand], "it is done"));
    await using skein = homeFor(server.url);
    await using mcp = await mcpClient(skein, { era, args: ["--hand-back-after", "3s"] });
    const handed = await mcp.call("work_with", { ...agent, task: "take your time" });
    expect(handed).toMatchObject({ isError: false, text: expect.stringContaining('Call wait_session with session_id "long"') });
    expect(handed.output).toMatchObject({ status: "running", session_id: "long", next: "wait_session", turn_id: expect.any(String) });
    const { turn_id, seq } = handed.output;

    const again = await mcp.call("work_with", { ...agent, task: "take your time" });
    expect(again.isError).toBe(true);
    expect(again.text).toMatch(/^session "long" is busy: native has been running for .*\nwait_session returns its answer/);

    expect((await mcp.call("wait_session", { session_id: "long", timeout_s: 0.2, after_seq: seq })).output).toMatchObject({
      status: "running",
      turn_id,
    });
    const followed = await mcp.call("follow_session", { session_id: "long" });
    expect(followed.output).toMatchObject({ state: "running" });
    expect(followed.text).toContain("user: take your time");
    expect((await mcp.call("list_sessions")).output).toMatchObject({ sessions: [{ session_id: "long", state: "running" }] });

    releaseCommand(skein);
    const collected = await waitForEnd(mcp, { session_id: "long", after_seq: seq });
    expect(collected).toMatchObject({ text: "it is done", isError: false, output: { status: "ok", turn_id, answer: "it is done" } });
    // A later call without seq gets the same result.
    expect((await mcp.call("wait_session", { session_id: "long" })).output).toEqual(collected.output);
    expect((await mcp.call("follow_session", { session_id: "long", lines: 1 })).output).toMatchObject({ lines: ["[native ended: ok]"] });
    expect(mcp.stderrText()).toBe("");
  });
}

test("a client that asks for progress gets messages about the running command", async () => {
  await using server = serverWith(shellScript([waitCommand], "it is done"));
  await using skein = homeFor(server.url);
  await using mcp = await mcpClient(skein, { name: "claude-code" });
  const progressMessages: string[] = [];
  const calling = mcp.call(
    "work_with",
    { ...agent, task: "take your time" },
    { onprogress: ({ message }) => void progressMessages.push(message ?? "") },
  );
  while (!progressMessages.some((message) => message.includes("bash"))) await Bun.sleep(50);
  releaseCommand(skein);
  expect((await calling).text).toBe("it is done");
  expect(progressMessages.find((message) => message.includes("bash"))).toMatch(/^native, .*s: bash echo begun/);
});

for (const era of ["legacy", "modern"] as const) {
  test(`cancelling a call of a ${era} client stops the work with all it has started`, async () => {
    await using server = serverWith(shellScript([waitCommand]));
    await using skein = homeFor(server.url);
    await using mcp = await mcpClient(skein, { era });
    const cancel = new AbortController();
    const calling = mcp.call("work_with", { ...agent, task: "never ends" }, { signal: cancel.signal });
    await waitUntilStarted(skein);
    cancel.abort("enough");
    await expect(calling).rejects.toThrow();
    const after = await mcp.call("wait_session", { session_id: "long" });
    expect(after.output).toMatchObject({ status: "cancelled" });
    await skein.run(["hub", "stop"]);
    await mcp.client.close();
    expect(await waitForNoProcesses(skein.root)).toEqual([]);
  });
}

test("cancel_session stops the work of another client, but cancelling wait_session stops nothing", async () => {
  await using server = serverWith(shellScript([waitCommand], "unreached"));
  await using skein = homeFor(server.url);
  await using first = await mcpClient(skein, { args: ["--hand-back-after", "500ms"] });
  await using second = await mcpClient(skein);
  expect((await first.call("work_with", { ...agent, task: "never ends" })).output).toMatchObject({ status: "running" });
  const stopWaiting = new AbortController();
  const waiting = second.call("wait_session", { session_id: "long" }, { signal: stopWaiting.signal });
  await waitUntilStarted(skein);
  stopWaiting.abort("not now");
  await expect(waiting).rejects.toThrow();
  expect((await second.call("list_sessions")).output).toMatchObject({ sessions: [{ state: "running" }] });
  expect(await second.call("cancel_session", { session_id: "long" })).toMatchObject({ isError: false, output: { status: "cancelled" } });
  expect((await first.call("wait_session", { session_id: "long" })).output).toMatchObject({ status: "cancelled" });
  expect((await first.call("cancel_session", { session_id: "long" })).text).toMatch(/^nothing was running/);
});

test("a killed client does not stop its turn, and its server ends", async () => {
  await using server = serverWith(shellScript([waitCommand], "done without you"));
  await using skein = homeFor(server.url);
  const mcp = await mcpClient(skein);
  const calling = mcp.call("work_with", { ...agent, task: "take your time" });
  await waitUntilStarted(skein);
  // The end of stdin is all that the server sees of a client that is gone.
  await Promise.allSettled([mcp.client.close(), calling]);
  expect(await waitUntilGone(mcp)).toBe(true);
  await using next = await mcpClient(skein);
  releaseCommand(skein);
  expect(await next.call("wait_session", { session_id: "long" })).toMatchObject({ text: "done without you", output: { status: "ok" } });
});

test("after a server was killed in mid-call the next server returns the result", async () => {
  await using server = serverWith(shellScript([waitCommand], "done all the same"));
  await using skein = homeFor(server.url);
  const mcp = await mcpClient(skein);
  const calling = mcp.call("work_with", { ...agent, task: "take your time" });
  await waitUntilStarted(skein);
  process.kill(mcp.pid, "SIGKILL");
  await expect(calling).rejects.toThrow();
  await using next = await mcpClient(skein);
  releaseCommand(skein);
  expect(await next.call("wait_session", { session_id: "long" })).toMatchObject({ text: "done all the same", output: { status: "ok" } });
});

test("after the hub was killed in mid-call the call fails, and the next call starts a new hub that continues the turn", async () => {
  await using server = serverWith(shellScript([waitCommand], "continued"));
  await using skein = homeFor(server.url);
  await using mcp = await mcpClient(skein);
  await killHubInMidCall(skein, mcp);
  const collected = await waitForEnd(mcp, { session_id: "long" });
  expect(collected).toMatchObject({ text: "continued", isError: false, output: { status: "ok" } });
  expect(server.main().at(-1)!.text).toContain("Interrupted: skein was killed");
});

test("with auto_resume off the turn of a killed hub is reported as killed, and the next call works", async () => {
  await using server = serverWith(shellScript([waitCommand], "continued"));
  await using skein = homeFor(server.url);
  await skein.run(["config", "set", "auto_resume", "false"]);
  await using mcp = await mcpClient(skein);
  await killHubInMidCall(skein, mcp);
  expect(await mcp.call("wait_session", { session_id: "long" })).toMatchObject({ isError: true, output: { status: "killed" } });
  releaseCommand(skein);
  expect(await mcp.call("work_with", { ...agent, task: "go on" })).toMatchObject({ isError: false, output: { status: "ok" } });
});

async function killHubInMidCall(skein: TemporaryHome, mcp: McpTestClient): Promise<void> {
  const calling = mcp.call("work_with", { ...agent, task: "take your time" });
  await waitUntilStarted(skein);
  process.kill(hubPid(skein), "SIGKILL");
  expect(await calling).toMatchObject({ isError: true, text: expect.stringContaining("wait_session") });
}

async function waitUntilGone({ pid }: McpTestClient): Promise<boolean> {
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
