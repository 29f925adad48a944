// Attacks on the executor and on the machine's resources from a command: tracing, memory in files, inotify instances, and
// what doctor reports on a kernel without Landlock.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { startExecutor } from "../../../src/executor/client.ts";
import { defaultPolicy } from "../../../src/protocol/api/policy.ts";
import { probeSandbox } from "../../../src/sandbox/probe.ts";
import { createSandboxRules, describeSandbox } from "../../../src/sandbox/rules.ts";
import { sandboxCommand } from "../../../src/sandbox/sandbox-command.ts";
import { buildOutside, type Outside } from "./outside.ts";
import { type Person, persons } from "./person.ts";
import { outputOf, policyFlags } from "./runs.ts";

const people = persons().filter((person) => person.uid === person.projectOwner);
const tiers = ["namespaces", "landlock"] as const;
const number =
  process.arch === "arm64"
    ? { ptrace: 117, writeMemory: 271, inotify: 26, memfd: 279 }
    : { ptrace: 101, writeMemory: 311, inotify: 294, memfd: 319 };

/** $PPID of the shell is the executor. Writing to an unmapped address fails with EFAULT if the call is allowed. */
const attack = `perl -MErrno -e '
my $pid = shift() + 0;
print "TRACED\\n" if syscall(${number.ptrace}, 0x4206, $pid, 0, 0) == 0;
my $nowhere = pack("QQ", 4096, 8);
print "WRITTEN\\n" if syscall(${number.writeMemory}, $pid, $nowhere, 1, $nowhere, 1, 0) >= 0 || $!{EFAULT};
print "OPENED mem\\n" if open(my $memory, "+<", "/proc/$pid/mem");
print "READ environ\\n" if open(ENVIRON, "<", "/proc/$pid/environ") and defined(<ENVIRON>);
print "READ fd\\n" if defined readlink("/proc/$pid/fd/0");
print "tried\\n"' $PPID`;

describe.each(people)("as $name", (person) => {
  test("without a sandbox a command can trace the executor, which shows that the attack works", async () => {
    const attempted = await within(person, (outside) => execute(outside, "none", attack));
    for (const word of ["TRACED", "WRITTEN", "OPENED mem", "READ environ", "READ fd"]) expect(attempted).toContain(word);
  });

  test.each(tiers)("under %s a command can't trace the executor or read and write its memory", async (tier) => {
    const attempted = await within(person, (outside) => execute(outside, tier, attack));
    expect(attempted).toContain("tried");
    expect(attempted).not.toMatch(/TRACED|WRITTEN|OPENED|READ/);
  });

  test("a command gets at most a quarter of the machine's memory as /dev/shm", async () => {
    const output = await within(person, (outside) => execute(outside, "namespaces", "echo size $(df -k --output=size /dev/shm | tail -1)"));
    expect(Number(/size (\d+)/.exec(output)?.[1]) * 1024).toBeWithin(1, totalmem() * 0.26);
  });

  test("without Landlock doctor names what is not enforced", async () => {
    await within(person, async (outside) => {
      const [setpriv, ...rest] = person.prefix;
      const user = setpriv === undefined ? [] : [Bun.which(setpriv)!, ...rest];
      const wrapper = join(outside.inside[1]!, "../../without-landlock.ts");
      const doctor = [...outside.skein.slice(person.prefix.length), "doctor"];
      // One after the other: both use the same terminal, which only root may take from another process.
      const usual = await outputOf(outside, [...person.prefix, ...doctor], "namespaces");
      const reduced = await outputOf(outside, [...user, outside.world.bun, wrapper, ...doctor], "namespaces");
      const launcher = process.env["SKEIN_SANDBOX_LAUNCHER"] === "javascript" ? "launcher in JavaScript" : "native launcher";
      expect(usual).toContain(`fully enforced (namespaces), ${launcher}`);
      expect(reduced).toContain(`mostly enforced (namespaces), ${launcher}`);
      expect(reduced).toContain("not enforced: named pipes outside");
    });
  });
});

