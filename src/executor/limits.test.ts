import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestClock } from "../kit/flow/fixtures/test-clock.ts";
import { familyMembers, processStartTime } from "../kit/process/processes.ts";
import type { SandboxInfo } from "../protocol/api/policy.ts";
import type { Executor } from "../protocol/api/ports.ts";
import { callTool, startTestExecutor } from "./fixtures/test-executor.ts";
import { createResourceLimits } from "./limits.ts";

const directory = mkdtempSync(join(tmpdir(), "limits-"));
afterAll(() => rmSync(directory, { recursive: true }));

const env = { PATH: process.env.PATH, HOME: directory };
const limitedSandbox: SandboxInfo = {
  policy: "workspace",
  net: "on",
  unixSockets: true,
  writable: [directory],
  hidden: [],
  temp: directory,
  maxProcesses: 20,
  maxMemoryBytes: null,
  isEnforced: false,
};
const start = (sandbox: SandboxInfo) => startTestExecutor({ env, cwd: directory, sandbox });
const bash = (executor: Executor, command: string, onOutput: (text: string) => void = () => {}) =>
  callTool(executor, {
    name: "bash",
    input: { command, timeout: 60 },
    cwd: directory,
    onOutput: (chunk) => onOutput(Buffer.from(chunk).toString()),
  });

test("more processes than the limit end all running calls, and the next call works", async () => {
  const executor = start(limitedSandbox);
  try {
    let tag = "";
    const quiet = bash(executor, "env | grep ^SKEIN_CALL=; sleep 300", (text) => (tag += text));
    // At most forty processes, each in its own session and ignoring SIGTERM.
    const many = await bash(executor, "trap '' TERM; for n in $(seq 40); do setsid sleep 300 & done; wait");
    const why = "stopped: more than 20 processes";
    expect(many).toMatchObject({ isError: true, exitCode: null, denied: [{ what: "process", text: why }] });
    expect(many.text).toBe(`(no output)\n${why}; everything that was running was ended`);
    expect((await quiet).text).toContain(why);
    const executorTag = tag.trim().replace(/\d+\.$/, "");
    expect(familyMembers({ root: null, envTag: executorTag })).toEqual([]);
    expect((await bash(executor, "echo ok")).text).toBe("ok");
  } finally {
    await executor.close();
  }
}, 60_000);

test.if(existsSync("/proc/self/statm"))(
  "more memory than the limit ends the call",
  async () => {
    const executor = start({ ...limitedSandbox, maxMemoryBytes: 60 << 20 });
    try {
      // About 100 MB in one bash variable.
      const hungry = await bash(executor, "x=$(head -c 100000000 /dev/zero | tr '\\0' x); sleep 300; :");
      expect(hungry.text).toBe("(no output)\nstopped: more than 60 MB of memory; everything that was running was ended");
      expect((await bash(executor, "echo ok")).text).toBe("ok");
    } finally {
      await executor.close();
    }
  },
  60_000,
);

test("commands below the limits, or without limits, run to their end", async () => {
  for (const sandbox of [
    { ...limitedSandbox, maxMemoryBytes: 4 * 2 ** 30 },
    { ...limitedSandbox, maxProcesses: JSON.parse(JSON.stringify(Infinity)) as number },
  ]) {
    const executor = start(sandbox);
    expect((await bash(executor, "for n in 1 2 3 4 5; do sleep 1 & done; wait; echo done")).text).toBe("done");
    await executor.close();
  }
});

test.if(existsSync("/proc/self/statm"))(
  "a file in memory counts, though it is not mapped and its process hides its files",
  async () => {
    const number = process.arch === "arm64" ? { memfd: 279, prctl: 167 } : { memfd: 319, prctl: 157 };
    const fill = (hide: string) =>
      `perl -e '${hide} my $n = "x\\0"; my $f = syscall(${number.memfd}, $n, 0); open my $h, ">&=", $f or die; print $h "x" x 1048576 for 1 .. 150; $h->flush; sleep 300'`;
    for (const hide of ["", `syscall(${number.prctl}, 4, 0);`]) {
      const executor = start({ ...limitedSandbox, maxMemoryBytes: 100 << 20 });
      try {
        expect((await bash(executor, fill(`use IO::Handle; ${hide}`))).text).toContain("stopped: more than 100 MB of memory");
      } finally {
        await executor.close();
      }
    }
  },
  60_000,
);

test.if(existsSync("/proc/self/statm"))(
  "background processes that exceed a limit after their call are ended, and the next call reports it",
  async () => {
    const executor = start({ ...limitedSandbox, maxMemoryBytes: 60 << 20 });
    try {
      const grow = `while [ ! -e go ]; do sleep 0.1; done; x=$(head -c 100000000 /dev/zero | tr "\\0" x); sleep 300; :`;
      const started = await bash(executor, `setsid bash -c '${grow}' > /dev/null 2>&1 & echo $!`);
      const pid = Number(started.text);
      await Bun.write(join(directory, "go"), "");
      await waitUntil(() => processStartTime(pid) === null);
      expect((await bash(executor, "echo ok")).text).toBe(
        "ok\n[before this command, background processes were stopped: more than 60 MB of memory]",
      );
      expect((await bash(executor, "echo ok")).text).toBe("ok");
    } finally {
      await executor.close();
    }
  },
  60_000,
);

test("processes are scanned until no command runs and none has left a process", async () => {
  let scans = 0;
  let pids: number[] = [];
  const clock = createTestClock();
  const listPids = () => {
    scans += 1;
    return pids;
  };
  const limits = createResourceLimits(limitedSandbox, { listPids, clock });
  const [first, second] = [limits.watch(), limits.watch()];
  first.end();
  await clock.advance(1_100);
  expect(scans).toBe(2);
  pids = [process.pid];
  second.end();
  await clock.advance(1_000);
  expect(scans).toBe(4);
  limits.pause();
  await clock.advance(1_000);
  expect(scans).toBe(4);
  limits.resume();
  pids = [];
  await clock.advance(2_000);
  expect(scans).toBe(5);
  expect([first.signal.aborted, second.signal.aborted]).toEqual([false, false]);
});

async function waitUntil(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await Bun.sleep(20);
}
