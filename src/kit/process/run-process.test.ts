import { expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { familyMembers, killAll } from "./processes.ts";
import { type ProcessRequest, runProcess } from "./run-process.ts";

const never = new AbortController().signal;
const path = { PATH: process.env.PATH ?? "/usr/bin:/bin" };

async function bash(command: string, options: Partial<ProcessRequest> = {}) {
  const chunks: Uint8Array[] = [];
  const end = await runProcess({
    command: ["bash", "-c", command],
    cwd: tmpdir(),
    env: path,
    timeoutMs: null,
    signal: never,
    onOutput: (chunk) => void chunks.push(chunk),
    killGraceMs: 200,
    ...options,
  });
  return { ...end, text: Buffer.concat(chunks).toString() };
}

let marks = 0;
function withTag(): { env: Record<string, string>; tag: string } {
  const value = `${process.pid}-${Date.now()}-${(marks += 1)}`;
  return { env: { ...path, TEST_MARK: value }, tag: `TEST_MARK=${value}` };
}

const isAlive = (pid: number): boolean => existsSync(`/proc/${pid}`) && !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");

test("stdout and stderr arrive in the order they were written", async () => {
  const end = await bash("for i in 1 2 3 4 5; do echo o$i; echo e$i >&2; done; exit 3");
  expect(end.text).toBe("o1\ne1\no2\ne2\no3\ne3\no4\ne4\no5\ne5\n");
  expect(end).toMatchObject({ exitCode: 3, signal: null, timedOut: false, aborted: false, bytes: 30 });
});

test("stdin is empty and the program leads its own session", async () => {
  const end = await bash("cat; echo $(ps -o pid=,pgid=,sid= -p $$)");
  const [pid, group, session] = end.text.trim().split(" ");
  expect([group, session]).toEqual([pid, pid]);
});

test("/dev/stderr can be opened, as on a terminal", async () => {
  expect((await bash("echo a > /dev/stderr; echo b > /dev/stdout")).text).toBe("a\nb\n");
});

test("a closed pipe ends a program that writes endlessly", async () => {
  expect(await bash("yes | head -1; echo ${PIPESTATUS[0]}")).toMatchObject({ exitCode: 0, text: "y\n141\n" });
});

test("a program that a signal ends has no exit code", async () => {
  expect(await bash("kill -KILL $$")).toMatchObject({ exitCode: null, signal: "SIGKILL", timedOut: false });
});

test("a program that can't be started is an error, and leaves no descriptor open", async () => {
  const countDescriptors = () => readdirSync("/proc/self/fd").length;
  await bash(":");
  const before = countDescriptors();
  for (let count = 0; count < 5; count += 1) {
    await expect(bash(":", { command: ["/nonexistent/program"] })).rejects.toThrow();
    await expect(bash(":", { cwd: "/nonexistent" })).rejects.toThrow();
    await bash(":");
  }
  // Bun closes the pipes of an ended program some time after its exit. Each failed start would leave at least one open.
  while (countDescriptors() > before + 1) await Bun.sleep(5);
});

test("a background process does not delay the result, and continues", async () => {
  const { env, tag } = withTag();
  const end = await bash("(while :; do echo tick; sleep 0.02; done) & echo $!; echo done", { env, envTag: tag });
  try {
    expect(end.exitCode).toBe(0);
    expect(end.text).toContain("done\n");
    const pid = Number(end.text.split("\n").find((line) => /^\d+$/.test(line)));
    await Bun.sleep(100);
    expect(isAlive(pid)).toBe(true);
  } finally {
    killAll(() => familyMembers({ root: null, envTag: tag }));
  }
});

const escapes: [string, string][] = [
  ["a plain child", "sleep 300 & sleep 300"],
  ["a child in its own session", "setsid sleep 300 & sleep 300"],
  ["a child that ignores hangups", "nohup sleep 300 >/dev/null & sleep 300"],
  ["an orphan in its own session", "(setsid sleep 300 >/dev/null 2>&1 &) ; sleep 0.1; sleep 300"],
  ["a child that ignores SIGTERM", "trap '' TERM; (trap '' TERM; while :; do sleep 1; done) & while :; do sleep 1; done"],
];

for (const [what, command] of escapes) {
  test(`a time limit also ends ${what}`, async () => {
    const { env, tag } = withTag();
    const end = await bash(`echo start; ${command}`, { env, envTag: tag, timeoutMs: 300 });
    expect(end).toMatchObject({ timedOut: true, aborted: false, text: "start\n" });
    expect(familyMembers({ root: null, envTag: tag })).toEqual([]);
  });
}

test("an abort ends the whole family and returns the output so far", async () => {
  const { env, tag } = withTag();
  const stop = new AbortController();
  const end = await bash("echo before; sleep 300", { env, envTag: tag, signal: stop.signal, onOutput: () => stop.abort() });
  expect(end).toMatchObject({ aborted: true, timedOut: false, exitCode: null, bytes: 7 });
  expect(familyMembers({ root: null, envTag: tag })).toEqual([]);
});

test("no program is started if the signal is already aborted", async () => {
  const directory = mkdtempSync(join(tmpdir(), "spawn-"));
  const end = await bash("touch started", { cwd: directory, signal: AbortSignal.abort() });
  expect(end.aborted).toBe(true);
  expect(existsSync(join(directory, "started"))).toBe(false);
  rmSync(directory, { recursive: true });
});

test("a slow listener blocks the program instead of filling memory, and gets all output", async () => {
  let largest = 0;
  let total = 0;
  const end = await bash("head -c 3000000 /dev/zero", {
    onOutput: async (chunk) => {
      largest = Math.max(largest, chunk.length);
      total += chunk.length;
      if (total < 1_000_000) await Bun.sleep(1);
    },
  });
  expect(total).toBe(3_000_000);
  expect(end.bytes).toBe(3_000_000);
  expect(largest).toBeLessThan(2_000_000);
});

test("separate streams arrive apart, and both are complete", async () => {
  const text = { stdout: "", stderr: "" };
  const end = await bash("for i in $(seq 2000); do echo o$i; echo e$i >&2; done; exit 3", {
    separateStreams: true,
    onOutput: (chunk, stream) => void (text[stream] += Buffer.from(chunk).toString()),
  });
  const lines = (letter: string) => Array.from({ length: 2000 }, (_, index) => `${letter}${index + 1}\n`).join("");
  expect(text).toEqual({ stdout: lines("o"), stderr: lines("e") });
  expect(end).toMatchObject({ exitCode: 3, bytes: text.stdout.length + text.stderr.length });
});
