// run --check with the real program, a scripted model and the real sandbox.
import { afterAll, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { result } from "../../../src/protocol/fixtures/printed-schemas.ts";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { mcpClient, stoppingHub } from "../../support/mcp-clients.ts";
import { waitForNoProcesses } from "../../support/processes.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";

const server = startModelServer(shellScript([]), { chunkDelayMs: 0 });
afterAll(() => server.stop());
beforeEach(() => {
  server.setScript(shellScript([]));
  server.clear();
});

const check = "cat wanted.txt || { echo wanted.txt-is-missing-here; exit 3; }";

async function run(skein: TemporaryHome, ...args: string[]) {
  const ran = await skein.run(["run", "-m", wireModels.anthropic, "--json", ...args]);
  return { code: ran.code, err: ran.err, record: ran.out === "" ? null : result.parse(ran.json()) };
}

async function turnsOf(skein: TemporaryHome, session: string) {
  const { turns } = (await skein.run(["show", session, "--json"])).json() as { turns: { status: string; agent: string }[] };
  return turns.map(({ status, agent }) => `${agent} ${status}`);
}

test("a check that passes leaves the turn ok, and its outcome is in the result", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  server.setScript(shellScript(["echo it is there > wanted.txt"], "written"));
  const { code, record } = await run(skein, "write it", "--check", check);
  expect({ code, status: record?.status, answer: record?.result }).toEqual({ code: 0, status: "ok", answer: "written" });
  expect(record?.checked).toMatchObject({ command: check, passed: true, exit_code: 0 });
  expect(await turnsOf(skein, record?.session_id as string)).toEqual(["native ok"]);
});

test("the output of a failing check goes back to the agent, which then succeeds", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  server.setScript(({ position }) => (position.turn === 1 ? shellScript(["true"], "done?") : shellScript(["echo ok > wanted.txt"], "now")));
  const { code, record } = await run(skein, "write it", "--check", check);
  expect({ code, status: record?.status, answer: record?.result }).toEqual({ code: 0, status: "ok", answer: "now" });
  const repair = server.main().find(({ text }) => text.includes("wanted.txt-is-missing-here"));
  expect(repair?.text).toContain("failed (exit code 3)");
  expect(await turnsOf(skein, record?.session_id as string)).toEqual(["native check-failed", "native ok"]);
});

test("a check that fails twice ends as check-failed with exit code 10, and its output is a handle of the turn's node", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  server.setScript(shellScript(["true"], "I am sure that it works"));
  const { code, record } = await run(skein, "write it", "--check", check);
  expect({ code, status: record?.status, answer: record?.result }).toEqual({
    code: 10,
    status: "check-failed",
    answer: "I am sure that it works",
  });
  expect(record?.error?.message).toContain("exit code 3");
  expect(record?.error?.hint).toContain("skein run --resume");
  const shown = (await skein.run(["show", record?.session_id as string, "--json"])).json() as {
    nodes: {
      note?: string;
      check?: { passed: boolean };
      parts: { kind: string; handle?: { metadata: { exit_code: number } }; excerpt?: string }[];
    }[];
  };
  const checks = shown.nodes.filter(({ note }) => note === "check");
  expect(checks.map((node) => node.check?.passed)).toEqual([false, false]);
  expect(checks[0]?.parts[0]).toMatchObject({ kind: "handle", handle: { source: "bash", metadata: { exit_code: 3 } } });
  expect(checks[0]?.parts[0]?.excerpt).toContain("wanted.txt-is-missing-here");
  expect(server.main().filter(({ text }) => text.includes("I am sure"))).toHaveLength(2);
});

test("--resume after a failed check sends its output again and keeps the check", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  server.setScript(shellScript(["true"], "not yet"));
  const failed = await run(skein, "write it", "--check", check);
  server.clear();
  server.setScript(shellScript(["echo ok > wanted.txt"], "now"));
  const { code, record } = await run(skein, "--resume", failed.record?.session_id as string);
  expect({ code, status: record?.status, checked: record?.checked?.passed }).toEqual({ code: 0, status: "ok", checked: true });
  expect(server.main()[0]?.text.split("wanted.txt-is-missing-here").length).toBeGreaterThan(2);
});

test("a check that takes too long fails, and its processes are ended", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  const { code, record } = await run(skein, "do it", "--check", "exec -a skein-check-sleeper sleep 3600", "--check-timeout", "1s");
  expect({ code, status: record?.status, exit: record?.checked?.exit_code }).toEqual({ code: 10, status: "check-failed", exit: null });
  await waitForNoProcesses("skein-check-sleeper");
});

test("a check runs in the turn's sandbox", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  const outside = join(skein.home, "outside.txt");
  await run(skein, "do it", "--check", `echo no > '${outside}'`);
  expect(existsSync(outside)).toBe(false);
});

test("the config key check applies to every run, and --no-check switches it off", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  expect((await skein.run(["config", "set", "check", "false"])).code).toBe(0);
  expect((await run(skein, "do it")).code).toBe(10);
  expect((await run(skein, "do it", "--no-check")).code).toBe(0);
  expect((await run(skein, "do it", "--check", "true")).code).toBe(0);
});

test("an untrusted project can't set a check", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  mkdirSync(join(skein.project, ".skein"), { recursive: true });
  writeFileSync(join(skein.project, ".skein", "config.jsonc"), JSON.stringify({ check: "touch hostile.txt; false" }));
  expect((await run(skein, "do it")).code).toBe(0);
  expect(existsSync(join(skein.project, "hostile.txt"))).toBe(false);
});

test("a turn that was killed during its check continues with the same check", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  server.setScript(shellScript(["true"], "done"));
  const slow = "touch started.txt; test -e go.txt || exec sleep 3600";
  const child = skein.start(["run", "do it", "-m", wireModels.anthropic, "--session", "slow", "--check", slow, "--json"]);
  while (!existsSync(join(skein.project, "started.txt"))) await Bun.sleep(20);
  process.kill(child.pid, "SIGKILL");
  await child.exited;
  writeFileSync(join(skein.project, "go.txt"), "");
  const { code, record } = await run(skein, "--resume", "slow");
  expect({ code, checked: record?.checked?.passed }).toEqual({ code: 0, checked: true });
  expect(await turnsOf(skein, "slow")).toEqual(["native killed", "native ok"]);
});

test("the text output names the check and shows the end of its output", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  const ran = await skein.run(["run", "do it", "-m", wireModels.anthropic, "--check", check]);
  expect(ran.code).toBe(10);
  expect(ran.err).toContain("• check cat wanted.txt");
  expect(ran.err).toContain("wanted.txt-is-missing-here");
  expect(ran.err).toContain("skein: check-failed: the check failed");
});

test("work_with over MCP takes a check, and its failure is the status of the answer", async () => {
  server.setScript(shellScript(["true"], "done"));
  await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
  await using mcp = await mcpClient(skein);
  const work = { agent: "native", task: "write it", session_id: "over-mcp" };
  const failed = await mcp.call("work_with", { ...work, check });
  expect(failed.output).toMatchObject({ status: "check-failed" });
  expect(failed.text).toContain("exit code 3");
  const passed = await mcp.call("work_with", { ...work, check: "true" });
  expect(passed.output).toMatchObject({ status: "ok" });
});
