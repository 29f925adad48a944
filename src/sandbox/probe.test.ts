import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { machineKey, probeSandbox } from "./probe.ts";

const root = mkdtempSync(join(tmpdir(), "skein-probe-test-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const path = process.env["PATH"] ?? "";
const self = [process.execPath, "--config=/dev/null", "--no-env-file", join(import.meta.dir, "..", "main.ts")];

/** A launcher that is not ours: `$1` is the marker, `$2` the order. */
function launcher(name: string, script: string): string[] {
  const file = join(root, name);
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return [file];
}

describe("a launcher is never believed for what it says of itself", () => {
  const rows: [string, string, RegExp][] = [
    ["one that says nothing", "exit 0", /the launcher said nothing/],
    ["one that fails", "echo can not >&2; exit 125", /can not/],
    ["one that says what is hoped for, and starts nothing", "echo walls hold", /did not start what it was told/],
    ["one that hangs", "echo walls hold; exec sleep 600", /did not end in time/],
    ["one that ends, and leaves something that holds its output", "sleep 5 & exit 0", /did not end in time/],
  ];
  test.each(rows)("%s", async (name, script, why) => {
    const machine = await probeSandbox({
      selfCommand: launcher(name.replaceAll(" ", "-"), script),
      path,
      ...(name.includes("hangs") ? { tryMs: 300 } : {}),
    });
    expect(machine.tier).toBe("none");
    expect(machine.why).toMatch(why);
    expect(machine.hint).toBeTruthy();
  });

  test("one that starts the program without any walls", async () => {
    const bare = join(root, "bare.ts");
    writeFileSync(
      bare,
      "const { command } = JSON.parse(process.argv[3]); Bun.spawnSync(command, { stdio: ['ignore', 'inherit', 'inherit'] });",
    );
    const machine = await probeSandbox({ selfCommand: [process.execPath, bare], path });
    expect(machine.tier).toBe("none");
    expect(machine.why).toMatch(/wrote what is not allowed/);
  });

  test("one that is not there", async () => {
    expect(await probeSandbox({ selfCommand: [join(root, "nothing")], path })).toMatchObject({ tier: "none" });
  });
});

describe("a best tier", () => {
  test("none is not tried out at all, and says how to get more", async () => {
    const machine = await probeSandbox({ selfCommand: [join(root, "nothing")], path, best: "none" });
    expect(machine).toMatchObject({
      tier: "none",
      processes: "no",
      why: "SKEIN_SANDBOX_BEST holds it back",
      hint: "unset SKEIN_SANDBOX_BEST",
    });
  });

  test("landlock is found by trying, without any namespace", async () => {
    const machine = await probeSandbox({ selfCommand: self, path, best: "landlock" });
    expect(["landlock", "none"]).toContain(machine.tier);
    expect(machine.processes).toBe("no");
    expect(machine.hint).toContain("SKEIN_SANDBOX_BEST");
  });

  test("without one the answer is what the machine holds, with a reason for whatever is missing", async () => {
    const machine = await probeSandbox({ selfCommand: self, path });
    if (machine.tier === "namespaces") expect(machine).toMatchObject({ why: null, hint: null });
    else expect(machine.why).toBeTruthy();
  });
});

test("trying leaves nothing behind", async () => {
  const temporary = () =>
    readdirSync(tmpdir()).filter((name) => name.startsWith("skein-probe-") && existsSync(join(tmpdir(), name, "open")));
  const before = new Set(temporary());
  await probeSandbox({ selfCommand: launcher("quiet", "exit 0"), path });
  // Others may be trying at the same time; what they make is gone when they are done.
  for (const name of temporary().filter((one) => !before.has(one))) while (existsSync(join(tmpdir(), name))) await Bun.sleep(20);
});

test("an answer is good for one version, boot, set of rights and settings", () => {
  expect(machineKey("1")).toBe(machineKey("1"));
  expect(machineKey("1")).not.toBe(machineKey("2"));
});
