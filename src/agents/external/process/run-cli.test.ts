import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { processStartTime } from "../../../kit/process/processes.ts";
import { type CliExit, type RunCliOptions, runCli } from "./run-cli.ts";

const root = mkdtempSync(join(tmpdir(), "skein-run-cli-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const never = new AbortController().signal;

async function sh(script: string, changes: Partial<RunCliOptions> = {}): Promise<CliExit & { printedLines: string[] }> {
  const printedLines: string[] = [];
  const exit = await runCli({
    command: ["bash", "-c", script],
    cwd: root,
    env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin" },
    stdin: null,
    portReceiver: null,
    libc: null,
    signal: never,
    logs: null,
    onLine: (line) => void printedLines.push(line),
    onOutput: () => {},
    ...changes,
  });
  return { ...exit, printedLines };
}

test("lines come in order, also a last line without a line end", async () => {
  const exit = await sh("echo one; echo two; printf thr; exit 3");
  expect(exit).toMatchObject({ printedLines: ["one", "two", "thr"], exitCode: 3, signal: null, lines: 3, bytes: 11 });
});

test("a signal is reported as the exit signal", async () => {
  expect(await sh("echo one; kill -9 $$")).toMatchObject({ printedLines: ["one"], exitCode: null, signal: "SIGKILL" });
});

test("stdin ends at once, or after its text", async () => {
  expect((await sh("wc -c")).printedLines).toEqual(["0"]);
  expect((await sh("wc -c", { stdin: "x".repeat(300_000) })).printedLines).toEqual(["300000"]);
});

test("a program that does not read its stdin can still exit", async () => {
  expect(await sh("exec 0<&-; echo unread", { stdin: "x".repeat(3_000_000) })).toMatchObject({ printedLines: ["unread"], exitCode: 0 });
});

test("a line over the limit is shortened, and the next one is complete", async () => {
  const lengths: [number, boolean][] = [];
  await sh("head -c 40000000 /dev/zero | tr '\\0' x; echo; echo next", {
    onLine: (line, isCut) => void lengths.push([line.length, isCut]),
  });
  expect(lengths).toEqual([
    [16 << 20, true],
    [4, false],
  ]);
});

test("ten megabytes on stderr block nothing, and only the beginning and end are kept", async () => {
  const exit = await sh("echo first words >&2; head -c 10000000 /dev/zero | tr '\\0' w >&2; echo last words >&2; echo out");
  expect(exit.printedLines).toEqual(["out"]);
  expect(exit.stderr.length).toBeLessThan(20_000);
  expect(exit.stderr.startsWith("first words")).toBe(true);
  expect(exit.stderr.trimEnd().endsWith("last words")).toBe(true);
});

test("all output before the exit is handled, even if each line takes long", async () => {
  const exit = await sh("seq 300", { onLine: () => Bun.sleep(5) });
  expect(exit.lines).toBe(300);
});

test("a line is handled before the next one is printed", async () => {
  const go = join(root, "go");
  const printedLines: string[] = [];
  await sh(`echo one; until [ -e ${go} ]; do sleep 0.02; done; echo two`, {
    onLine: async (line) => {
      printedLines.push(line);
      if (line === "one") await Bun.write(go, "");
    },
  });
  expect(printedLines).toEqual(["one", "two"]);
});

test("raw stdout and stderr are appended to files that only the user can read", async () => {
  const logs = join(root, "deep", "log");
  await sh("echo out; echo err >&2", { logs });
  await sh("printf '\\377'", { logs });
  expect(readFileSync(`${logs}.stdout.log`)).toEqual(Buffer.from([...Buffer.from("out\n"), 255]));
  expect(readFileSync(`${logs}.stderr.log`, "utf8")).toBe("err\n");
  expect((await Bun.file(`${logs}.stdout.log`).stat()).mode & 0o077).toBe(0);
});

/** Its pid, as soon as a line tells it, and a stop at the same time. */
function stopAtFirst() {
  const stop = new AbortController();
  const pids: number[] = [];
  return {
    pids,
    changes: {
      signal: stop.signal,
      onLine: (line: string) => {
        pids.push(...line.split(" ").map(Number));
        stop.abort();
      },
    },
  };
}

test("a stop ends a program that ignores SIGTERM, and its children", async () => {
  const { pids, changes } = stopAtFirst();
  const exit = await sh("trap '' TERM INT HUP; sleep 300 & echo $$ $!; wait; wait; sleep 300", changes);
  expect(exit.signal).toBe("SIGKILL");
  expect(pids.map(processStartTime)).toEqual([null, null]);
});

test("a stop before the start also ends the program", async () => {
  expect((await sh("sleep 300", { signal: AbortSignal.abort() })).exitCode).not.toBe(0);
});

test("a daemon that keeps the streams open does not delay the end, and is ended", async () => {
  const exit = await sh("setsid -f bash -c 'echo $$ > daemon; sleep 300; :'; until [ -s daemon ]; do sleep 0.02; done; echo done");
  expect(exit).toMatchObject({ printedLines: ["done"], exitCode: 0 });
  expect(processStartTime(Number(readFileSync(join(root, "daemon"), "utf8")))).toBeNull();
});

test("an error in onLine ends the run and rejects it", async () => {
  const run = sh("echo $$ > own; echo one; sleep 300", { onLine: () => Promise.reject(new Error("the store is full")) });
  expect(run).rejects.toThrow("the store is full");
  await run.catch(() => undefined);
  expect(processStartTime(Number(readFileSync(join(root, "own"), "utf8")))).toBeNull();
});

test("a program that can't be started is an error", async () => {
  expect(sh("", { command: [join(root, "missing")] })).rejects.toThrow();
  expect(existsSync(join(root, "missing"))).toBe(false);
});

test("onOutput is called for stdout and stderr", async () => {
  let signs = 0;
  await sh("echo a >&2; sleep 0.05; printf b", { onOutput: () => (signs += 1) });
  expect(signs).toBe(2);
});

test("a program that prints without a pause can still be stopped", async () => {
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 100);
  const exit = await sh("timeout 10 yes; exit 7", { signal: stop.signal, onLine: async () => {} });
  expect(exit.signal ?? exit.exitCode).not.toBe(7);
});

test.if(existsSync("/proc/self/statm"))(
  "a CLI that exceeds its memory is ended with its processes, and the limit is reported",
  async () => {
    const reasons: string[] = [];
    const ran = await sh("(x=$(head -c 100000000 /dev/zero | tr '\\0' x); sleep 300; :) & wait; sleep 300", {
      limits: { values: { maxProcesses: 100, maxMemoryBytes: 60 << 20 }, onExceeded: (reason) => void reasons.push(reason) },
    });
    expect(reasons).toEqual(["stopped: more than 60 MB of memory"]);
    expect(ran.signal).toBe("SIGKILL");
  },
);
