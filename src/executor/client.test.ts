import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { descendantsOf, familyMembers } from "../kit/process/processes.ts";
import type { SandboxInfo } from "../protocol/api/policy.ts";
import type { Executor, ToolCallOptions } from "../protocol/api/ports.ts";
import { startExecutor } from "./client.ts";
import { callTool, executorProgram, startTestExecutor } from "./fixtures/test-executor.ts";

const directory = mkdtempSync(join(tmpdir(), "executor-"));
const secret = "recognisable-secret-value";
const env = {
  ...process.env,
  ANTHROPIC_API_KEY: secret,
  GITHUB_TOKEN: secret,
  SSH_AUTH_SOCK: secret,
  BUN_OPTIONS: "",
  SKEIN_INTERNAL: secret,
  LANG: "C.UTF-8",
};
afterAll(() => rmSync(directory, { recursive: true }));

const start = (sandbox: SandboxInfo | null = null) => startTestExecutor({ env, cwd: directory, sandbox });
const startProgram = (command: string[]) => startExecutor({ command, env, cwd: directory });
const call = (executor: Executor, name: string, input: Record<string, unknown>, options: Partial<ToolCallOptions> = {}) =>
  callTool(executor, { name, input, cwd: directory, ...options });

async function until(isTrue: () => boolean): Promise<void> {
  for (let count = 0; count < 2_000 && !isTrue(); count += 1) await Bun.sleep(25);
  expect(isTrue()).toBe(true);
}

const isAlive = (pid: number): boolean => existsSync(`/proc/${pid}`) && !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
const memoryOf = (pid: number): number => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) / 1024;
const executorPid = async (executor: Executor): Promise<number> => Number((await call(executor, "bash", { command: "echo $PPID" })).text);

describe("an executor", () => {
  test("the executor reads, writes and edits files and runs commands", async () => {
    await using executor = start();
    expect((await call(executor, "write", { path: "sub/a.txt", content: "one\ntwo\n" })).text).toBe("wrote sub/a.txt: 2 lines, 8 bytes");
    expect((await call(executor, "edit", { path: "sub/a.txt", old_text: "two", new_text: "três" })).display).toContain("+três");
    expect((await call(executor, "read", { path: "sub/a.txt" })).text).toBe("1\tone\n2\ttrês");
    const printed: Uint8Array[] = [];
    const outcome = await call(executor, "bash", { command: "cat sub/a.txt; exit 4" }, { onOutput: (chunk) => void printed.push(chunk) });
    expect(outcome).toMatchObject({ text: "one\ntrês\nexit code 4", isError: true, exitCode: 4, bytes: 10 });
    expect(Buffer.concat(printed).toString()).toBe("one\ntrês\n");
  });

  test("stderr arrives apart from stdout only for a call that asks for it", async () => {
    await using executor = start();
    const print = { command: "echo out; echo err >&2; kill -TERM $$" };
    for (const separateStreams of [true, false]) {
      const text = { stdout: "", stderr: "" };
      const onOutput = (chunk: Uint8Array, stream: keyof typeof text) => void (text[stream] += Buffer.from(chunk).toString());
      expect(await call(executor, "bash", print, { onOutput, separateStreams })).toMatchObject({ exitCode: null, signal: "SIGTERM" });
      expect(text).toEqual(separateStreams ? { stdout: "out\n", stderr: "err\n" } : { stdout: "out\nerr\n", stderr: "" });
    }
  });

  test("an image arrives unchanged", async () => {
    await using executor = start();
    const bytes = Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), crypto.getRandomValues(new Uint8Array(60_000))]);
    writeFileSync(join(directory, "p.png"), bytes);
    const { images } = await call(executor, "read", { path: "p.png" });
    expect(images).toEqual([{ mime: "image/png", base64: bytes.toString("base64") }]);
  });

  test("an invalid call returns an outcome instead of an exception", async () => {
    await using executor = start();
    expect(await call(executor, "frobnicate", {})).toEqual({ text: "unknown tool: frobnicate", isError: true });
    expect((await call(executor, "raed", {})).text).toBe("unknown tool: raed; did you mean read?");
    expect((await call(executor, "read", {})).text).toBe('read: "path" is missing');
    expect((await call(executor, "bash", { command: "ls" }, { signal: AbortSignal.abort() })).text).toBe("cancelled before it ran");
  });

  test("tools see no secret and no internal variable, only the variables of the call", async () => {
    await using executor = start();
    const { text } = await call(executor, "bash", { command: "env" }, { env: { EXTRA: "given" } });
    expect(text).not.toContain(secret);
    expect(text).not.toContain("BUN_");
    const names = text.split("\n").map((line) => line.split("=")[0]!);
    expect(names.filter((name) => name.startsWith("SKEIN_")).toSorted()).toEqual(["SKEIN_CALL", "SKEIN_SESSION_ID"]);
    expect(text).toContain("SKEIN_SESSION_ID=session-1");
    expect(text).toContain("AI_AGENT=");
    expect(text).toContain("EXTRA=given");
    expect(text).toContain("LANG=C.UTF-8");
  });

  test("calls run in parallel, each with its own output", async () => {
    await using executor = start();
    // Each waits for the other. In sequence they would never end.
    const wait = (mine: string, other: string) =>
      `echo ${mine}; touch ${mine}; until [ -e ${other} ]; do sleep 0.01; done; echo met ${other}`;
    const outputs: Record<string, string> = { p1: "", p2: "" };
    const outcomes = await Promise.all(
      (["p1", "p2"] as const).map((mine, index) =>
        call(
          executor,
          "bash",
          { command: wait(mine, index === 0 ? "p2" : "p1"), timeout: 20 },
          { onOutput: (chunk) => void (outputs[mine] += Buffer.from(chunk).toString()) },
        ),
      ),
    );
    expect(outcomes.map((outcome) => outcome.text)).toEqual(["p1\nmet p2", "p2\nmet p1"]);
    expect(outputs).toEqual({ p1: "p1\nmet p2\n", p2: "p2\nmet p1\n" });
    rmSync(join(directory, "p1"));
    rmSync(join(directory, "p2"));
  });

  test("of forty commands at most 32 run at the same time, and all run", async () => {
    await using executor = start();
    const gate = join(directory, `gate`);
    const command = `echo x >> ${gate}.started; until [ -e ${gate} ]; do sleep 0.05; done; echo done`;
    const all = Promise.all(Array.from({ length: 40 }, () => call(executor, "bash", { command, timeout: 60 })));
    const started = () => (existsSync(`${gate}.started`) ? readFileSync(`${gate}.started`, "utf8").length / 2 : 0);
    await until(() => started() === 32);
    await Bun.sleep(100);
    expect(started()).toBe(32);
    writeFileSync(gate, "");
    expect((await all).map((outcome) => outcome.text)).toEqual(Array(40).fill("done"));
  }, 60_000);

  test("a cancelled call ends with all its processes, and other calls continue", async () => {
    await using executor = start();
    const stop = new AbortController();
    const other = call(executor, "bash", { command: "sleep 0.5; echo ok" });
    let tag = "";
    const cancelled = await call(
      executor,
      "bash",
      { command: "setsid sleep 300 & env | grep ^SKEIN_CALL; sleep 300" },
      {
        signal: stop.signal,
        onOutput: (chunk) => {
          tag += Buffer.from(chunk).toString();
          stop.abort();
        },
      },
    );
    expect(cancelled.text).toContain("cancelled; all its processes were stopped");
    expect(familyMembers({ root: null, envTag: tag.trim() })).toEqual([]);
    expect((await other).text).toBe("ok");
  });

  test("a background process outlives its call, but not the executor", async () => {
    const executor = start();
    const { text } = await call(executor, "bash", { command: "sleep 300 & echo $!" });
    const escaped = await call(executor, "bash", { command: "(setsid sleep 300 >/dev/null 2>&1 & echo $!)" });
    expect([isAlive(Number(text)), isAlive(Number(escaped.text))]).toEqual([true, true]);
    await executor.close();
    await until(() => !isAlive(Number(text)) && !isAlive(Number(escaped.text)));
  });
});

