import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestClock } from "../kit/flow/fixtures/test-clock.ts";
import { familyMembers } from "../kit/process/processes.ts";
import type { SandboxInfo } from "../protocol/api/policy.ts";
import type { Executor } from "../protocol/api/ports.ts";
import { startExecutor } from "./client.ts";
import { createInProcessExecutor } from "./fixtures/in-process.ts";
import { createResourceLimits } from "./limits.ts";

const program = [process.execPath, join(import.meta.dir, "../../test/fixtures/bin/executor.ts")];
const directory = mkdtempSync(join(tmpdir(), "limits-"));
afterAll(() => rmSync(directory, { recursive: true }));

const env = { PATH: process.env.PATH, HOME: directory };
const bounds: SandboxInfo = {
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
const bash = (executor: Executor, command: string, onOutput: (text: string) => void = () => {}) =>
  executor.callTool(
    "bash",
    { command, timeout: 60 },
    {
      session: "s",
      turn: "t",
      cwd: directory,
      env: {},
      signal: new AbortController().signal,
      onOutput: (chunk) => onOutput(Buffer.from(chunk).toString()),
    },
  );

const kinds: [string, (bounds: SandboxInfo) => Executor][] = [
  ["in a process of its own", (own) => startExecutor({ command: [...program, JSON.stringify(own)], env, cwd: directory, sandbox: own })],
  ["in this process", (own) => createInProcessExecutor({ env, bounds: own })],
];

for (const [kind, make] of kinds) {
  test(`${kind}: more processes than allowed end all calls under way, and the next one works`, async () => {
    const executor = make(bounds);
    try {
      let mark = "";
      const quiet = bash(executor, "env | grep ^SKEIN_CALL=; sleep 300", (text) => (mark += text));
      // A storm of forty at most, in sessions of their own, deaf to SIGTERM.
      const storm = await bash(executor, "trap '' TERM; for n in $(seq 40); do setsid sleep 300 & done; wait");
      const why = "stopped: more than 20 processes";
      expect(storm).toMatchObject({ isError: true, exitCode: null, denied: [{ what: "process", text: why }] });
      expect(storm.text).toBe(`(no output)\n${why}; everything that was running was ended`);
      expect((await quiet).text).toContain(why);
      const own = mark.trim().replace(/\d+\.$/, "");
      expect(familyMembers({ root: null, envTag: own })).toEqual([]);
      expect((await bash(executor, "echo fine")).text).toBe("fine");
    } finally {
      await executor.close();
    }
  }, 60_000);

  test.if(existsSync("/proc/self/statm"))(
    `${kind}: more memory than allowed ends the call`,
    async () => {
      const executor = make({ ...bounds, maxMemoryBytes: 60 << 20 });
      try {
        // About 100 MB in one bash variable, held for a while.
        const hog = await bash(executor, "x=$(head -c 100000000 /dev/zero | tr '\\0' x); sleep 300");
        expect(hog.text).toBe("(no output)\nstopped: more than 60 MB of memory; everything that was running was ended");
        expect((await bash(executor, "echo fine")).text).toBe("fine");
      } finally {
        await executor.close();
      }
    },
    60_000,
  );
}

test("what stays below the limits, or has none, is left alone", async () => {
  for (const own of [
    { ...bounds, maxMemoryBytes: 4 * 2 ** 30 },
    { ...bounds, maxProcesses: JSON.parse(JSON.stringify(Infinity)) as number },
  ]) {
    const executor = createInProcessExecutor({ env, bounds: own });
    expect((await bash(executor, "for n in 1 2 3 4 5; do sleep 1 & done; wait; echo done")).text).toBe("done");
    await executor.close();
  }
});

test("nothing is looked at while nothing runs", async () => {
  let looks = 0;
  const clock = createTestClock();
  const countProcesses = () => {
    looks += 1;
    return [];
  };
  const limits = createResourceLimits(bounds, countProcesses, clock);
  const [first, second] = [limits.watch(), limits.watch()];
  first.pause();
  await clock.advance(1_100);
  expect(looks).toBe(2);
  second.pause();
  await clock.advance(1_100);
  expect(looks).toBe(2);
  expect([first.why(), second.signal.aborted]).toEqual([null, false]);
});