const user = people.find(({ isRoot }) => !isRoot);
test.if(user !== undefined)("a command of a user leaves half of the inotify instances to programs outside", async () => {
  const max = Number(readFileSync("/proc/sys/fs/inotify/max_user_instances", "utf8"));
  const script = `perl -e 'my $n = 0; $n++ while $n < 100000 && syscall(${number.inotify}, 0) >= 0; print "instances $n\\n"'`;
  const output = await within(user!, (outside) => execute(outside, "namespaces", `ulimit -n 4096; ${script}`));
  expect(Number(/instances (\d+)/.exec(output)?.[1])).toBeWithin(1, max / 2 + 1);
});

const directory = realpathSync(mkdtempSync(join(tmpdir(), "skein-memory-")));
afterAll(() => {
  // overlayfs leaves work directories without permissions. Only root could remove them as they are.
  Bun.spawnSync(["chmod", "-R", "u+rwx", directory]);
  rmSync(directory, { recursive: true, force: true });
});

const fillMemfd = `perl -e 'use IO::Handle; my $name = "x\\0"; my $file = syscall(${number.memfd}, $name, 0); open my $handle, ">&=", $file or die; print $handle "x" x 1048576 for 1 .. 300; $handle->flush; sleep 300'`;
const fillers = {
  "a file in memory": fillMemfd,
  "a file in /dev/shm": "head -c 300000000 /dev/zero > /dev/shm/x; sleep 300",
};
test.each(Object.entries(fillers))("in the sandbox %s counts as memory of the command", async (_name, fill) => {
  const executor = await startLimitedExecutor();
  try {
    const options = { session: "s", cwd: directory, env: {}, signal: AbortSignal.timeout(100_000), onOutput: () => {} };
    expect((await executor.callTool("bash", { command: fill }, options)).text).toContain("stopped: more than 200 MB of memory");
  } finally {
    await executor.close();
  }
});

async function startLimitedExecutor() {
  const selfCommand = [process.execPath, "--config=/dev/null", "--no-env-file", join(import.meta.dir, "../../../src/main.ts")];
  const support = await probeSandbox({ selfCommand, programs: { path: process.env["PATH"] ?? "", untrusted: [] }, best: "namespaces" });
  expect(support.tier).toBe("namespaces");
  const part = (name: string) => join(directory, name);
  for (const name of ["temp", "copies", "own", "project"]) mkdirSync(part(name), { recursive: true });
  const rules = createSandboxRules(defaultPolicy, {
    project: part("project"),
    directory: part("project"),
    home: part("project"),
    own: { config: part("own"), data: part("own"), state: part("own"), cache: part("own") },
    temp: part("temp"),
    copies: part("copies"),
    isRoot: process.getuid?.() === 0,
    unixSockets: false,
  });
  const sandbox = { ...describeSandbox(rules, defaultPolicy, true), maxMemoryBytes: 200 << 20 };
  const inner = [...selfCommand, "__executor", JSON.stringify(sandbox)];
  const { command, env: launchEnv } = sandboxCommand({ command: inner, cwd: directory, rules, support, selfCommand });
  return startExecutor({ command, launchEnv, env: process.env, cwd: directory, sandbox });
}

async function execute(outside: Outside, tier: "none" | "namespaces" | "landlock", command: string): Promise<string> {
  await outputOf(outside, [...outside.skein, "new", "main", "-m", "ollama/none"], tier);
  const flags = policyFlags({ tier, policy: "workspace", net: "off" });
  return outputOf(outside, [...outside.skein, "exec", "main", command, ...flags], tier);
}

async function within<T>(person: Person, act: (outside: Outside) => Promise<T>): Promise<T> {
  const outside = await buildOutside(person, true);
  try {
    return await act(outside);
  } finally {
    await outside.end();
  }
}
