import { expect, test } from "bun:test";
import { tmpdir } from "node:os";
import type { SandboxInfo } from "../../protocol/api/policy.ts";
import { byteLength } from "../../kit/text/cut-text.ts";
import { runBash } from "./bash.ts";
import type { ToolContext } from "./tool.ts";

const ctx: ToolContext = {
  cwd: "/",
  home: "/",
  env: { PATH: process.env.PATH ?? "/usr/bin:/bin" },
  envTag: "",
  sandbox: null,
  limits: null,
  signal: new AbortController().signal,
  onOutput: () => {},
};
const bash = (command: string, timeout?: number, options: Partial<ToolContext> = {}) =>
  runBash(timeout === undefined ? { command } : { command, timeout }, {
    ...ctx,
    envTag: `TEST_BASH=${crypto.randomUUID()}`,
    ...options,
  });

test("the text always says how the command ended", async () => {
  const cases: [string, string, boolean, number | null][] = [
    ["echo hi", "hi", false, 0],
    ["true", "(no output)", false, 0],
    ["false", "(no output)\nexit code 1", true, 1],
    ["echo a; echo b >&2; exit 7", "a\nb\nexit code 7", true, 7],
    ["printf 'no newline'; exit 2", "no newline\nexit code 2", true, 2],
    ["kill -9 $$", "(no output)\nkilled by SIGKILL", true, null],
    ["no-such-program-here", "bash: line 1: no-such-program-here: command not found\nexit code 127", true, 127],
  ];
  for (const [command, text, isError, exitCode] of cases) {
    expect(await bash(command)).toMatchObject({ text, isError, exitCode, durationMs: expect.any(Number) });
  }
});

test("the command runs in the directory of the call", async () => {
  expect((await bash("pwd -P", undefined, { cwd: tmpdir() })).text).toBe((await bash(`cd ${tmpdir()}; pwd -P`)).text);
  expect((await bash("pwd", undefined, { cwd: "/no/such" })).text).toBe("can't run bash: the directory /no/such does not exist");
});

test("a command that times out is stopped, and its output so far is returned", async () => {
  expect(await bash("echo before; sleep 300", 0.2)).toMatchObject({
    text: "before\ntimed out after 200 ms; all its processes were stopped",
    isError: true,
    exitCode: null,
  });
  expect((await bash("true", 0)).text).toContain('"timeout" must be more than 0');
  expect((await bash("echo ok", 1e12)).text).toBe("ok");
});

test("the model gets head and tail within 32 KB, and onOutput gets everything", async () => {
  let seen = 0;
  const outcome = await bash("seq 1 100000; echo the end; exit 3", undefined, { onOutput: (chunk) => void (seen += chunk.length) });
  expect(byteLength(outcome.text)).toBeLessThanOrEqual(32 << 10);
  expect(byteLength(outcome.text)).toBeGreaterThan(31 << 10);
  expect(outcome.text).toStartWith("1\n2\n3\n");
  expect(outcome.text).toEndWith("100000\nthe end\nexit code 3");
  const missing = Number(/\n\[\.\.\. ([\d,]+) bytes not shown \.\.\.\]\n/.exec(outcome.text)![1]!.replaceAll(",", ""));
  expect([seen, outcome.bytes]).toEqual([588_903, 588_903]);
  expect(missing).toBeGreaterThan(588_903 - (32 << 10));
});

test("characters of several code points are not split where the output is cut", async () => {
  for (const cluster of ["👨‍👩‍👧‍👦", "e\u0301\u0323", "🇩🇪"]) {
    for (const shift of [1, 2, 3, 4]) {
      const { text } = await bash(`printf 'x%.0s' $(seq ${shift}); yes '${cluster}x' | head -8000 | tr -d '\\n'`);
      expect(text.replaceAll(cluster, "")).toMatch(/^x+\n\[\.\.\. [\d,]+ bytes not shown \.\.\.\]\nx+$/);
    }
  }
});

test("invalid UTF-8 is replaced, and the text around it stays", async () => {
  expect((await bash("printf 'a\\xff\\xfeb'")).text).toBe("a\ufffd\ufffdb");
  expect(byteLength((await bash("head -c 100000 /dev/urandom")).text)).toBeLessThanOrEqual(32 << 10);
});

test("a command that is too long for the kernel returns a hint", async () => {
  expect((await bash(`: ${"x".repeat(200_000)}`)).text).toContain("the command is too long");
});

const bounds: SandboxInfo = {
  policy: "workspace",
  net: "off",
  unixSockets: false,
  writable: ["/home/u/project"],
  hidden: ["/home/u/.ssh"],
  temp: "/tmp/private",
  maxProcesses: 100,
  maxMemoryBytes: null,
  isEnforced: true,
};

test("a denial is noted before the exit code, and also returned for the user", async () => {
  const command = "echo 'curl: (6) Could not resolve host: example.com' >&2; exit 6";
  const denied = await bash(command, undefined, { sandbox: bounds });
  const text = "network is off (policy workspace): commands reach no host; only the user can allow it, with --net on";
  expect(denied.text).toBe(`curl: (6) Could not resolve host: example.com\n[${text}]\nexit code 6`);
  expect(denied.denied).toEqual([{ what: "net", text }]);
  for (const other of [null, { ...bounds, isEnforced: false }, { ...bounds, net: "on" as const }]) {
    const plain = await bash(command, undefined, { sandbox: other });
    expect([plain.text, plain.denied]).toEqual(["curl: (6) Could not resolve host: example.com\nexit code 6", undefined]);
  }
});

test("the text with denials stays within 32 KB", async () => {
  const { text } = await bash("seq 1 100000; echo 'touch: cannot touch /etc/x: Read-only file system'; exit 1", undefined, {
    sandbox: bounds,
  });
  expect(byteLength(text)).toBeLessThanOrEqual(32 << 10);
  expect(text).toEndWith("and /tmp/private ($TMPDIR)]\nexit code 1");
});

test("a destructive command is refused and not run", async () => {
  const { text, isError, denied, exitCode } = await bash("echo ran; rm -rf --no-preserve-root /no/such/place");
  expect(text).toStartWith("refused: rm with --no-preserve-root");
  expect([isError, denied, exitCode]).toEqual([true, [{ what: "command", text }], undefined]);
});