describe("the executor's process", () => {
  test("500 MB of output arrive completely, with bounded memory on both sides", async () => {
    await using executor = start();
    const pid = await executorPid(executor);
    const before = process.memoryUsage.rss();
    let bytes = 0;
    let chunks = 0;
    let largest = 0;
    const outcome = await call(
      executor,
      "bash",
      { command: "head -c 500000000 /dev/zero | tr '\\0' x" },
      {
        onOutput: (chunk) => {
          bytes += chunk.length;
          chunks += 1;
          if (chunks % 500 === 0) largest = Math.max(largest, process.memoryUsage.rss());
        },
      },
    );
    expect([bytes, outcome.bytes]).toEqual([500_000_000, 500_000_000]);
    expect(outcome.text.length).toBeLessThanOrEqual(32 << 10);
    expect(memoryOf(pid)).toBeLessThan(150);
    expect((largest - before) / 2 ** 20).toBeLessThan(150);
  }, 60_000);

  test("the executor gets a description of its sandbox and explains denials with it", async () => {
    const sandbox: SandboxInfo = {
      policy: "readonly",
      net: "off",
      unixSockets: false,
      writable: ["/private/temp"],
      hidden: [join(directory, "secrets")],
      temp: "/private/temp",
      maxProcesses: 100,
      maxMemoryBytes: null,
      isEnforced: true,
    };
    await using executor = start(sandbox);
    expect((await call(executor, "bash", { command: "echo $TMPDIR" })).text).toBe("/private/temp");
    const failed = await call(executor, "bash", { command: "echo 'ping: connect: Network is unreachable'; exit 2" });
    expect(failed.text).toContain("[network is off (policy readonly)");
    expect(failed.denied?.map(({ what }) => what)).toEqual(["net"]);
    expect((await call(executor, "read", { path: "secrets/key" })).denied?.[0]?.what).toBe("secret");
  });

  test("a file of 8 MB is written completely", async () => {
    await using executor = start();
    const content = "0123456789abcde\n".repeat(1 << 19);
    expect((await call(executor, "write", { path: "large.txt", content })).text).toContain("524,288 lines, 8,388,608 bytes");
    expect(readFileSync(join(directory, "large.txt"), "utf8")).toBe(content);
  });

  test("the executor reaps orphaned processes", async () => {
    await using executor = start();
    const pid = await executorPid(executor);
    for (let count = 0; count < 5; count += 1) await call(executor, "bash", { command: "(setsid true >/dev/null 2>&1 &)" });
    await Bun.sleep(50);
    await call(executor, "bash", { command: "true" });
    expect(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim()).toBe("");
  });

  test("no tool process survives when skein is killed with SIGKILL", async () => {
    const script = `
      const { startExecutor } = await import(${JSON.stringify(join(import.meta.dir, "client.ts"))});
      const executor = startExecutor({ command: ${JSON.stringify(executorProgram)}, env: process.env, cwd: "/", readyMs: 10_000 });
      const options = { session: "s", cwd: "/", env: {}, signal: new AbortController().signal, onOutput: (c) => process.stdout.write(c) };
      executor.callTool("bash", { command: "trap '' TERM HUP; (setsid sleep 300 >/dev/null 2>&1 &); (setsid nohup sleep 300 >/dev/null 2>&1 &); sleep 300 & sleep 0.2; env | grep ^SKEIN_CALL=; sleep 300; sleep 300" }, options);`;
    const parent = Bun.spawn([process.execPath, "-e", script], { stdio: ["ignore", "pipe", "inherit"] });
    const { value } = await parent.stdout.getReader().read();
    const tag = Buffer.from(value!).toString().trim();
    expect(tag).toStartWith("SKEIN_CALL=");
    const findFamily = () => [...new Set([...descendantsOf(parent.pid), ...familyMembers({ root: null, envTag: tag })])];
    // A process between fork and exec has not its own environment yet.
    await until(() => findFamily().length >= 6);
    const family = findFamily();
    parent.kill("SIGKILL");
    await parent.exited;
    await until(() => family.every((pid) => !isAlive(pid)));
    expect(familyMembers({ root: null, envTag: tag })).toEqual([]);
  }, 60_000);

  test("SIGTERM ends the executor and all its processes", async () => {
    await using executor = start();
    const pid = await executorPid(executor);
    const background = Number((await call(executor, "bash", { command: "trap '' TERM; setsid sleep 300 >/dev/null & echo $!" })).text);
    process.kill(pid, "SIGTERM");
    await until(() => !isAlive(pid) && !isAlive(background));
  });

  test("when the executor is killed, running calls report it, its processes end, and the next call restarts it", async () => {
    await using executor = start();
    const first = await executorPid(executor);
    let background = 0;
    const running = call(
      executor,
      "bash",
      { command: "setsid sleep 300 >/dev/null & echo $!; sleep 300" },
      { onOutput: (chunk) => void (background = Number(Buffer.from(chunk).toString())) },
    );
    await until(() => background > 0);
    process.kill(first, "SIGKILL");
    expect(await running).toEqual({
      text: "the executor was killed by SIGKILL while this call ran; whether it had an effect is unknown",
      isError: true,
    });
    await until(() => !isAlive(background));
    expect(await executorPid(executor)).not.toBe(first);
  });

  test("an executor that does not start is a fault with its error output", async () => {
    const silent = startExecutor({ command: ["sleep", "300"], env, cwd: directory, readyMs: 100 });
    expect(silent.ready).rejects.toMatchObject({
      code: "sandbox-unavailable",
      message: expect.stringContaining("was not ready within 100 ms"),
    });
    await silent.ready.catch(() => undefined);
    const refusing = startProgram(["bash", "-c", "echo 'no namespaces here' >&2; exit 9"]);
    expect(refusing.ready).rejects.toMatchObject({
      code: "sandbox-unavailable",
      message: "the executor ended with exit code 9: no namespaces here",
    });
    await refusing.ready.catch(() => undefined);
    expect(call(refusing, "bash", { command: "true" })).rejects.toMatchObject({ code: "sandbox-unavailable" });
    const missing = startProgram(["/no/such/program"]);
    expect(missing.ready).rejects.toMatchObject({ code: "sandbox-unavailable", message: expect.stringContaining("could not be started") });
    await Promise.all([missing.ready.catch(() => undefined), silent.close(), refusing.close(), missing.close()]);
  });

  test("an executor that prints garbage is a fault, and nothing hangs", async () => {
    const garbage = startProgram(["bash", "-c", "yes garbage | head -c 100000; sleep 300"]);
    expect(garbage.ready).rejects.toMatchObject({ code: "sandbox-unavailable" });
    await garbage.ready.catch(() => undefined);
    await garbage.close();
  });

  test("a closed executor refuses calls", async () => {
    const executor = start();
    await executor.close();
    expect(call(executor, "bash", { command: "true" })).rejects.toMatchObject({ code: "executor-gone" });
  });
});
